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
func (r *Runtime) answer(ctx context.Context, h hearing, reply *reply) (outcome string, ok bool) {
	if !take(ctx, r.running) {
		return "", false
	}
	defer func() { <-r.running }()
	return r.carry(ctx, h, reply)
}

// carry is answer, for whoever has its turn.
func (r *Runtime) carry(ctx context.Context, h hearing, reply *reply) (outcome string, ok bool) {
	began := r.cfg.Now()
	effect, outcome, err := r.carryOut(ctx, h, reply)
	if err != nil {
		if ctx.Err() == nil {
			r.cfg.Log.Error("a message is left for the next start", "key", h.Key, "error", err)
		}
		return "", false
	}
	took := r.cfg.Now().Sub(began)
	r.noteTook(reply.request.Verb, took)
	r.observe(reply, effect, outcome, took)
	r.cfg.Log.Info("answered", "key", h.Key, "who", reply.request.Who.Persona, "verb", reply.request.Verb, "outcome", outcome, "took", took)
	return outcome, true
}

// conclude records the reaction that tells the outcome, and closes the record.
// A message that asked a question bears its mark already, a press is no message,
// and what was answered before it was marked as heard needs no mark.
func (r *Runtime) conclude(ctx context.Context, h hearing, y *reply, outcome string) {
	quick := h.eyes.calledOff()
	ctx = context.WithoutCancel(ctx)
	if r.reactor == nil || h.Press != nil || quick || outcome == ReactionAsked {
		if y.onItsWay().closes(outcome) {
			return
		}
	} else {
		if err := r.mark(ctx, h, outcome); err != nil {
			r.cfg.Log.Error("the outcome could not be put on a message", "key", h.Key, "error", err)
			return
		}
	}
	if err := r.cfg.Inbox.Finish(ctx, h.Key, outcome, r.cfg.Now()); err != nil {
		r.cfg.Log.Error("a message could not be closed; it runs again at the next start", "key", h.Key, "error", err)
	}
}

// carryOut decides and runs, and records decision and answer. An error means
// that nothing was decided: Run is ending, or the store cannot be written.
func (r *Runtime) carryOut(ctx context.Context, h hearing, reply *reply) (effect commands.Effect, outcome string, err error) {
	if h.Press != nil {
		outcome, err = r.pressed(ctx, h, reply)
		return commands.Read, outcome, err
	}
	v := r.admit(ctx, h, reply)
	effect = v.call.Command.Effect
	if err := r.decided(ctx, reply, v.decision); err != nil {
		return effect, "", err
	}
	if !v.run {
		if v.message == nil {
			return effect, v.outcome, nil
		}
		return effect, v.outcome, reply.put(ctx, *v.message)
	}
	need, err := r.need(ctx, h, v.call, reply)
	if err != nil {
		return effect, "", err
	}
	if need.Asks() {
		outcome, err = r.ask(ctx, h, v.call, need, reply)
		return effect, outcome, err
	}
	outcome, err = r.perform(ctx, h, v.call, reply)
	if err == nil && reply.word != nil {
		err = reply.last(ctx)
	}
	if err == nil && reply.word != nil {
		outcome, err = r.worded(ctx, h, reply)
	}
	return effect, outcome, err
}

// perform runs a call and records its answer.
func (r *Runtime) perform(ctx context.Context, h hearing, call commands.Call, reply *reply) (outcome string, err error) {
	reply.effect = call.Command.Effect
	err = r.run(ctx, func(ctx context.Context) error { return call.Command.Run(ctx, reply.request, reply) })
	if err != nil && ctx.Err() != nil {
		return "", ctx.Err()
	}
	message, outcome := r.outcome(h, reply, err)
	if message == nil {
		return outcome, nil
	}
	return outcome, reply.put(ctx, *message)
}

// verdict is what is decided about a message before anything is run.
type verdict struct {
	call     commands.Call   // what is asked for, where it was understood
	run      bool            // there is something to run, and it may be
	message  *markup.Message // else the answer; nil where that was given before
	outcome  string
	decision Decision
}

// admit parses and authorises; on the way it completes the request. Somebody who
// asks too fast is answered before anything else is looked at.
func (r *Runtime) admit(ctx context.Context, h hearing, reply *reply) verdict {
	switch {
	case h.pace.ok:
		return r.authorise(ctx, h, reply)
	case !h.pace.first:
		return verdict{call: reply.asked(h), outcome: ReactionRefused}
	}
	m := limited(r.cfg.Rate, h.pace.wait)
	return verdict{call: reply.asked(h), message: &m, outcome: ReactionRefused, decision: Decision{Kind: DecidedLimited}}
}

