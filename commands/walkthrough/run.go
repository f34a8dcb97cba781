package walkthrough

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"platform.dev/platform/bots/markup"
	"platform.dev/platform/commands"
	"platform.dev/platform/flowclient"
)

// step is one row of a walkthrough.
type step struct {
	name        string // recorded, and part of the message's key
	title       string // what happens
	expectation string // what must be so at its end
	run         func(ctx context.Context, r *run) (outcome, error)
}

// outcome is what a step shows at its end.
type outcome struct {
	kind   string // of the message: "walkthrough." + kind
	title  []markup.Span
	blocks []markup.Block
	links  []markup.Span // for the closing message
}

// done is a step that held, as remembered for the closing message.
type done struct {
	Name  string        `json:"name"`
	Took  time.Duration `json:"took"`
	Links []markup.Span `json:"links,omitempty"`
}

// state is what a run needs to go on after a restart. It is kept as JSON in
// flowclient.Walkthrough.State, written before each step begins.
type state struct {
	Began      time.Time             `json:"began"` // the step under way
	Done       []done                `json:"done"`
	Repository flowclient.Repository `json:"repository"`
	Component  string                `json:"component"`
	First      page                  `json:"first"`
	Second     page                  `json:"second"`
	Proposed   page                  `json:"proposed"` // by the pull request
	Third      page                  `json:"third"`    // as it was merged
	Pull       int                   `json:"pull,omitempty"`
	Staging    string                `json:"staging"`          // address
	Production string                `json:"production"`       // address
	Review     string                `json:"review,omitempty"` // address, while there was one
}

// run is one walkthrough under way.
type run struct {
	bot   *bot
	req   commands.Request
	reply commands.Reply
	w     flowclient.Walkthrough
	s     state
	steps []step
	at    int    // index of the step under way
	shown string // what the step's message says is waited for and seen
}

// newRun reads back where a run stands.
func (b *bot) newRun(w flowclient.Walkthrough, req commands.Request, reply commands.Reply) (*run, error) {
	r := &run{bot: b, req: req, reply: reply, w: w}
	if len(w.State) > 0 {
		if err := json.Unmarshal(w.State, &r.s); err != nil {
			return nil, fmt.Errorf("state of walkthrough %s: %w", w.Project, err)
		}
	}
	r.w.Topic = topic(w)
	return r, nil
}

// maxTopic is the most code points of a topic.
const maxTopic = 60

// topic is where a run is told: its project and the day it started.
func topic(w flowclient.Walkthrough) string {
	name := []rune(w.Project + " " + w.Started.UTC().Format(time.DateOnly))
	return string(name[:min(len(name), maxTopic)])
}

// walk runs the steps from the recorded one on. It returns an error only when
// the run is to go on after a restart, or when something could not be recorded.
func (r *run) walk(ctx context.Context, steps []step) error {
	r.steps = steps
	for i, s := range steps {
		if s.name == r.w.Step {
			r.at = i
		}
	}
	if err := r.reply.Progress(ctx, beganMessage(r.w, r.bot.Stream, len(steps))); err != nil {
		return err
	}
	walking, leave := r.bot.enter(ctx, r.w.ID)
	defer leave()
	for ; r.at < len(steps); r.at++ {
		err := r.take(walking, steps[r.at])
		if err == nil {
			continue
		}
		if errors.Is(ctx.Err(), context.Canceled) {
			return ctx.Err() // the process ends: the run goes on with the next
		}
		return r.end(context.WithoutCancel(ctx), r.why(walking, steps[r.at], err))
	}
	return r.end(context.WithoutCancel(ctx), nil)
}

// take records that a step begins, takes it and shows how it ended.
func (r *run) take(ctx context.Context, s step) error {
	now := r.bot.Now()
	if r.w.Step != s.name || r.s.Began.IsZero() {
		r.w.Step, r.s.Began = s.name, now
		if err := r.record(ctx); err != nil {
			return err
		}
	}
	r.shown = ""
	if err := r.waiting(ctx, s.expectation, ""); err != nil {
		return err
	}
	o, err := s.run(ctx, r)
	if err != nil {
		return err
	}
	took := max(0, r.bot.Now().Sub(r.s.Began))
	r.s.Done = append(r.s.Done, done{Name: s.title, Took: took, Links: o.links})
	return r.post(ctx, s.name, r.doneMessage(o, took))
}

// why makes of a step's error what was expected and what was seen.
func (r *run) why(ctx context.Context, s step, err error) error {
	var asked *stop
	var m *missed
	switch {
	case errors.As(context.Cause(ctx), &asked):
		return asked
	case errors.As(err, &m):
		return m
	case errors.Is(err, context.DeadlineExceeded):
		return &missed{Expected: s.expectation, Seen: "the time that a command may take was over"}
	}
	return &missed{Expected: s.expectation, Seen: err.Error()}
}

// end tells the end in the step's message and in the closing one, records it
// and answers. cause is nil when every step held. Told first, recorded last: a
// crash between tells it again under the same keys.
func (r *run) end(ctx context.Context, cause error) error {
	var asked *stop
	var m *missed
	now := r.bot.Now()
	r.w.Ended, r.w.Result, r.w.Message = &now, passed, ""
	switch {
	case errors.As(cause, &asked):
		r.w.Result, r.w.Message = stopped, asked.Error()
		if err := r.post(ctx, r.w.Step, r.stoppedMessage(asked)); err != nil {
			return err
		}
	case errors.As(cause, &m):
		r.w.Result, r.w.Message = failed, m.Error()
		if err := r.post(ctx, r.w.Step, r.failedMessage(m)); err != nil {
			return err
		}
	}
	if err := r.post(ctx, "closing", r.bot.closingMessage(r.w, r.s.Done, m)); err != nil {
		return err
	}
	if err := r.record(ctx); err != nil {
		return err
	}
	return r.reply.Answer(ctx, endedMessage(r.w, r.bot.Stream))
}

// record writes down how far the run has come.
func (r *run) record(ctx context.Context) error {
	state, err := json.Marshal(r.s)
	if err != nil {
		return fmt.Errorf("state of walkthrough %s: %w", r.w.Project, err)
	}
	r.w.State = state
	return r.bot.Walker.UpdateWalkthrough(ctx, r.w)
}

// post says something in the run's topic, or changes what was said under the same name.
func (r *run) post(ctx context.Context, name string, m markup.Message) error {
	return r.reply.Post(ctx, r.w.Project+"/"+name, commands.Place{Stream: r.bot.Stream, Topic: r.w.Topic}, m)
}

// waiting shows what the step waits for and what is seen, when that has changed.
func (r *run) waiting(ctx context.Context, expected, seen string) error {
	now := expected + "\n" + seen
	if now == r.shown {
		return nil
	}
	r.shown = now
	return r.post(ctx, r.w.Step, r.workingMessage(expected, seen))
}

// number says which step of how many is under way.
func (r *run) number() string {
	return fmt.Sprintf("%d of %d: ", r.at+1, len(r.steps))
}

// origin is where an effect of a step comes from: the same after a restart.
func (r *run) origin(effect string) flowclient.Origin {
	return flowclient.Origin{Key: r.req.Key + "/" + effect, Who: r.req.Who.Persona, Link: r.req.Link}
}
