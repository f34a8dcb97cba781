package bots

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"runtime/debug"

	"platform.dev/platform/bots/markup"
	"platform.dev/platform/commands"
)

// answer decides about one heard message, runs its command and records the
// answer. ok is false when that did not come to an end, because Run is ending:
// the message is then left for the next one.
func (r *Runtime) answer(ctx context.Context, h hearing, shown chan struct{}) (outcome string, ok bool) {
	if !take(ctx, r.running) {
		return "", false
	}
	defer func() { <-r.running }()
	began := r.cfg.Now()
	reply := &reply{runtime: r, request: commands.Request{
		Key: h.Key, Bot: r.cfg.Bot, Text: h.Text, Place: h.Place, Link: h.Link, At: h.At,
	}, shown: shown}
	outcome, err := r.carryOut(ctx, h, reply)
	if err != nil {
		if ctx.Err() == nil {
			r.cfg.Log.Error("a message is left for the next start", "key", h.Key, "error", err)
		}
		return "", false
	}
	r.cfg.Log.Info("answered", "key", h.Key, "who", reply.request.Who.Persona, "verb", reply.request.Verb,
		"outcome", outcome, "took", r.cfg.Now().Sub(began))
	return outcome, true
}

// conclude records the reaction that tells the outcome, and closes the record.
func (r *Runtime) conclude(ctx context.Context, h hearing, outcome string) {
	if h.acked != nil {
		<-h.acked // so that "heard" is not put on after it was taken off
	}
	ctx = context.WithoutCancel(ctx)
	if err := r.mark(ctx, h, outcome); err != nil {
		r.cfg.Log.Error("the outcome could not be put on a message", "key", h.Key, "error", err)
		return
	}
	if err := r.cfg.Inbox.Finish(ctx, h.Key, outcome, r.cfg.Now()); err != nil {
		r.cfg.Log.Error("a message could not be closed; it runs again at the next start", "key", h.Key, "error", err)
	}
}

// carryOut decides and runs, and records the answer. An error means that
// nothing was decided: Run is ending, or the store cannot be written.
func (r *Runtime) carryOut(ctx context.Context, h hearing, reply *reply) (outcome string, err error) {
	call, message, outcome := r.admit(ctx, h, reply)
	if message != nil {
		return outcome, reply.put(ctx, *message)
	}
	err = r.run(ctx, call, reply)
	if err != nil && ctx.Err() != nil {
		return "", ctx.Err()
	}
	message, outcome = r.outcome(h, reply, err)
	if message == nil {
		return outcome, nil
	}
	return outcome, reply.put(ctx, *message)
}

// admit parses and authorises. A message is the answer when there is nothing to
// run. On the way it completes the request.
func (r *Runtime) admit(ctx context.Context, h hearing, reply *reply) (commands.Call, *markup.Message, string) {
	req := &reply.request
	refuse := func(m markup.Message) (commands.Call, *markup.Message, string) {
		return commands.Call{}, &m, ReactionRefused
	}
	req.Project, _ = r.cfg.Project(h.Place.Stream)
	person, known := r.cfg.Directory.Person(ctx, h.ChatID)
	if !known {
		return refuse(unknownPerson(h.Heard, r.cfg.Bot))
	}
	person.ChatID, person.UserID, person.Name = h.ChatID, h.UserID, h.Name
	req.Who = person
	call, err := r.cfg.Commands.Parse(r.cfg.Bot, h.Text)
	var usage *commands.UsageError
	if errors.As(err, &usage) {
		return commands.Call{}, &usage.Message, ReactionFailed
	}
	if err != nil {
		m := failed(r.fault(h.Key, "", err), err)
		return commands.Call{}, &m, ReactionFailed
	}
	req.Verb, req.Args = call.Verb, call.Args
	if !r.allowed(person, call.Command) {
		return refuse(denied(person, call, r.holders(call.Command.Action)))
	}
	if age := h.at.Sub(h.At); call.Command.Effect == commands.Write && age > r.cfg.Stale {
		return refuse(stale(call, age))
	}
	return call, nil, ""
}

// allowed decides by the policy. A read that asks for no permission is open to
// everybody known; a write that names none is open to nobody.
func (r *Runtime) allowed(p commands.Person, c commands.Command) bool {
	if c.Action == "" {
		return c.Effect == commands.Read
	}
	return r.cfg.Policy.Allowed(p.Groups, c.Action)
}

// holders are the groups that may, where the policy can tell.
func (r *Runtime) holders(action string) []string {
	if p, ok := r.cfg.Policy.(interface{ Holders(action string) []string }); ok && action != "" {
		return p.Holders(action)
	}
	return nil
}

// panicked is a command's panic as an error; its text is for the log alone.
type panicked struct {
	value any
	stack []byte
}

func (p *panicked) Error() string { return fmt.Sprintf("panic: %v\n%s", p.value, p.stack) }

// late is the error of a command whose time was over.
type late struct{ error }

func (l *late) Unwrap() error { return l.error }

// run runs a command within its time and survives its panic.
func (r *Runtime) run(ctx context.Context, call commands.Call, reply *reply) (err error) {
	ctx, cancel := context.WithTimeout(ctx, r.cfg.Timeout)
	defer cancel()
	defer func() {
		if v := recover(); v != nil {
			err = &panicked{value: v, stack: debug.Stack()}
		}
		if err != nil && errors.Is(ctx.Err(), context.DeadlineExceeded) {
			err = &late{err}
		}
	}()
	return call.Command.Run(ctx, reply.request, reply)
}

// outcome makes of a command's end the message that is still owed (nil when the
// command answered itself) and the reaction.
func (r *Runtime) outcome(h hearing, reply *reply, err error) (*markup.Message, string) {
	var refusal commands.Refusal
	var usage *commands.UsageError
	var overdue *late
	var m markup.Message
	switch {
	case err == nil && reply.answered():
		return nil, reply.reaction()
	case err == nil:
		m = finished(reply.request.Verb)
		return &m, ReactionDone
	case errors.As(err, &usage):
		return &usage.Message, ReactionFailed
	case errors.As(err, &refusal):
		m = refused(refusal.Refused())
		return &m, ReactionRefused
	case errors.As(err, &overdue):
		m = overtime(r.fault(h.Key, reply.request.Verb, err), r.cfg.Timeout, err)
	default:
		m = failed(r.fault(h.Key, reply.request.Verb, err), err)
	}
	return &m, ReactionFailed
}

// fault logs an error under a short id that people can name, the same for the
// same message however often it is run.
func (r *Runtime) fault(key, verb string, err error) string {
	sum := sha256.Sum256([]byte(key))
	id := hex.EncodeToString(sum[:4])
	r.cfg.Log.Error("a command failed", "fault", id, "key", key, "verb", verb, "error", err)
	return id
}
