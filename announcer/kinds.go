package announcer

import (
	"context"
	"encoding/json"
	"fmt"
	"reflect"

	"platform.dev/platform/bots/markup"
	"platform.dev/platform/flowclient"
)

// kind is how events of a kind are announced.
type kind struct {
	topic  string
	apart  bool // never production activity: told in the sandbox, whatever the project
	sequel bool // never the first of its message
	common bool // of no project, it is told in the sandbox, which all have in common
	telling
}

// telling is a kind's own words: what its events carry, and the message of one.
type telling struct {
	body  reflect.Type
	write func(e flowclient.Event, who people) (thread, markup.Message, error)
	as    string // the kind in whose words it is told, an operator's as well as ours; "" for its own
}

// kinds says of every kind of event where it is told and in which words. A
// kind that is not here is not announced.
var kinds = map[string]kind{
	flowclient.EventBuildStarted:   {topic: topicBuilds, telling: of(buildThread, buildStarted)},
	flowclient.EventBuildPassed:    {topic: topicBuilds, sequel: true, telling: of(buildThread, buildPassed)},
	flowclient.EventBuildFailed:    {topic: topicBuilds, sequel: true, telling: naming(buildThread, buildFailed)},
	flowclient.EventPromoted:       {topic: topicPromotions, telling: of(ownThread[flowclient.MoveEvent], promoted)},
	flowclient.EventPromoteRefuse:  {topic: topicPromotions, telling: of(ownThread[flowclient.MoveEvent], refused)},
	flowclient.EventRolledBack:     {topic: topicPromotions, telling: of(ownThread[flowclient.MoveEvent], rolledBack)},
	flowclient.EventRollbackRefuse: {topic: topicPromotions, telling: of(ownThread[flowclient.MoveEvent], refused)},
	flowclient.EventAutoParked:     {topic: topicPromotions, telling: of(ownThread[flowclient.AutoEvent], automaticKept)},
	flowclient.EventAutoOpened:     {topic: topicPromotions, telling: of(ownThread[flowclient.AutoEvent], windowOpened)},
	flowclient.EventAutoRefused:    {topic: topicPromotions, telling: of(ownThread[flowclient.AutoEvent], automaticKept)},
	flowclient.EventAutoLeftOut:    {topic: topicPromotions, telling: of(ownThread[flowclient.AutoEvent], automaticKept)},
	flowclient.EventAutoLeftAlone:  {topic: topicPromotions, telling: of(ownThread[flowclient.AutoEvent], automaticKept)},
	flowclient.EventAutoBroken:     {topic: topicPromotions, telling: of(ownThread[flowclient.AutoEvent], automaticKept)},
	flowclient.EventExternal:       {topic: topicPromotions, telling: of(ownThread[flowclient.ExternalEvent], external)},
	flowclient.EventLockSet:        {topic: topicPromotions, telling: of(ownThread[flowclient.LockEvent], lockSet)},
	flowclient.EventLockCleared:    {topic: topicPromotions, telling: of(ownThread[flowclient.LockEvent], lockCleared)},
	flowclient.EventFreezeSet:      {topic: topicPromotions, common: true, telling: of(ownThread[flowclient.FreezeEvent], freezeSet)},
	flowclient.EventFreezeCleared:  {topic: topicPromotions, common: true, telling: of(ownThread[flowclient.FreezeEvent], freezeCleared)},
	flowclient.EventScaffolded:     {topic: topicBuilds, telling: of(ownThread[flowclient.ProjectEvent], scaffolded)},
	flowclient.EventRemoved:        {topic: topicBuilds, telling: of(ownThread[flowclient.ProjectEvent], removed)},

	flowclient.EventPullOpened:  {topic: topicPulls, telling: of(pullThread, pullOpened)},
	flowclient.EventPullUpdated: {topic: topicPulls, sequel: true, telling: as(flowclient.EventPullOpened, of(pullThread, pullOpened))},
	flowclient.EventPullMerged:  {topic: topicPulls, telling: of(ownThread[flowclient.PullEvent], pullMerged)},
	flowclient.EventPullClosed:  {topic: topicPulls, telling: of(ownThread[flowclient.PullEvent], pullClosed)},

	flowclient.EventReviewQueued:    {topic: topicPulls, apart: true, telling: of(reviewThread, reviewQueued)},
	flowclient.EventReviewCreated:   {topic: topicPulls, apart: true, telling: of(reviewThread, reviewCreated)},
	flowclient.EventReviewUpdated:   {topic: topicPulls, apart: true, sequel: true, telling: of(reviewThread, reviewUpdated)},
	flowclient.EventReviewFailed:    {topic: topicPulls, apart: true, telling: naming(reviewThread, reviewFailed)},
	flowclient.EventReviewDestroyed: {topic: topicPulls, apart: true, sequel: true, telling: of(reviewThread, reviewDestroyed)},
}