// asked notes what somebody asks for whom nobody looks at, where it was read
// already: so is a read that might have been answered at once.
func (y *reply) asked(h hearing) commands.Call {
	if h.parsed == nil || h.parsed.err != nil {
		return commands.Call{}
	}
	y.request.Verb = h.parsed.call.Verb
	return h.parsed.call
}

// authorise is admit for who does not ask too fast.
func (r *Runtime) authorise(ctx context.Context, h hearing, reply *reply) verdict {
	req := &reply.request
	refuse := func(call commands.Call, m markup.Message, d Decision) verdict {
		return verdict{call: call, message: &m, outcome: ReactionRefused, decision: d}
	}
	if !r.know(ctx, h, reply) {
		return refuse(commands.Call{}, unknownPerson(h.Heard, r.cfg.Bot), Decision{Kind: DecidedUnknown})
	}
	if h.parsed == nil {
		h.parsed = r.parse(h.Heard)
	}
	call, err := h.parsed.call, h.parsed.err
	var usage *commands.UsageError
	if errors.As(err, &usage) {
		return verdict{message: &usage.Message, outcome: ReactionFailed}
	}
	if err != nil {
		m := failed(r.fault(h.Key, "", err), err)
		return verdict{message: &m, outcome: ReactionFailed}
	}
	req.Verb, req.Args = call.Verb, call.Args
	if action, lacking := r.lacks(req.Who, call); lacking {
		return refuse(call, denied(req.Who, call, action, r.holders(action)), Decision{Kind: DecidedDenied, Actions: call.Actions(), Lacking: action})
	}
	if age := h.at.Sub(h.At); call.Command.Effect == commands.Write && age > r.cfg.Stale {
		return refuse(call, stale(call, age), Decision{Kind: DecidedStale, Actions: call.Actions()})
	}
	return verdict{call: call, run: true, decision: allowed(call)}
}

// parse reads what a message asks for.
func (r *Runtime) parse(h Heard) *parsed {
	call, err := r.cfg.Commands.Parse(r.cfg.Bot, h.Text)
	return &parsed{call: call, err: err}
}

// know completes the request with who asks and about which project; false for a stranger.
func (r *Runtime) know(ctx context.Context, h hearing, reply *reply) bool {
	reply.request.Project = r.projectIn(h.Place)
	person, known := r.cfg.Directory.Person(ctx, h.ChatID)
	if known {
		person.ChatID, person.UserID, person.Name = h.ChatID, h.UserID, h.Name
		reply.request.Who = person
	}
	return known
}

// projectIn is the project in whose stream a place is, "" where it is in none's.
func (r *Runtime) projectIn(at commands.Place) string {
	if project, ok := r.cfg.Project(at.Stream); ok {
		return project
	}
	return ""
}

// lacks decides by the policy: the first permission for what a person asks that
// they do not have. A read that asks for none is open to everybody known; a
// write that names none is open to nobody.
func (r *Runtime) lacks(p commands.Person, call commands.Call) (action string, lacking bool) {
	if call.Command.Action == "" && call.Command.Effect != commands.Read {
		return "", true
	}
	for _, action := range call.Actions() {
		if !r.cfg.Policy.Allowed(p.Groups, action) {
			return action, true
		}
	}
	return "", false
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

// run runs something of a command's within its time and survives its panic.
func (r *Runtime) run(ctx context.Context, do func(context.Context) error) (err error) {
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
	return do(ctx)
}

// outcome makes of a command's end the message that is still owed (nil when the
// command answered itself) and the reaction.
func (r *Runtime) outcome(h hearing, reply *reply, err error) (*markup.Message, string) {
	var refusal commands.Refusal
	var declined *commands.Declined
	var usage *commands.UsageError
	var overdue *late
	var m markup.Message
	switch {
	case err == nil && reply.answered():
		return nil, reply.reaction()
	case err == nil && reply.word != nil:
		return nil, ReactionDone // what comes of the word is still to be told
	case err == nil:
		m = finished(reply.request.Verb)
		return &m, ReactionDone
	case errors.As(err, &usage):
		return &usage.Message, ReactionFailed
	case errors.As(err, &declined):
		return &declined.Message, ReactionRefused
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
