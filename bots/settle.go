package bots

import (
	"context"
	"errors"

	"platform.dev/platform/bots/markup"
	"platform.dev/platform/commands"
)

// worded carries the word of a reply to its question.
func (r *Runtime) worded(ctx context.Context, h hearing, y *reply) (outcome string, err error) {
	q, known, err := r.byCode(ctx, y.word.code, h.at)
	if err != nil {
		return "", err
	}
	if !known {
		return ReactionFailed, y.put(ctx, noQuestion(y.word.code))
	}
	return r.settle(ctx, h, y, q, y.word.yes)
}

// pressed carries a press to its question. A reaction that does not count is not
// answered: people react to what they read.
func (r *Runtime) pressed(ctx context.Context, h hearing, y *reply) (outcome string, err error) {
	q, yes, known, err := r.byPress(ctx, *h.Press, h.at)
	if err != nil || !known {
		return ReactionRefused, err
	}
	y.request.Verb = map[bool]string{true: settledYes, false: settledNo}[yes]
	switch {
	case !h.pace.ok && h.pace.first && h.Press.Emoji == "":
		return ReactionRefused, y.put(ctx, limited(r.cfg.Rate, h.pace.wait))
	case !h.pace.ok:
		return ReactionRefused, nil
	case !r.know(ctx, h, y):
		return r.turnDown(ctx, y, q, unknownPerson(h.Heard, r.cfg.Bot), Decision{Kind: DecidedUnknown})
	}
	return r.settle(ctx, h, y, q, yes)
}

// settle is a word to a question by who is known. Said again after a restart, it
// goes on where it was: what was settled by this very word is not asked again.
func (r *Runtime) settle(ctx context.Context, h hearing, y *reply, q question, yes bool) (outcome string, err error) {
	orig := r.replyTo(hearing{Heard: q.Heard, at: q.At}, y.shown)
	v := r.authorise(ctx, hearing{Heard: q.Heard, at: q.At}, orig)
	if q.by == h.Key {
		return r.follow(ctx, y, q, v, orig)
	}
	switch m, why := r.objection(h, y, q, v, yes); {
	case m != nil:
		return r.turnDown(ctx, y, q, *m, why)
	case !yes:
		return r.end(ctx, h, y, q, settledNo, v, orig)
	}
	plan, err := r.plan(ctx, v.call, orig)
	if err != nil {
		return r.unplanned(ctx, h, y, err)
	}
	if plan.Fingerprint != q.Plan.Fingerprint {
		return r.end(ctx, h, y, q, settledChanged, v, orig)
	}
	return r.end(ctx, h, y, q, settledYes, v, orig)
}

// objection is why a word does not count: it comes too late, or from somebody
// whose word it is not, or who asked may no more.
func (r *Runtime) objection(h hearing, y *reply, q question, v verdict, yes bool) (*markup.Message, Decision) {
	refused := func(m markup.Message, why string) (*markup.Message, Decision) {
		return &m, Decision{Kind: DecidedRefused, Why: why}
	}
	own := h.ChatID == q.Heard.ChatID
	switch {
	case q.by != "":
		return refused(answeredAlready(q), "it was answered before")
	case h.at.After(q.Until):
		return refused(lapsed(q), "too late")
	case !v.run:
		return v.message, v.decision
	}
	if action, lacking := r.lacks(y.request.Who, v.call); lacking {
		m := denied(y.request.Who, v.call, action, r.holders(action))
		return &m, Decision{Kind: DecidedDenied, Actions: v.call.Actions(), Lacking: action}
	}
	switch {
	case yes && q.Need.FourEyes && own:
		return refused(somebodyElse(q), "somebody else must confirm")
	case yes && !q.Need.FourEyes && !own:
		return refused(notYours(q), "another asked")
	}
	return nil, Decision{}
}

// turnDown answers a word that does not count.
func (r *Runtime) turnDown(ctx context.Context, y *reply, q question, m markup.Message, d Decision) (outcome string, err error) {
	if err := r.decided(ctx, y, r.of(q, d)); err != nil {
		return "", err
	}
	if y.heard.Press != nil && y.heard.Press.Emoji != "" {
		return ReactionRefused, nil
	}
	return ReactionRefused, y.put(ctx, m)
}

// end settles a question and does what follows from that. Of two words at one
// time one is the first.
func (r *Runtime) end(ctx context.Context, h hearing, y *reply, q question, how string, v verdict, orig *reply) (outcome string, err error) {
	ok, err := r.cfg.Questions.Conclude(context.WithoutCancel(ctx), q.id, h.Key, how, r.cfg.Now())
	if err != nil {
		return "", err
	}
	if !ok {
		return r.turnDown(ctx, y, q, answeredAlready(q), Decision{Kind: DecidedRefused, Why: "it was answered before"})
	}
	q.by, q.outcome = h.Key, how
	return r.follow(ctx, y, q, v, orig)
}

