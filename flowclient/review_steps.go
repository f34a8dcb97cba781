package flowclient

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"time"
)

// carryOut takes the steps. refused is what the control plane would not do,
// after which the others are left; any other error leaves them to a later pass.
func (c *Controller) carryOut(ctx context.Context, r PullRecord, steps []reviewStep) (refused string, err error) {
	for _, s := range steps {
		switch s.Op {
		case stepCreate:
			err = c.createOrGet(ctx, r, s.Object)
		case stepRetarget:
			err = c.retarget(ctx, s.Object)
		case stepRepoint:
			err = c.repoint(ctx, s.Object.Metadata.Name, s.Release)
		case stepDelete:
			var why []string
			if why, err = c.remove(ctx, objectRef{s.Object.Kind, s.Object.Metadata.Name, s.Object.Metadata.UID}); len(why) > 0 {
				return strings.Join(why, " "), err
			}
		}
		switch {
		case errors.Is(err, ErrConflict):
			return "", nil // it changed since it was read: planned anew
		case err != nil && answered(err):
			return fmt.Sprintf("%s %s: %v", s.Object.Kind, s.Object.Metadata.Name, err), nil
		case err != nil:
			return "", fmt.Errorf("%s %s %s: %w", s.Op, s.Object.Kind, s.Object.Metadata.Name, err)
		}
	}
	return "", nil
}

// answered tells whether an error is a definite no.
func answered(err error) bool {
	var refusal *Refusal
	var invalid *Invalid
	return errors.As(err, &refusal) || errors.As(err, &invalid) || IsNotFound(err)
}

// createOrGet makes an object unless the environment has it already.
func (c *Controller) createOrGet(ctx context.Context, r PullRecord, o Object) error {
	_, err := c.deps.ControlPlane.Create(ctx, o)
	if !errors.Is(err, ErrExists) {
		return err
	}
	there, err := c.deps.ControlPlane.Get(ctx, o.Kind, o.Metadata.Name)
	if IsNotFound(err) {
		return nil // it is just going: planned anew
	}
	if err != nil {
		return err
	}
	shared := o.Kind == KindEnvironment || o.Kind == KindProjectReleaseBinding && there.Metadata.Annotations[AnnotationOwned] == "true"
	if !shared && !r.made(there) {
		return Refuse("exists already and was not made for %s; delete or rename it.", pullName(r.Repo, r.Number))
	}
	return nil
}

// retarget makes a fork one of another head; labels and annotations stay.
func (c *Controller) retarget(ctx context.Context, target Object) error {
	there, err := c.deps.ControlPlane.Get(ctx, KindComponent, target.Metadata.Name)
	if err != nil {
		return err
	}
	there.Kind, there.Spec = KindComponent, target.Spec
	_, err = c.deps.ControlPlane.Update(ctx, there)
	return err
}

// repoint binds another release of the fork.
func (c *Controller) repoint(ctx context.Context, name, release string) error {
	b, err := c.readBinding(ctx, name)
	if err != nil || !b.exists || b.spec.ReleaseName == release {
		return err
	}
	_, err = c.write(ctx, b, change{release: release, state: stateActive})
	return err
}

// sameRecord tells whether two records differ in nothing that is stored.
func sameRecord(a, b PullRecord) bool {
	a.Labels, b.Labels = noneIfEmpty(a.Labels), noneIfEmpty(b.Labels)
	a.Forks, b.Forks = noneIfEmpty(a.Forks), noneIfEmpty(b.Forks)
	for _, at := range []*time.Time{&a.Touched, &b.Touched, &a.Active, &b.Active, &a.AskedAt, &b.AskedAt} {
		*at = at.UTC()
	}
	return reflect.DeepEqual(a, b)
}

func noneIfEmpty[E any](s []E) []E {
	if len(s) == 0 {
		return nil
	}
	return s
}

// notePull takes what a look found into the record: whether the pull request
// is open, its labels by comparison with those known before, and what counts
// as activity. The events are what became of it.
func (f reviewFacts) notePull() (PullRecord, []Event, error) {
	r, p := f.Record, f.Pull
	state := pullOpen
	switch {
	case p.Merged:
		state = pullMerged
	case f.Gone || p.State != PullOpen:
		state = pullClosed
	}
	labels := slices.Sorted(slices.Values(p.Labels))
	if f.Gone {
		labels, p.Head, p.Title = r.Labels, r.Head, r.Title
	}
	if state != r.Pull || p.Head != r.Head || p.Title != r.Title || !slices.Equal(labels, r.Labels) {
		r.Active = later(r.Active, earlier(p.Updated, f.Now))
	}
	r.Active = later(r.Active, r.Touched)
	if slices.Contains(labels, labelPromote) {
		if !slices.Contains(r.Labels, labelPromote) || r.Pull == pullClosed && state == pullOpen {
			r.Asked++
		}
		if r.AskedAt.IsZero() || state != r.Pull || !slices.Contains(r.Labels, labelPromote) {
			r.AskedAt = f.Now
		}
	}
	r.Project = cmp.Or(f.Home, r.Project)
	was, edited := r.Pull, p.Head != r.Head || p.Title != r.Title
	r.Pull, r.Head, r.Title, r.Labels = state, p.Head, p.Title, labels
	switch {
	case was == state && (state != pullOpen || !edited):
		return r, nil, nil
	case was == state:
		r.Edits++
	case state == pullOpen:
		r.Opened++
	}
	if f.Gone || r.Project == "" || was == pullMerged {
		return r, nil, nil
	}
	key, kind := fmt.Sprintf("pull/%d/%s/%d", r.ID, state, r.Opened), pullEvents[state]
	if was == state {
		key, kind = fmt.Sprintf("%s/updated/%d", key, r.Edits), EventPullUpdated
	}
	walkthrough := f.Projects[r.Project].Metadata.Labels[LabelWalkthrough] == "true"
	e, err := event(key, kind, Event{At: f.Now, Project: r.Project, Walkthrough: walkthrough}, PullEvent{Pull: p})
	return r, []Event{e}, err
}

// pullEvents are the kinds of events of a pull request that has come to a state.
var pullEvents = map[string]string{pullOpen: EventPullOpened, pullMerged: EventPullMerged, pullClosed: EventPullClosed}

func later(a, b time.Time) time.Time {
	if b.After(a) {
		return b
	}
	return a
}

// earlier is the earlier instant; one that is not known is not earlier.
func earlier(a, b time.Time) time.Time {
	if a.IsZero() || b.Before(a) {
		return b
	}
	return a
}
