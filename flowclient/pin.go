package flowclient

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
)

// pinAttempts bounds how often a conditional write that lost is begun again.
const pinAttempts = 8

// errBusy is a binding that changed at every attempt.
var errBusy = errors.New("the binding keeps changing")

// finishMove carries out what is left of a promotion or rollback.
func (c *Controller) finishMove(ctx context.Context, in Intent) (any, []Event, error) {
	var plan movePlan
	if err := json.Unmarshal(in.Body, &plan); err != nil {
		return nil, nil, fmt.Errorf("plan: %w", err)
	}
	out := Outcome{Project: plan.Project, Note: plan.Note, Undoes: plan.Undoes.undone(), Components: make([]ComponentOutcome, 0, len(plan.Moves))}
	done := moved{plan: plan}
	var pinned []Written
	if !plan.Rollback {
		var err error
		if done.writes, err = c.ensureCell(ctx, in, plan); err != nil {
			return nil, nil, err
		}
	}
	for _, m := range plan.Moves {
		o := m.Outcome
		if m.moves() {
			var err error
			if o, err = c.pinOrTell(ctx, in, plan, m); err != nil {
				return nil, nil, err
			}
			if o.Result == m.Outcome.Result {
				written, err := c.written(ctx, plan, o.Component)
				if err != nil {
					return nil, nil, err
				}
				pinned = append(pinned, written)
			}
		}
		out.Components = append(out.Components, o)
	}
	done.writes, done.outcome = append(done.writes, pinned...), out
	if len(pinned) == 0 {
		return done, nil, nil
	}
	kind := EventPromoted
	if plan.Rollback {
		kind = EventRolledBack
	}
	e, err := event(in.Kind+"/"+in.ID, kind,
		Event{At: c.deps.Now(), Project: plan.Project, Component: plan.Component, Walkthrough: plan.Walkthrough},
		MoveEvent{Origin: plan.Origin, Outcome: out})
	return done, []Event{e}, err
}

// Written is an object before and after a write; Before is nil when it was made.
type Written struct {
	Before *Object `json:"before,omitempty"`
	After  Object  `json:"after"`
}

// written is a production binding as the decision saw it, and as it is now.
func (c *Controller) written(ctx context.Context, plan movePlan, component string) (w Written, err error) {
	if plan.Inputs != nil {
		for _, f := range plan.Inputs.Components {
			if f.Name == component && f.Production.exists {
				w.Before = &f.Production.Object
			}
		}
	}
	w.After, err = c.deps.ControlPlane.Get(ctx, KindReleaseBinding, bindingName(component, Production))
	return w, err
}

// moved is what a move came to.
type moved struct {
	plan    movePlan
	outcome Outcome
	writes  []Written
}

// settle answers with the outcome and records the writes. What was rolled back
// is held; what was promoted is held no longer.
func (m moved) settle(s *settled, to *Settlement) any {
	s.Writes = m.writes
	for _, o := range m.outcome.Components {
		switch {
		case o.Result == RolledBack && o.From != "":
			to.Hold = append(to.Hold, Hold{Project: m.plan.Project, Component: o.Component, Release: o.From, Who: m.plan.Origin.Who, At: m.plan.At})
		case o.Result == Promoted:
			to.Lift = append(to.Lift, o.Component)
		}
	}
	return m.outcome
}

// pinOrTell pins one component. A definite no of the control plane is that
// component's outcome: what the others came to must not be lost with it.
func (c *Controller) pinOrTell(ctx context.Context, in Intent, plan movePlan, m aMove) (ComponentOutcome, error) {
	o, err := c.pin(ctx, in, plan, m)
	var invalid *Invalid
	if !errors.As(err, &invalid) && !IsNotFound(err) {
		return o, err
	}
	o = m.Outcome
	o.Result, o.From, o.FromCommit = Superseded, "", ""
	o.Sentence = fmt.Sprintf("%s: the control plane refused it (%v); nothing was moved. Ask again.", o.Component, err)
	return o, nil
}

func moves(all []aMove) bool {
	for _, m := range all {
		if m.moves() {
			return true
		}
	}
	return false
}

// pin is the last two steps for one component: the binding names the release,
// who moved it, what it displaced and the intent in one conditional write, then
// it is Active. A binding that carries the intent was pinned before a crash, and
// what it displaced is read from it.
func (c *Controller) pin(ctx context.Context, in Intent, plan movePlan, m aMove) (ComponentOutcome, error) {
	name := bindingName(m.Outcome.Component, Production)
	for range pinAttempts {
		b, err := c.readBinding(ctx, name)
		if err != nil {
			return ComponentOutcome{}, err
		}
		out, from := m.Outcome, m.Outcome.From
		if b.annotation(AnnotationIntent) == in.ID {
			if from != "" && !plan.Rollback {
				from = b.annotation(AnnotationDisplaced)
			}
		} else {
			o, superseded, err := c.recheck(ctx, plan, m, b)
			if err != nil || superseded {
				return o, err
			}
			if from = b.spec.ReleaseName; from == m.Outcome.To {
				from = ""
			}
			b, err = c.pinOnce(ctx, in, plan, m, b)
			if errors.Is(err, ErrConflict) || errors.Is(err, ErrExists) {
				continue
			}
			if err != nil {
				return ComponentOutcome{}, err
			}
		}
		reactivated, err := c.activate(ctx, in, plan, &b)
		if errors.Is(err, ErrConflict) {
			continue
		}
		if err != nil {
			return ComponentOutcome{}, err
		}
		if from != m.Outcome.From {
			out.From, out.FromCommit = from, "" // somebody else moved production since the decision
		}
		if !plan.Rollback {
			out.Sentence = movedSentence(out, reactivated || m.Reactivate)
		}
		return out, nil
	}
	return ComponentOutcome{}, fmt.Errorf("pin %s: %w", name, errBusy)
}

