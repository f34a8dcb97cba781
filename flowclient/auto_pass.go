package flowclient

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"
)

const (
	// deciders is how many projects are decided at once: each waits for the
	// control plane most of the time.
	deciders = 4
	// decisionPatience bounds the look at one project, its writes included: one
	// that hangs must not keep the others from theirs.
	decisionPatience = 20 * time.Second
)

// decideDue looks at every project that is due; listed tells that everything
// was listed right before. What fails is told in /state,
// is tried again after Settings.PassEvery and holds up no other.
func (c *Controller) decideDue(ctx context.Context, listed bool) error {
	due := c.table.take(c.deps.Now(), listed)
	if len(due) == 0 {
		return nil
	}
	var all sync.WaitGroup
	failed := make([]error, len(due))
	memory := &recollections{c: c}
	next := make(chan int)
	for range min(deciders, len(due)) {
		all.Go(func() {
			for i := range next {
				failed[i] = c.decideOne(ctx, due[i], memory)
			}
		})
	}
	for i := range due {
		next <- i
	}
	close(next)
	all.Wait()
	return errors.Join(failed...)
}

// decideOne looks at a project and keeps how it stood.
func (c *Controller) decideOne(ctx context.Context, project string, memory *recollections) error {
	within, cancel := context.WithTimeoutCause(ctx, decisionPatience, fmt.Errorf("not decided within %s", decisionPatience))
	defer cancel()
	s, asks, err := c.passProject(within, project, memory)
	if IsNotFound(err) {
		if err = c.forgetProject(within, project); err == nil {
			c.table.remove(project)
			return nil
		}
	}
	later := c.deps.Now().Add(c.deps.Settings.PassEvery).UnixNano()
	if err != nil {
		if cause := context.Cause(within); cause != nil && ctx.Err() == nil {
			err = errors.Join(err, cause)
		}
		c.table.put(project, stood{failed: err.Error()}, later)
		return fmt.Errorf("project %s: %w", project, err)
	}
	wake := int64(dueNever)
	if s.wake != nil {
		wake = dueAt(*s.wake)
	}
	if asks {
		wake = min(wake, later)
	}
	c.table.put(project, s, wake)
	return nil
}

// passProject is the automatic pass over one project, in its turn: what is
// begun is finished first, then it is decided anew, and what is to move is
// moved as any promotion is.
func (c *Controller) passProject(ctx context.Context, project string, memory *recollections) (s stood, asks bool, err error) {
	if c.deps.Standings == nil {
		return s, false, nil
	}
	subject := projectSubject(project)
	unlock, err := c.subjects.lock(ctx, subject)
	if err != nil {
		return s, false, err
	}
	defer unlock()
	if err := c.resolve(ctx, subject); err != nil {
		return s, false, err
	}
	inputs, err := c.passInputs(ctx, project, memory)
	var none *Refusal
	if errors.As(err, &none) { // it has no components
		return s, false, c.forgetProject(ctx, project)
	}
	if err != nil {
		return s, false, err
	}
	now := c.deps.Now()
	plan := planPass(inputs, now)
	if len(plan.Move.Moves) > 0 { // what moves besides the code is looked for only then
		if err := c.compareForward(ctx, &inputs); err != nil {
			return s, false, err
		}
		plan = planPass(inputs, now)
	}
	if s.inputs, err = c.remember(ctx, inputs, plan); err != nil {
		return s, false, err
	}
	if s.wake = plan.Wake; len(plan.Move.Moves) == 0 {
		return s, plan.Asks, nil
	}
	out, err := c.carryOutMove(ctx, plan.Move)
	for _, o := range out.Components {
		if o.Result == Promoted || o.Result == Unchanged {
			s.inputs.Components = slices.DeleteFunc(s.inputs.Components, func(f componentFacts) bool { return f.Name == o.Component })
		}
	}
	// What was superseded is another release now, which is looked at like any other.
	return s, plan.Asks || !out.Complete(), err
}

