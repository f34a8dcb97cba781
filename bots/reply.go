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
	final  *markup.Message // what Answer said
	shown  chan struct{}   // closed at the first Progress
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
func (r *Runtime) replyTo(h hearing, shown chan struct{}) *reply {
	return &reply{runtime: r, heard: h.Heard, at: h.at, shown: shown, request: commands.Request{
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
	if err := y.put(ctx, m); err != nil {
		return err
	}
	y.mu.Lock()
	defer y.mu.Unlock()
	if !y.showed {
		y.showed = true
		close(y.shown)
	}
	return nil
}

// Post says something in another place, once per key.
func (y *reply) Post(ctx context.Context, key string, to commands.Place, m markup.Message) error {
	if key == "" {
		return errors.New("post: a key is needed")
	}
	return y.say(ctx, y.request.Key+"/post/"+key, to, m)
}

// put records the answer as it stands.
func (y *reply) put(ctx context.Context, m markup.Message) error {
	return y.say(ctx, y.request.Key+"/answer", y.request.Place, m)
}

// say records a message. It is refused once Run is ending: a command that was
// interrupted runs again, and must not have said that it failed. A command whose
// own time is over may still say so.
func (y *reply) say(ctx context.Context, key string, to commands.Place, m markup.Message) error {
	select {
	case <-y.runtime.stopping:
		return fmt.Errorf("say %s: %w", key, context.Canceled)
	default:
	}
	return y.runtime.Say(context.WithoutCancel(ctx), key, to, m)
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
