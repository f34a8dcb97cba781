package flowclient

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"platform.dev/platform/flowclient/window"
)

// maxDirty is how many changed objects are remembered one by one; beyond it the
// next pass looks at everything.
const maxDirty = 10_000

// listEvery is how often everything is listed of a control plane that tells of
// each write: a write that it told nobody about, or that was told while nobody
// listened, is found within that time.
const listEvery = 10 * time.Minute

// overduePasses is how many pass intervals may go by without a pass being
// completed before the controller says that it does not work.
const overduePasses = 3

// ofProjects are the kinds that a decision about a project follows from; the
// project itself comes first.
var ofProjects = []Kind{KindProject, KindComponent, KindReleaseBinding, KindProjectReleaseBinding, KindResource}

// dirtySet is the objects that changed since the last pass. The zero value is empty.
type dirtySet struct {
	mu   sync.Mutex
	refs map[dirtyRef]struct{}
	all  map[Kind]bool // any object of the kind
}

type dirtyRef struct {
	kind Kind
	name string
}

func (d *dirtySet) add(ref dirtyRef) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.refs == nil {
		d.refs, d.all = map[dirtyRef]struct{}{}, map[Kind]bool{}
	}
	if ref.name == "" {
		d.all[ref.kind] = true
		return
	}
	if d.refs[ref] = struct{}{}; len(d.refs) > maxDirty {
		d.refs = map[dirtyRef]struct{}{}
		for _, kind := range append(slices.Clone(ofProjects), KindWorkflowRun) {
			d.all[kind] = true
		}
	}
}

// take empties the set.
func (d *dirtySet) take() (refs map[dirtyRef]struct{}, all map[Kind]bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	refs, all = d.refs, d.all
	d.refs, d.all = nil, nil
	return refs, all
}

