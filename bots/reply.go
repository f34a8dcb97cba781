package bots

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"platform.dev/platform/bots/markup"
	"platform.dev/platform/commands"
)

// answerMark ends the keys of answers, behind the key of the message that asked.
const answerMark = "/answer"

// reply is how one command answers: rows of the outbox whose keys derive from
// the message that asked, so that a command that is run again says nothing twice.
type reply struct {
	runtime *Runtime
	request commands.Request
	heard   Heard
	at      time.Time       // when it was heard
	effect  commands.Effect // of the command that is run
	word    *word           // what Settle noted; set by the command itself, before it returns

	mu     sync.Mutex
	light  *light          // of a message that is not recorded yet; nil for any other
	brief  *markup.Message // the answer to it, kept until the command has ended
	since  time.Time       // when an answer may have been sent of which nobody knows; zero when none was
	said   bool            // something was put where the command was asked
	direct *direct         // what was put first, on its way
	final  *markup.Message // what Answer said
	shown  func()          // called at the first Progress
	showed bool
	trace  string
	calls  int // how many commands it called
}

// word is a person's word to a question.
type word struct {
	code string
	yes  bool
}

var (
	_ commands.Explainer = (*reply)(nil)
	_ commands.Settler   = (*reply)(nil)
	_ commands.Caller    = (*reply)(nil)
)

// replyTo makes the reply to a message, whose request is not complete yet.
func (r *Runtime) replyTo(h hearing, shown func()) *reply {
	return &reply{runtime: r, heard: h.Heard, at: h.at, shown: shown, since: h.since, request: commands.Request{
		Key: h.Key, Bot: r.cfg.Bot, Text: h.Text, Place: h.Place, Link: h.Link, At: h.At,
	}}
}

// Traced notes the trace that the command's work belongs to, for Observation.
func (y *reply) Traced(id string) {
	y.mu.Lock()
	defer y.mu.Unlock()
	y.trace = id
}

// Settle notes a word to a question; it is carried there once the command has returned.
func (y *reply) Settle(code string, yes bool) { y.word = &word{code: code, yes: yes} }

// Answer puts the final answer where the command was asked, over the progress message if there was one.
func (y *reply) Answer(ctx context.Context, m markup.Message) error {
	if err := y.put(ctx, m); err != nil {
		return err
	}
	y.mu.Lock()
	defer y.mu.Unlock()
	y.final = &m
	return nil
}

// Progress puts, then changes, the one progress message, and lets the next command of the place begin.
func (y *reply) Progress(ctx context.Context, m markup.Message) error {
	if err := y.last(ctx); err != nil {
		return err
	}
	if err := y.put(ctx, m); err != nil {
		return err
	}
	y.mu.Lock()
	defer y.mu.Unlock()
	if !y.showed {
		y.showed = true
		y.shown()
	}
	return nil
}

// Post says something in another place, once per key.
func (y *reply) Post(ctx context.Context, key string, to commands.Place, m markup.Message) error {
	if key == "" {
		return errors.New("post: a key is needed")
	}
	if err := y.last(ctx); err != nil {
		return err
	}
	return y.say(ctx, y.request.Key+"/post/"+key, to, m)
}

// put records the answer as it stands.
func (y *reply) put(ctx context.Context, m markup.Message) error {
	if isBrief(m) && y.keep(m) {
		return nil
	}
	if err := y.last(ctx); err != nil {
		return err
	}
	key := y.request.Key + answerMark
	if err := y.running(key); err != nil {
		return err
	}
	y.mu.Lock()
	direct := !y.said && y.since.IsZero() // else there may be something to edit, or to find
	y.said = true
	y.mu.Unlock()
	if !direct {
		return y.runtime.say(context.WithoutCancel(ctx), key, y.request.Place, payload{Message: m, Since: y.since})
	}
	d, err := y.runtime.offer(context.WithoutCancel(ctx), key, y.request.Place, payload{Message: m})
	y.mu.Lock()
	defer y.mu.Unlock()
	y.direct = d
	return err
}

// onItsWay is the answer, when it is on its way to the chat or was brought there at once.
func (y *reply) onItsWay() *direct {
	y.mu.Lock()
	defer y.mu.Unlock()
	return y.direct
}

// say records a message. It is refused once Run is ending: a command that was
// interrupted runs again, and must not have said that it failed. A command whose
// own time is over may still say so.
func (y *reply) say(ctx context.Context, key string, to commands.Place, m markup.Message) error {
	if err := y.running(key); err != nil {
		return err
	}
	return y.runtime.Say(context.WithoutCancel(ctx), key, to, m)
}

// running is an error once Run is ending.
func (y *reply) running(key string) error {
	select {
	case <-y.runtime.stopping:
		return fmt.Errorf("say %s: %w", key, context.Canceled)
	default:
		return nil
	}
}

// answered tells whether the command gave its final answer.
func (y *reply) answered() bool {
	y.mu.Lock()
	defer y.mu.Unlock()
	return y.final != nil
}

// reaction is the mark for the answer's status.
func (y *reply) reaction() string {
	y.mu.Lock()
	defer y.mu.Unlock()
	switch y.final.Status {
	case markup.Refused:
		return ReactionRefused
	case markup.Failed:
		return ReactionFailed
	default:
		return ReactionDone
	}
}
