package bots

import (
	"context"
	"errors"

	"platform.dev/platform/commands"
)

// need is what a call needs before it is run. What was asked about before a
// restart keeps its terms, whatever the policy has come to say.
func (r *Runtime) need(ctx context.Context, h hearing, call commands.Call, reply *reply) (Need, error) {
	if call.Changes() {
		if q, known, err := r.byKey(ctx, h.Key, h.at); err != nil || known {
			return q.Need, err
		}
	}
	return r.cfg.Confirm.Need(call, reply.request.Project), nil
}

// ask puts what a call would do before somebody, and runs nothing. Asked again
// after a restart, it asks the same.
func (r *Runtime) ask(ctx context.Context, h hearing, call commands.Call, need Need, reply *reply) (outcome string, err error) {
	if r.cfg.Questions == nil {
		return ReactionRefused, reply.put(ctx, unaskable(call))
	}
	q, known, err := r.byKey(ctx, h.Key, h.at)
	if err != nil {
		return "", err
	}
	if !known {
		plan, err := r.plan(ctx, call, reply)
		if err != nil {
			return r.unplanned(ctx, h, reply, err)
		}
		if plan.Fingerprint == "" {
			return ReactionDone, reply.put(ctx, plan.Message)
		}
		q = newQuestion(h, 1, plan, need, reply.request.Who, r.cfg.Now())
		if err := r.record(ctx, q); err != nil {
			return "", err
		}
	}
	if err := r.decided(ctx, reply, r.of(q, Decision{Kind: DecidedAsked, Actions: call.Actions()})); err != nil {
		return "", err
	}
	h.eyes.calledOff() // so that "heard" is not put on after it was taken off
	return ReactionAsked, r.show(ctx, q)
}

// show puts a question where it belongs, and its mark on the message that asked.
// One that was settled meanwhile bears its end already.
func (r *Runtime) show(ctx context.Context, q question) error {
	r.marks.Lock()
	defer r.marks.Unlock()
	now, known, err := r.byKey(ctx, q.Heard.Key, q.At)
	if err != nil || !known || now.id != q.id || now.by != "" {
		return err
	}
	ctx = context.WithoutCancel(ctx)
	return errors.Join(
		r.Say(ctx, q.id, q.Heard.Place, q.asks(r.cfg.Bot)),
		r.mark(ctx, hearing{Heard: q.Heard}, ReactionAsked))
}

// plan tells what a call would do, within a command's time. A command that cannot tell is planned as its words.
func (r *Runtime) plan(ctx context.Context, call commands.Call, reply *reply) (plan commands.Plan, err error) {
	if call.Command.Plan == nil {
		return commands.Plan{Message: unplannable(call), Fingerprint: call.Text}, nil
	}
	err = r.run(ctx, func(ctx context.Context) error {
		plan, err = call.Command.Plan(ctx, reply.request)
		return err
	})
	return plan, err
}

// unplanned answers where the plan itself says no, or fails: as the command would.
func (r *Runtime) unplanned(ctx context.Context, h hearing, reply *reply, err error) (outcome string, _ error) {
	if ctx.Err() != nil {
		return "", ctx.Err()
	}
	m, outcome := r.outcome(h, reply, err)
	return outcome, reply.put(ctx, *m)
}