// Changed tells that an object was written; the controller looks at it at once,
// and decides anew about the project that it is of. An empty name means any of
// the kind: of Project that something changed for all of them. It never blocks
// and may be called from anywhere, also before Run.
func (c *Controller) Changed(kind Kind, name string) {
	c.changes.Add(1)
	if kind == KindComponent || kind == KindProject || kind == KindEnvironment || ofReview.MatchString(name) {
		c.around.Store(true)
	}
	if kind == KindComponent || ofReview.MatchString(name) { // a component may take part in reviews no longer
		c.reviews.Store(true)
		c.wakeUp()
	}
	if kind != KindWorkflowRun && !slices.Contains(ofProjects, kind) {
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

// scope is what a pass lists, besides what changed and what is due.
type scope struct {
	objects bool // of the control plane, for the automatic pass
	pulls   bool // everything that pull requests and their review environments follow from
	opened  bool // the open pull requests; the rest of it only if it changed
}

// Run passes over everything at once, then over what changed when it does and
// over what a window, a soak or a backoff keeps at the instant at which that
// ends, and every Settings.PassEvery besides, until ctx ends; then it returns nil.
func (c *Controller) Run(ctx context.Context) error {
	ticker := time.NewTicker(c.deps.Settings.PassEvery)
	defer ticker.Stop()
	due := time.NewTimer(c.deps.Settings.PassEvery)
	defer due.Stop()
	c.status.Lock()
	c.started = c.deps.Now()
	c.status.Unlock()
	full := scope{objects: true, pulls: true, opened: true}
	for {
		c.passOnce(ctx, full)
		due.Stop()
		if at, ok := c.table.next(); ok {
			due.Reset(at.Sub(c.deps.Now()))
		}
		select {
		case <-ctx.Done():
			return nil
		case <-ticker.C:
			everything := !c.deps.Settings.Watched || c.listingDue()
			full = scope{objects: everything, pulls: everything, opened: true}
		case <-due.C:
			full = scope{}
		case <-c.wake:
			full = scope{}
		}
	}
}

// listingDue tells whether everything is to be listed again.
func (c *Controller) listingDue() bool {
	c.status.Lock()
	defer c.status.Unlock()
	return c.deps.Now().Sub(c.listedAt) >= listEvery
}

// passOnce passes and keeps how it went for State and Health.
func (c *Controller) passOnce(ctx context.Context, full scope) {
	began := c.deps.Now()
	c.status.Lock()
	c.passing = &began
	c.status.Unlock()
	err := c.passOver(ctx, full)
	if ctx.Err() != nil {
		return // stopping; whatever is left open is finished at the next start
	}
	now := c.deps.Now()
	c.status.Lock()
	c.lastPass, c.passing, c.passFailed = &now, nil, ""
	if err != nil {
		c.passFailed = err.Error()
	}
	c.status.Unlock()
	if err != nil {
		c.deps.Log.WarnContext(ctx, "pass", "objects", full.objects, "err", err)
	}
}

// Health is nil while the controller passes as it should, else an error whose
// text is a sentence: since when no pass was completed. Before Run it is nil.
func (c *Controller) Health(now time.Time) error {
	c.status.Lock()
	defer c.status.Unlock()
	last := c.started
	if c.lastPass != nil && c.lastPass.After(last) {
		last = *c.lastPass
	}
	patience := overduePasses * c.deps.Settings.PassEvery
	if c.started.IsZero() || now.Sub(last) <= patience {
		return nil
	}
	since := func(at time.Time) string {
		return fmt.Sprintf("%s, %s ago", at.UTC().Format("Mon 2 Jan 15:04:05 MST"), window.Span(now.Sub(at)))
	}
	if c.passing != nil {
		return fmt.Errorf("the automatic pass is overdue: the one that began on %s has not ended; look at what it waits for in the log, and restart the controller if it stays so", since(*c.passing))
	}
	return fmt.Errorf("the automatic pass is overdue: none was completed since %s; look at the log, and restart the controller if it stays so", since(last))
}

// Pass is one pass: it finishes what a crash or a failure left open, notices
// builds, remembers since when releases run, and decides about every project
// that changed or is due. A full pass lists everything to see what changed,
// another takes what Changed named. What cannot be read or decided does not hold
// up the rest.
func (c *Controller) Pass(ctx context.Context, full bool) error {
	return c.passOver(ctx, scope{objects: full, pulls: full, opened: full})
}

func (c *Controller) passOver(ctx context.Context, full scope) error {
	c.pass.Lock()
	defer c.pass.Unlock()
	refs, all := c.dirty.take()
	failed := []error{c.resolveAll(ctx), c.recall(ctx), c.passPulls(ctx, full)}
	if full.objects || all[KindWorkflowRun] {
		failed = append(failed, c.lookAtRuns(ctx))
	}
	if all[KindProject] {
		c.table.touch("") // what holds for all of them changed: a freeze, say
	}
	failed = append(failed, c.lookAtChanged(ctx, refs))
	listed := full.objects || slices.ContainsFunc(ofProjects[1:], func(k Kind) bool { return all[k] })
	if listed {
		err := c.lookAtAll(ctx)
		failed, listed = append(failed, err), err == nil
	}
	failed = append(failed, c.decideDue(ctx, listed))
	return errors.Join(failed...)
}

// lookAtChanged looks at objects that were named.
func (c *Controller) lookAtChanged(ctx context.Context, refs map[dirtyRef]struct{}) error {
	var failed []error
	now := c.deps.Now()
	for ref := range refs {
		if ref.kind == KindProject {
			c.table.touch(ref.name)
			continue
		}
		o, err := c.deps.ControlPlane.Get(ctx, ref.kind, ref.name)
		if IsNotFound(err) {
			if project, known := c.table.gone(ref); known {
				c.table.touch(project)
			}
			continue
		}
		if err != nil {
			c.dirty.add(ref) // what is known of it is that it changed: the next pass looks again
			failed = append(failed, fmt.Errorf("read %s %s: %w", ref.kind, ref.name, err))
			continue
		}
		if ref.kind == KindWorkflowRun {
			failed = append(failed, c.notice(ctx, o))
			continue
		}
		project, err := c.lookAt(ctx, o, now)
		if project != "" {
			c.table.owned(ref, project)
			c.table.touch(project)
		}
		failed = append(failed, err)
	}
	return errors.Join(failed...)
}

// lookAt is what follows from an object by itself, and the project that a
// decision follows for; "" for none.
func (c *Controller) lookAt(ctx context.Context, o Object, now time.Time) (project string, err error) {
	if o.Metadata.Annotations[AnnotationOwned] == "true" {
		return "", nil // of a review environment
	}
	if o.Kind == KindReleaseBinding {
		b, err := bindingOf(o)
		if err != nil || b.spec.Environment != Staging && b.spec.Environment != Production {
			return "", err
		}
		return b.spec.Owner.ProjectName, c.lookAtBinding(ctx, b, now)
	}
	var spec struct {
		Owner Owner `json:"owner"`
	}
	err = o.Decode(&spec, nil)
	return spec.Owner.ProjectName, err
}

// lookAtBinding remembers since when the binding runs its release.
func (c *Controller) lookAtBinding(ctx context.Context, b binding, now time.Time) error {
	switch name, release := b.Metadata.Name, b.spec.ReleaseName; {
	case release == "":
		return nil
	case b.spec.Environment == Production:
		return c.lookAtPin(ctx, b, now)
	case c.pins[name] == pinned{release: release}:
		return nil // the one that was seen last
	default:
		_, err := c.deps.Sightings.Seen(ctx, name, release, now)
		if err == nil {
			c.pins[name] = pinned{release: release}
		}
		return err
	}
}

func (c *Controller) lookAtRuns(ctx context.Context) error {
	runs, err := c.deps.ControlPlane.List(ctx, KindWorkflowRun, Filter{})
	if err != nil {
		c.dirty.add(dirtyRef{kind: KindWorkflowRun})
		return fmt.Errorf("list %s: %w", KindWorkflowRun, err)
	}
	var failed []error
	for _, o := range runs {
		failed = append(failed, c.notice(ctx, o))
	}
	c.forget(runs)
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