// pinOnce is the conditional write of the pin.
func (c *Controller) pinOnce(ctx context.Context, in Intent, plan movePlan, m aMove, b binding) (binding, error) {
	target := m.Outcome.To
	if !b.exists {
		meta := c.stamp(in, plan.Project, plan.Walkthrough)
		meta.Labels[LabelComponent] = m.Outcome.Component
		meta.Annotations[AnnotationPromotedBy] = plan.Origin.Who
		o, err := c.create(ctx, KindReleaseBinding, bindingName(m.Outcome.Component, Production), meta, ReleaseBindingSpec{
			Owner: Owner{ProjectName: plan.Project, ComponentName: m.Outcome.Component}, Environment: Production, ReleaseName: target, State: stateActive})
		if err != nil {
			return binding{}, err
		}
		return bindingOf(o)
	}
	ch := change{release: target, annotations: map[string]string{AnnotationIntent: in.ID, AnnotationPromotedBy: plan.Origin.Who}}
	switch from := b.spec.ReleaseName; {
	case plan.Rollback:
		ch.annotations[AnnotationDisplaced] = ""
	case from != "" && from != target:
		ch.annotations[AnnotationDisplaced] = from
	case b.annotation(AnnotationDisplaced) == target:
		ch.annotations[AnnotationDisplaced] = "" // a pin by hand went back there: nothing is left to return to
	}
	return c.write(ctx, b, ch)
}

// activate is the fourth step. A rollback leaves a binding out of service that was.
func (c *Controller) activate(ctx context.Context, in Intent, plan movePlan, b *binding) (reactivated bool, err error) {
	if plan.Rollback || b.spec.State != stateUndeploy {
		return false, nil
	}
	*b, err = c.write(ctx, *b, change{state: stateActive, annotations: map[string]string{AnnotationIntent: in.ID}})
	return true, err
}

// recheck reads again, right before the pin, what must not have changed since
// the decision: what staging runs or production displaced, and the locks.
func (c *Controller) recheck(ctx context.Context, plan movePlan, m aMove, production binding) (ComponentOutcome, bool, error) {
	o := m.Outcome
	superseded := func(format string, args ...any) (ComponentOutcome, bool, error) {
		o.Result, o.Sentence = Superseded, o.Component+": "+fmt.Sprintf(format, args...)+"; nothing was moved. Ask again."
		o.From, o.FromCommit = "", ""
		return o, true, nil
	}
	now := production.annotation(AnnotationDisplaced)
	if !plan.Rollback {
		staging, err := c.readBinding(ctx, bindingName(o.Component, Staging))
		if err != nil {
			return o, false, err
		}
		now = staging.spec.ReleaseName
	}
	switch {
	case now != o.To && plan.Rollback:
		return superseded("what the last promotion displaced changed meanwhile")
	case plan.Undoes != nil && production.spec.ReleaseName != m.Outcome.From:
		return superseded("%s moved on to %s meanwhile", Production, production.spec.ReleaseName)
	case now != o.To:
		return superseded("%s moved on to %s meanwhile", Staging, now)
	case !plan.Rollback && production.spec.ReleaseName == o.To && production.spec.State != stateUndeploy:
		o.Result, o.From, o.FromCommit = Unchanged, "", ""
		o.Sentence = fmt.Sprintf("%s: %s runs %s already.", o.Component, Production, release{Name: o.To, Commit: o.ToCommit}.label())
		return o, true, nil
	}
	verdict, err := c.lockNow(ctx, o.Component, o.To)
	if err != nil {
		return o, false, err
	}
	if !verdict.Pass {
		return superseded("it was locked meanwhile (%s)", verdict.Sentence)
	}
	return o, false, nil
}

// lockNow asks the lock gate again with what holds now.
func (c *Controller) lockNow(ctx context.Context, component, target string) (Verdict, error) {
	locks, err := c.deps.Locks.Locks(ctx)
	if err != nil {
		return Verdict{}, err
	}
	f := componentFacts{Name: component}
	for _, l := range locks {
		if l.Component == component {
			f.Locks = append(f.Locks, l)
		}
	}
	if len(f.Locks) > 0 {
		if f.Releases, _, err = c.readReleases(ctx, component); err != nil {
			return Verdict{}, err
		}
	}
	return lockGate(question{}.about(snapshot{}.candidate(f, target)), c.deps.Now()), nil
}
