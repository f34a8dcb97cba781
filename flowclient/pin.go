package flowclient

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
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
	out := Outcome{Project: plan.Project, Note: plan.Note, Components: make([]ComponentOutcome, 0, len(plan.Moves))}
	moved := false
	if !plan.Rollback {
		if err := c.ensureCell(ctx, in, plan); err != nil {
			return nil, nil, err
		}
	}
	for _, m := range plan.Moves {
		o := m.Outcome
		if m.moves() {
			var err error
			if o, err = c.pin(ctx, in, plan, m); err != nil {
				return nil, nil, err
			}
			moved = moved || o.Result == m.Outcome.Result
		}
		out.Components = append(out.Components, o)
	}
	if !moved {
		return out, nil, nil
	}
	kind := EventPromoted
	if plan.Rollback {
		kind = EventRolledBack
	}
	e, err := event(in.Kind+"/"+in.ID, kind,
		Event{At: c.deps.Now(), Project: plan.Project, Component: plan.Component, Walkthrough: plan.Walkthrough},
		MoveEvent{Origin: plan.Origin, Outcome: out})
	return out, []Event{e}, err
}

// ensureCell is the first two steps: the project's binding in production,
// without which nothing else applies there, and one per resource. Each is
// created when it is absent and otherwise left as it is: a resource is never
// moved to another release by the way.
func (c *Controller) ensureCell(ctx context.Context, in Intent, plan movePlan) error {
	if !moves(plan.Moves) {
		return nil
	}
	project, err := c.deps.ControlPlane.Get(ctx, KindProject, plan.Project)
	if err != nil {
		return err
	}
	type cellSpec struct {
		Owner           Owner  `json:"owner"`
		Environment     string `json:"environment"`
		ProjectRelease  string `json:"projectRelease,omitempty"`
		ResourceRelease string `json:"resourceRelease,omitempty"`
	}
	latest, err := latestRelease(project)
	if err != nil {
		return err
	}
	meta := c.stamp(in, plan.Project, plan.Walkthrough)
	err = c.ensure(ctx, KindProjectReleaseBinding, bindingName(plan.Project, Production), meta,
		cellSpec{Owner: Owner{ProjectName: plan.Project}, Environment: Production, ProjectRelease: latest})
	if err != nil {
		return err
	}
	resources, err := c.deps.ControlPlane.List(ctx, KindResource, Filter{Project: plan.Project})
	if err != nil {
		return fmt.Errorf("resources of %s: %w", plan.Project, err)
	}
	for _, o := range resources {
		var spec struct {
			Owner Owner `json:"owner"`
		}
		if err := o.Decode(&spec, nil); err != nil {
			return err
		}
		if spec.Owner.ProjectName != plan.Project {
			continue
		}
		if latest, err = latestRelease(o); err != nil {
			return err
		}
		err := c.ensure(ctx, KindResourceReleaseBinding, bindingName(o.Metadata.Name, Production), meta, cellSpec{
			Owner: Owner{ProjectName: plan.Project, ResourceName: o.Metadata.Name}, Environment: Production, ResourceRelease: latest})
		if err != nil {
			return err
		}
	}
	return nil
}

func moves(all []aMove) bool {
	for _, m := range all {
		if m.moves() {
			return true
		}
	}
	return false
}

// latestRelease is an object's status.latestRelease.name.
func latestRelease(o Object) (string, error) {
	var status struct {
		LatestRelease struct {
			Name string `json:"name"`
		} `json:"latestRelease"`
	}
	err := o.Decode(nil, &status)
	return status.LatestRelease.Name, err
}

// stamp is the metadata of what an intent creates for a project.
func (c *Controller) stamp(in Intent, project string, walkthrough bool) Metadata {
	m := Metadata{Labels: map[string]string{LabelProject: project}, Annotations: map[string]string{AnnotationIntent: in.ID}}
	if walkthrough {
		m.Labels[LabelWalkthrough] = "true"
	}
	return m
}

// apiVersion is the one version of every object.
const apiVersion = "openchoreo.dev/v1alpha1"

// ensure creates an object unless there is one of the name.
func (c *Controller) ensure(ctx context.Context, kind Kind, name string, meta Metadata, spec any) error {
	_, err := c.deps.ControlPlane.Get(ctx, kind, name)
	if err == nil {
		return nil
	}
	if !IsNotFound(err) {
		return fmt.Errorf("read %s %s: %w", kind, name, err)
	}
	if _, err = c.create(ctx, kind, name, meta, spec); errors.Is(err, ErrExists) {
		return nil
	}
	return err
}

func (c *Controller) create(ctx context.Context, kind Kind, name string, meta Metadata, spec any) (Object, error) {
	raw, err := json.Marshal(spec)
	if err != nil {
		return Object{}, err
	}
	meta.Name, meta.Labels, meta.Annotations = name, maps.Clone(meta.Labels), maps.Clone(meta.Annotations)
	o, err := c.deps.ControlPlane.Create(ctx, Object{APIVersion: apiVersion, Kind: kind, Metadata: meta, Spec: raw})
	if err != nil {
		return Object{}, fmt.Errorf("create %s %s: %w", kind, name, err)
	}
	return o, nil
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
		if f.Releases, err = c.readReleases(ctx, component); err != nil {
			return Verdict{}, err
		}
	}
	return lockGate(snapshot{}.candidate(f, target), c.deps.Now()), nil
}
