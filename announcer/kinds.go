package announcer

import (
	"context"
	"encoding/json"
	"fmt"

	"platform.dev/platform/bots/markup"
	"platform.dev/platform/flowclient"
)

// kind is how events of a kind are announced.
type kind struct {
	topic string
	write func(e flowclient.Event) (key string, m markup.Message, err error)
}

// kinds says of every kind of event where it is told and in which words. A
// kind that is not here is not announced.
var kinds = map[string]kind{
	flowclient.EventBuildStarted:  {topicBuilds, of(buildKey, buildStarted)},
	flowclient.EventBuildPassed:   {topicBuilds, of(buildKey, buildPassed)},
	flowclient.EventBuildFailed:   {topicBuilds, of(buildKey, buildFailed)},
	flowclient.EventPromoted:      {topicPromotions, of(ownKey[flowclient.MoveEvent], promoted)},
	flowclient.EventPromoteRefuse: {topicPromotions, of(ownKey[flowclient.MoveEvent], refused)},
	flowclient.EventRolledBack:    {topicPromotions, of(ownKey[flowclient.MoveEvent], rolledBack)},
	flowclient.EventLockSet:       {topicPromotions, of(ownKey[flowclient.LockEvent], lockSet)},
	flowclient.EventLockCleared:   {topicPromotions, of(ownKey[flowclient.LockEvent], lockCleared)},
	flowclient.EventScaffolded:    {topicBuilds, of(ownKey[flowclient.ProjectEvent], scaffolded)},
	flowclient.EventRemoved:       {topicBuilds, of(ownKey[flowclient.ProjectEvent], removed)},
}

// of decodes an event's body and writes its message.
func of[B any](key func(flowclient.Event, B) string, write func(flowclient.Event, B) markup.Message) func(flowclient.Event) (string, markup.Message, error) {
	return func(e flowclient.Event) (string, markup.Message, error) {
		var body B
		if err := json.Unmarshal(e.Body, &body); err != nil {
			return "", markup.Message{}, fmt.Errorf("body of %s: %w", e.Key, err)
		}
		m := write(e, body)
		m.Kind = "announce." + e.Kind
		return key(e, body), m, nil
	}
}

// ownKey gives each event a message of its own.
func ownKey[B any](e flowclient.Event, _ B) string { return "announce/" + e.Key }

// buildKey gives the events of one build one message: it starts as "building"
// and becomes the result, in place.
func buildKey(_ flowclient.Event, b flowclient.BuildEvent) string {
	return "announce/build/" + b.Build.Run
}

// said is one announcement.
type said struct {
	key     string
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
	key, m, err := k.write(e)
	if err == nil && e.Project == "" {
		// The lock of a component that is gone was cleared: there is no stream to tell it in.
		a.cfg.Log.InfoContext(ctx, "event of no project not announced", "kind", e.Kind, "key", e.Key)
		return said{}, false
	}
	if err != nil {
		// It will not read better later: passing it keeps the others coming.
		a.cfg.Log.ErrorContext(ctx, "event cannot be announced", "seq", e.Seq, "err", err)
		return said{}, false
	}
	return said{key: key, place: placeOf(e, k.topic, a.cfg.Sandbox), message: m}, true
}