// kindPrefix begins the message kind of every announcement; the kind of its event follows.
const kindPrefix = "announce."

// people shows a commit's author: as a mention where the person is known.
type people func(author string) markup.Span

// of decodes an event's body and writes its message.
func of[B any](follow func(flowclient.Event, B) thread, write func(flowclient.Event, B) markup.Message) telling {
	return naming(follow, func(e flowclient.Event, body B, _ people) markup.Message { return write(e, body) })
}

// naming is of for a message that is meant for its author.
func naming[B any](follow func(flowclient.Event, B) thread, write func(flowclient.Event, B, people) markup.Message) telling {
	return telling{body: reflect.TypeFor[B](), write: func(e flowclient.Event, who people) (thread, markup.Message, error) {
		var body B
		if err := json.Unmarshal(e.Body, &body); err != nil {
			return thread{}, markup.Message{}, fmt.Errorf("body of %s: %w", e.Key, err)
		}
		m := write(e, body, who)
		m.Kind = kindPrefix + e.Kind
		return follow(e, body), m, nil
	}}
}

// as tells something in the words of another kind.
func as(kind string, t telling) telling {
	write := t.write
	t.as, t.write = kind, func(e flowclient.Event, who people) (thread, markup.Message, error) {
		of, m, err := write(e, who)
		m.Kind = kindPrefix + kind
		return of, m, err
	}
	return t
}

// said is one announcement.
type said struct {
	thread
	sequel  bool
	place   place
	message markup.Message
}

// say writes an event's announcement; ok is false when there is none.
func (a *Announcer) say(ctx context.Context, e flowclient.Event) (s said, ok bool) {
	k, known := kinds[e.Kind]
	if !known {
		a.cfg.Log.DebugContext(ctx, "event not announced", "kind", e.Kind, "key", e.Key)
		return said{}, false
	}
	t, m, err := k.write(e, a.author)
	if err == nil && e.Project == "" && !k.common {
		// The lock of a component that is gone was cleared: there is no stream to tell it in.
		a.cfg.Log.InfoContext(ctx, "event of no project not announced", "kind", e.Kind, "key", e.Key)
		return said{}, false
	}
	if err != nil {
		// It will not read better later: passing it keeps the others coming.
		a.cfg.Log.ErrorContext(ctx, "event cannot be announced", "seq", e.Seq, "err", err)
		return said{}, false
	}
	s = said{thread: t, sequel: k.sequel, place: k.place(e, a.cfg.Sandbox), message: m}
	subject := about(e, nil)
	if b := a.bursts.see(e); b != nil && b.several() {
		together, body := b.tell(a.author)
		if !a.cfg.Templates.skips(together.Kind) { // else each goes on in its own message
			s.sequel, s.thread = k.sequel || !b.begins(e.Key), b.thread()
			s.message, subject.Body = together, body
		}
	}
	return a.reword(ctx, e, s, subject)
}

// author mentions the author of a commit when the person is known.
func (a *Announcer) author(name string) markup.Span {
	if user, ok := a.cfg.Person(name); ok {
		return markup.M(user, name)
	}
	return markup.F(name)
}
