package flowclient

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"
)

// maxDirty is how many changed objects are remembered one by one; beyond it the
// next pass looks at everything.
const maxDirty = 10_000

// dirtySet is the objects that changed since the last pass. The zero value is empty.
type dirtySet struct {
	mu   sync.Mutex
	refs map[dirtyRef]struct{}
	all  bool
}

type dirtyRef struct {
	kind Kind
	name string
}

func (d *dirtySet) add(ref dirtyRef) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.refs == nil {
		d.refs = map[dirtyRef]struct{}{}
	}
	if ref.name == "" {
		d.all, d.refs = true, nil
		return
	}
	if d.refs[ref] = struct{}{}; len(d.refs) > maxDirty {
		d.all, d.refs = true, nil
	}
}

// take empties the set.
func (d *dirtySet) take() (refs map[dirtyRef]struct{}, all bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	refs, all = d.refs, d.all
	d.refs, d.all = nil, false
	return refs, all
}

// Changed tells that an object was written; the controller looks at it at once.
// An empty name means any of the kind. It never blocks and may be called from
// anywhere, also before Run.
func (c *Controller) Changed(kind Kind, name string) {
	if kind == KindComponent || ofReview.MatchString(name) { // a component may take part in reviews no longer
		c.reviews.Store(true)
		c.wakeUp()
	}
	if kind != KindWorkflowRun && kind != KindReleaseBinding {
		return
	}
	c.dirty.add(dirtyRef{kind, name})
	c.wakeUp()
}

// wakeUp asks for a pass over what changed.
func (c *Controller) wakeUp() {
	select {
	case c.wake <- struct{}{}:
	default: // one is asked for already
	}
}

// Run passes over everything at once and then every Settings.PassEvery, and in
// between over what Changed named, until ctx ends; then it returns nil.
func (c *Controller) Run(ctx context.Context) error {
	ticker := time.NewTicker(c.deps.Settings.PassEvery)
	defer ticker.Stop()
	full := true
	for {
		c.passOnce(ctx, full)
		select {
		case <-ctx.Done():
			return nil
		case <-ticker.C:
			full = true
		case <-c.wake:
			full = false
		}
	}
}

// passOnce passes and keeps how it went for State.
func (c *Controller) passOnce(ctx context.Context, full bool) {
	err := c.Pass(ctx, full)
	if ctx.Err() != nil {
		return // stopping; whatever is left open is finished at the next start
	}
	now := c.deps.Now()
	c.status.Lock()
	c.lastPass, c.passFailed = &now, ""
	if err != nil {
		c.passFailed = err.Error()
	}
	c.status.Unlock()
	if err != nil {
		c.deps.Log.WarnContext(ctx, "pass", "full", full, "err", err)
	}
}

// Pass is one pass: it finishes what a crash or a failure left open, notices
// builds and remembers since when staging runs its releases. A full pass looks
// at every run and binding, another at those that Changed named. What cannot
// be read does not hold up the rest.
func (c *Controller) Pass(ctx context.Context, full bool) error {
	c.pass.Lock()
	defer c.pass.Unlock()
	refs, all := c.dirty.take()
	failed := []error{c.resolveAll(ctx), c.recall(ctx), c.passPulls(ctx, full)}
	if full || all {
		failed = append(failed, c.lookAtAll(ctx))
		return errors.Join(failed...)
	}
	for ref := range refs {
		o, err := c.deps.ControlPlane.Get(ctx, ref.kind, ref.name)
		if IsNotFound(err) {
			continue
		}
		if err != nil {
			failed = append(failed, fmt.Errorf("read %s %s: %w", ref.kind, ref.name, err))
			continue
		}
		failed = append(failed, c.lookAt(ctx, ref.kind, o))
	}
	return errors.Join(failed...)
}

func (c *Controller) lookAtAll(ctx context.Context) error {
	var failed []error
	for _, kind := range []Kind{KindWorkflowRun, KindReleaseBinding} {
		objects, err := c.deps.ControlPlane.List(ctx, kind, Filter{})
		if err != nil {
			failed = append(failed, fmt.Errorf("list %s: %w", kind, err))
			continue
		}
		for _, o := range objects {
			failed = append(failed, c.lookAt(ctx, kind, o))
		}
		if kind == KindWorkflowRun {
			c.forget(objects)
		}
	}
	return errors.Join(failed...)
}

// forget drops what is kept of runs that are gone.
func (c *Controller) forget(there []Object) {
	known := make(map[string]string, len(there))
	for _, o := range there {
		if phase, ok := c.noticed[o.Metadata.Name]; ok {
			known[o.Metadata.Name] = phase
		}
	}
	c.noticed = known
}

func (c *Controller) lookAt(ctx context.Context, kind Kind, o Object) error {
	switch kind {
	case KindWorkflowRun:
		return c.notice(ctx, o)
	case KindReleaseBinding:
		b, err := bindingOf(o)
		if err != nil || b.spec.Environment != Staging || b.spec.ReleaseName == "" {
			return err
		}
		_, err = c.deps.Sightings.Seen(ctx, o.Metadata.Name, b.spec.ReleaseName, c.deps.Now())
		return err
	}
	return nil
}