// follow does what follows from how a question was settled by y. Each step may be repeated.
func (r *Runtime) follow(ctx context.Context, y *reply, q question, v verdict, orig *reply) (outcome string, err error) {
	kinds := map[string]string{settledYes: DecidedConfirmed, settledNo: DecidedCancelled, settledChanged: DecidedChanged}
	if err := r.decided(ctx, y, r.of(q, Decision{Kind: kinds[q.outcome], Actions: v.call.Actions()})); err != nil {
		return "", err
	}
	var then anew
	if q.outcome == settledChanged && v.run {
		if then, err = r.planAnew(ctx, q, v.call, orig); err != nil {
			return "", err
		}
		q.now = then.plan
	}
	if err := r.Say(context.WithoutCancel(ctx), q.id, q.Heard.Place, q.settled(y.request.Who.Name)); err != nil {
		return "", err
	}
	switch {
	case q.outcome != settledNo && !v.run: // since it was answered, who asked for it may no more
		if v.message != nil {
			err = orig.put(ctx, *v.message)
		}
		return v.outcome, errors.Join(err, r.markEnd(ctx, q, v.outcome))
	case q.outcome == settledYes:
		return r.proceed(ctx, q, v.call, orig)
	case q.outcome == settledChanged:
		return r.askAnew(ctx, q, then, orig)
	default:
		return ReactionDone, r.markEnd(ctx, q, ReactionRefused)
	}
}

// proceed runs what was confirmed, as its own message asked for it: its effect
// and its answer have that message's key, and happen once.
func (r *Runtime) proceed(ctx context.Context, q question, call commands.Call, orig *reply) (outcome string, err error) {
	began := r.cfg.Now()
	orig.request.Confirmed = q.Plan.Fingerprint
	if outcome, err = r.perform(ctx, hearing{Heard: q.Heard, at: q.At}, call, orig); err != nil {
		return "", err
	}
	r.observe(orig, call.Command.Effect, outcome, r.cfg.Now().Sub(began))
	return outcome, r.markEnd(ctx, q, outcome)
}

// anew is what is to be done about a question whose plan no longer holds.
type anew struct {
	plan    *commands.Plan // what would be done now; nil where that is refused
	next    *question      // which asks about it; nil where there is nothing to ask
	refusal error
}

// planAnew plans again what was asked about, and records the question about it,
// under another code. Repeated, it finds what it recorded.
func (r *Runtime) planAnew(ctx context.Context, q question, call commands.Call, orig *reply) (anew, error) {
	next, known, err := r.byKey(ctx, q.Heard.Key, q.At)
	if err != nil {
		return anew{}, err
	}
	if known && next.Turn > q.Turn {
		return anew{plan: &next.Plan, next: &next}, nil
	}
	plan, err := r.plan(ctx, call, orig)
	switch {
	case err != nil && ctx.Err() != nil:
		return anew{}, ctx.Err()
	case err != nil:
		return anew{refusal: err}, nil //nolint:nilerr // a refusal is what there is to tell
	case plan.Fingerprint == "":
		return anew{plan: &plan}, nil
	}
	next = newQuestion(hearing{Heard: q.Heard, at: q.At}, q.Turn+1, plan, q.Need, orig.request.Who, r.cfg.Now())
	return anew{plan: &plan, next: &next}, r.record(ctx, next)
}

// askAnew asks about the plan as it is now, or tells why there is nothing to ask.
func (r *Runtime) askAnew(ctx context.Context, q question, then anew, orig *reply) (outcome string, err error) {
	switch {
	case then.next != nil:
		return ReactionRefused, r.show(ctx, *then.next)
	case then.plan != nil:
		return ReactionRefused, errors.Join(orig.put(ctx, then.plan.Message), r.markEnd(ctx, q, ReactionDone))
	}
	if outcome, err = r.unplanned(ctx, hearing{Heard: q.Heard, at: q.At}, orig, then.refusal); err != nil {
		return "", err
	}
	return outcome, r.markEnd(ctx, q, outcome)
}

// markEnd puts the outcome on the message that asked.
func (r *Runtime) markEnd(ctx context.Context, q question, outcome string) error {
	r.marks.Lock()
	defer r.marks.Unlock()
	return r.mark(context.WithoutCancel(ctx), hearing{Heard: q.Heard}, outcome)
}