// passInputs reads what the automatic pass decides on; a *Refusal when there
// are no components.
func (c *Controller) passInputs(ctx context.Context, project string, memory *recollections) (snapshot, error) {
	s, err := c.snapshotWith(ctx, project, "", memory.read)
	if err != nil {
		return s, err
	}
	if err := c.liftHolds(ctx, &s); err != nil {
		return s, err
	}
	if s.Episodes, err = c.deps.Standings.Episodes(ctx, project); err != nil {
		return s, err
	}
	if s.promotion() == promotionManual {
		return s, nil
	}
	return s, c.observe(ctx, &s, true)
}

// forgetProject ends what is remembered of a project with nothing in it: one
// of the same name is another project.
func (c *Controller) forgetProject(ctx context.Context, project string) error {
	if c.deps.Standings == nil {
		return nil
	}
	episodes, err := c.deps.Standings.Episodes(ctx, project)
	if err == nil && len(episodes) > 0 {
		_, err = c.deps.Standings.Stand(ctx, project, nil, nil, c.deps.Now())
	}
	if err != nil {
		return err
	}
	holds, err := c.deps.Standings.Holds(ctx)
	for _, h := range holds {
		if h.Project == project {
			err = errors.Join(err, c.deps.Standings.LiftHold(ctx, h.Component, h.Release))
		}
	}
	return err
}

// liftHolds ends the hold of what was rolled back once staging runs something
// else: nothing but that and a person's promotion does, least of all time.
func (c *Controller) liftHolds(ctx context.Context, s *snapshot) error {
	for i := range s.Components {
		f := &s.Components[i]
		if f.Hold == nil || f.Staging.spec.ReleaseName == "" || f.Staging.spec.ReleaseName == f.Hold.Release {
			continue
		}
		if err := c.deps.Standings.LiftHold(ctx, f.Name, f.Hold.Release); err != nil {
			return err
		}
		f.Hold = nil
	}
	return nil
}

// remember records the episodes and backoffs of a plan, and gives the inputs as
// whoever reads them later sees them: what differs, with what was recorded. What
// lasts as it did is not written again.
func (c *Controller) remember(ctx context.Context, s snapshot, plan passPlan) (snapshot, error) {
	s.Components = slices.DeleteFunc(slices.Clone(s.Components), func(f componentFacts) bool {
		return f.Staging.spec.ReleaseName == "" || f.unchanged()
	})
	for i := range s.Components {
		s.Components[i].objects = nil // kept for as long as the project stands so
	}
	same := slices.EqualFunc(s.Episodes, plan.Episodes, func(a, b Episode) bool {
		return a.Subject == b.Subject && a.Cause == b.Cause && a.Fingerprint == b.Fingerprint
	})
	if same && len(plan.Backoffs) == 0 && len(plan.Opened) == 0 {
		return s, nil
	}
	last, err := c.deps.Standings.Stand(ctx, s.Project.Metadata.Name, plan.Episodes, plan.Backoffs, c.deps.Now(), plan.Opened...)
	if err != nil {
		return s, err
	}
	s.Episodes = last
	for _, b := range plan.Backoffs {
		for i := range s.Components {
			if s.Components[i].Name == b.Component {
				s.Components[i].Backoff = &b.Until
			}
		}
	}
	if len(plan.Opened) > 0 || slices.ContainsFunc(plan.Episodes, func(e Episode) bool { return e.Event != nil }) {
		c.deps.Noted()
	}
	return s, nil
}

// carryOutMove records an automatic promotion and carries it out. The key stands
// for one decision at one instant: a pass that comes to the same one at the
// same instant has the same effect.
func (c *Controller) carryOutMove(ctx context.Context, plan movePlan) (Outcome, error) {
	body, err := json.Marshal(plan)
	if err != nil {
		return Outcome{}, fmt.Errorf("plan of %s: %w", plan.Project, err)
	}
	in, _, err := c.deps.Journal.Begin(ctx, Intent{Key: plan.Origin.Key, Kind: kindPromote, Who: Automatic, At: plan.At, Body: body})
	if err != nil {
		return Outcome{}, err
	}
	if in.Outcome == nil {
		if in.Outcome, err = c.finish(ctx, in); err != nil {
			return Outcome{}, err
		}
	}
	return resultOf[Outcome](in)
}
