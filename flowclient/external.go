package flowclient

import (
	"context"
	"encoding/json"
	"fmt"
	"time"
)

// watchingPins is what Sightings remembers since when production bindings are
// watched under: no binding can have such a name.
const watchingPins = "production/*"

// pinned is a release as a production binding named it, with the intent that
// its annotation tells.
type pinned struct{ release, intent string }

// lookAtPin notes, once, a production binding that names a release which the
// controller did not put there: a deployment by hand, or past the pipeline
// (decisions: foreign pins). What was there before the controller ever looked
// is how it found the world. The automatic pass treats it as it stands.
func (c *Controller) lookAtPin(ctx context.Context, b binding, now time.Time) error {
	name, as := b.Metadata.Name, pinned{b.spec.ReleaseName, b.annotation(AnnotationIntent)}
	if c.pins[name] == as || c.deps.History == nil { // without a history nobody knows whose a pin is
		return nil
	}
	watched, err := c.deps.Sightings.Seen(ctx, watchingPins, Production, now)
	if err != nil {
		return err
	}
	since, err := c.deps.Sightings.Seen(ctx, name, as.release, now)
	if err != nil {
		return err
	}
	own, from, err := c.ownPin(ctx, b, as)
	if err != nil {
		return err
	}
	if !own && since.After(watched) && b.changedAfter(watched) {
		if err := c.noteExternal(ctx, b, from, since); err != nil {
			return err
		}
	}
	c.pins[name] = as
	return nil
}

// changedAfter tells whether the binding was written after an instant, as far as it tells.
func (b binding) changedAfter(at time.Time) bool {
	switch {
	case b.status.LastSpecUpdateTime != nil:
		return b.status.LastSpecUpdateTime.After(at)
	case b.Metadata.Created != nil:
		return b.Metadata.Created.After(at)
	}
	return true
}

// ownPin tells whether the release is one that the intent of the binding's
// annotation pinned, else which one that was.
func (c *Controller) ownPin(ctx context.Context, b binding, as pinned) (own bool, from release, err error) {
	if as.intent == "" {
		return false, release{}, nil
	}
	in, err := c.deps.History.Intent(ctx, as.intent)
	if IsNotFound(err) || err == nil && in.Kind != kindPromote && in.Kind != kindRollback {
		return false, release{}, nil
	}
	if err != nil {
		return false, release{}, err
	}
	var plan movePlan
	if err := json.Unmarshal(in.Body, &plan); err != nil {
		return false, release{}, fmt.Errorf("plan of %s: %w", in.ID, err)
	}
	for _, m := range plan.Moves {
		if m.moves() && bindingName(m.Outcome.Component, Production) == b.Metadata.Name {
			return m.Outcome.To == as.release, release{Name: m.Outcome.To, Commit: m.Outcome.ToCommit}, nil
		}
	}
	return false, release{}, nil
}

func (c *Controller) noteExternal(ctx context.Context, b binding, from release, since time.Time) error {
	body := ExternalEvent{Binding: b.Metadata.Name, From: from.Name, FromCommit: from.Commit, To: b.spec.ReleaseName, By: b.annotation(AnnotationPromotedBy), At: since}
	o, err := c.deps.ControlPlane.Get(ctx, KindComponentRelease, body.To)
	if err != nil && !IsNotFound(err) {
		return err
	}
	body.ToCommit = o.Metadata.Labels[LabelCommit]
	walkthrough, err := c.isWalkthrough(ctx, b.spec.Owner.ProjectName)
	if err != nil {
		return err
	}
	e, err := event(fmt.Sprintf("external/%s/%s/%d", body.Binding, body.To, since.UnixNano()), EventExternal,
		Event{At: since, Project: b.spec.Owner.ProjectName, Component: b.spec.Owner.ComponentName, Walkthrough: walkthrough}, body)
	if err != nil {
		return err
	}
	if err := c.deps.Journal.Note(ctx, e); err != nil {
		return err
	}
	c.deps.Noted()
	return nil
}
