package flowclient

import (
	"context"
	"fmt"
	"slices"
	"strings"
)

// pullWorld is what the looks of one pass share.
type pullWorld struct {
	components []Object
	projects   map[string]Object
	staging    Object
	sources    map[string][]source // the components of a repository that may be forked, by name
}

// readPullWorld reads it whole; an error leaves every pull request for the next pass.
func (c *Controller) readPullWorld(ctx context.Context) (pullWorld, error) {
	w := pullWorld{projects: map[string]Object{}, sources: map[string][]source{}}
	projects, err := c.deps.ControlPlane.List(ctx, KindProject, Filter{})
	if err != nil {
		return w, fmt.Errorf("list projects: %w", err)
	}
	for _, o := range projects {
		w.projects[o.Metadata.Name] = o
	}
	if w.components, err = c.deps.ControlPlane.List(ctx, KindComponent, Filter{}); err != nil {
		return w, fmt.Errorf("list components: %w", err)
	}
	if w.staging, err = c.deps.ControlPlane.Get(ctx, KindEnvironment, Staging); err != nil && !IsNotFound(err) {
		return w, fmt.Errorf("read environment %s: %w", Staging, err)
	}
	slices.SortFunc(w.components, func(a, b Object) int { return strings.Compare(a.Metadata.Name, b.Metadata.Name) })
	for _, o := range w.components {
		var spec ComponentSpec
		if err := o.Decode(&spec, nil); err != nil {
			return w, err
		}
		repo, err := repositoryOf(o)
		a := o.Metadata.Annotations
		if err != nil || a[AnnotationOwned] == "true" || a[AnnotationSkip] == "true" || o.Metadata.Deleted != nil {
			continue // not built from a repository, a copy itself, left out, or going
		}
		w.sources[repo] = append(w.sources[repo], source{Object: o, Project: spec.Owner.ProjectName})
	}
	return w, nil
}

// builtFrom tells whether any component is built from the repository, forked
// or not, and of which project the first is.
func (w pullWorld) builtFrom(repo string) (project string, built bool) {
	for _, o := range w.components {
		from, err := repositoryOf(o)
		if err != nil || from != repo || o.Metadata.Annotations[AnnotationOwned] == "true" {
			continue
		}
		var spec ComponentSpec
		if o.Decode(&spec, nil) == nil {
			return spec.Owner.ProjectName, true
		}
	}
	return "", false
}

// reviewFacts reads what the plan of a record looks at; an error means that nothing may follow.
func (c *Controller) reviewFacts(ctx context.Context, w pullWorld, r PullRecord, pull Pull, gone bool) (reviewFacts, error) {
	f := reviewFacts{Pull: pull, Gone: gone, Record: r, Sources: w.sources[r.Repo], Projects: w.projects, Staging: w.staging,
		Cap: c.deps.Settings.MaxReviews, TTL: c.deps.Settings.ReviewTTL, Now: c.deps.Now(), Page: c.deps.Settings.BuildPage}
	f.Home, _ = w.builtFrom(r.Repo)
	others, err := c.deps.Reviews.BusyPulls(ctx)
	if err != nil {
		return f, err
	}
	for _, o := range others {
		f.NextLine = max(f.NextLine, o.Line+1)
		switch {
		case o.ID == r.ID:
		case o.takesPlace():
			f.Taken++
		case o.State == ReviewQueued && (r.Line == 0 || o.Line < r.Line):
			f.Ahead++
		}
	}
	f.There, err = c.reviewObjects(ctx, w, f)
	return f, err
}

// reviewObjects reads what there is of a review environment. One that was
// never begun is looked for only by the components that say they are of it.
func (c *Controller) reviewObjects(ctx context.Context, w pullWorld, f reviewFacts) (reviewObjects, error) {
	there := reviewObjects{Cells: map[string]Object{}, Lent: map[string]bool{}, Forks: map[string]forkObjects{}}
	forks := map[string]Fork{}
	for _, k := range f.Record.Forks {
		forks[k.Name] = k
	}
	for _, o := range w.components {
		if f.Record.made(o) {
			forks[o.Metadata.Name] = Fork{Name: o.Metadata.Name, Of: o.Metadata.Labels[LabelForkOf], Project: o.Metadata.Labels[LabelProject]}
		}
	}
	if f.Record.takesPlace() {
		for _, s := range f.Sources {
			k := forkOf(s.Object, s.Project, f.Record.Number)
			forks[k.Name] = k
		}
	}
	if len(forks) == 0 {
		return there, nil
	}
	bindings, err := c.readBound(ctx, &there, f.Record, forks)
	if err != nil {
		return there, err
	}
	for name := range forks {
		objects, foreign, err := c.forkObjects(ctx, f, name)
		if err != nil {
			return there, err
		}
		if !foreign {
			objects.Bindings = bindings[name]
			there.Forks[name] = objects
		}
	}
	return there, nil
}

// readBound reads the environment, the cells in it, and what is bound of the forks, by fork.
func (c *Controller) readBound(ctx context.Context, there *reviewObjects, r PullRecord, forks map[string]Fork) (map[string][]Object, error) {
	environment := reviewEnvironment(r.Number)
	bindings := map[string][]Object{}
	projects := map[string]bool{}
	for _, k := range forks {
		projects[k.Project] = true
	}
	for _, kind := range []Kind{KindReleaseBinding, KindProjectReleaseBinding} {
		objects, err := c.deps.ControlPlane.List(ctx, kind, Filter{})
		if err != nil {
			return nil, fmt.Errorf("list %s: %w", kind, err)
		}
		for _, o := range objects {
			var spec ReleaseBindingSpec
			if err := o.Decode(&spec, nil); err != nil {
				return nil, err
			}
			_, ours := forks[spec.Owner.ComponentName]
			o.Kind = kind
			switch {
			case kind == KindReleaseBinding && ours:
				bindings[spec.Owner.ComponentName] = append(bindings[spec.Owner.ComponentName], o)
			case spec.Environment != environment:
			case kind == KindProjectReleaseBinding && projects[spec.Owner.ProjectName] && o.Metadata.Annotations[AnnotationOwned] == "true":
				there.Cells[spec.Owner.ProjectName] = o
			default:
				there.Shared = true
				if kind == KindReleaseBinding {
					there.Lent[spec.Owner.ProjectName] = true
				}
			}
		}
	}
	o, err := c.deps.ControlPlane.Get(ctx, KindEnvironment, environment)
	if IsNotFound(err) {
		return bindings, nil
	}
	there.Environment = &o
	o.Kind = KindEnvironment
	return bindings, wrap(err, "read environment %s", environment)
}

// forkObjects reads what there is of one fork beside its bindings; foreign
// tells that the name is somebody else's component.
func (c *Controller) forkObjects(ctx context.Context, f reviewFacts, name string) (there forkObjects, foreign bool, err error) {
	for _, one := range []struct {
		kind Kind
		into **Object
	}{{KindComponent, &there.Component}, {KindWorkload, &there.Workload}} {
		o, err := c.deps.ControlPlane.Get(ctx, one.kind, name)
		if IsNotFound(err) {
			continue
		}
		if err != nil {
			return there, false, fmt.Errorf("read %s %s: %w", one.kind, name, err)
		}
		if o.Kind = one.kind; one.kind == KindComponent && !f.Record.made(o) {
			return forkObjects{}, true, nil
		}
		*one.into = &o
	}
	for _, some := range []struct {
		kind Kind
		into *[]Object
	}{{KindWorkflowRun, &there.Runs}, {KindComponentRelease, &there.Releases}} {
		objects, err := c.deps.ControlPlane.List(ctx, some.kind, Filter{Component: name})
		if err != nil {
			return there, false, fmt.Errorf("list %s of %s: %w", some.kind, name, err)
		}
		for _, o := range objects {
			if o.Kind = some.kind; ownedBy(o, name) {
				*some.into = append(*some.into, o)
			}
		}
	}
	there.Lines, err = c.failedLines(ctx, f, there, name)
	return there, false, err
}

// made tells whether an object was made for the pull request's environment.
func (r PullRecord) made(o Object) bool {
	return o.Metadata.Annotations[AnnotationOwned] == "true" && o.Metadata.Annotations[AnnotationPull] == pullName(r.Repo, r.Number)
}

// ownedBy tells whether a run or a release is the component's: servers may ignore filters.
func ownedBy(o Object, component string) bool {
	if o.Kind == KindWorkflowRun {
		return o.Metadata.Labels[LabelComponent] == component
	}
	r, err := releaseOf(o)
	return err == nil && r.Of == component
}

// failedLines is the end of the failed stage's log when the build of the head
// failed. A log that cannot be read yet is waited for, as long as announcements wait.
func (c *Controller) failedLines(ctx context.Context, f reviewFacts, there forkObjects, name string) ([]string, error) {
	for _, o := range there.Runs {
		if o.Metadata.Name != forkRun(name, f.Pull.Head) {
			continue
		}
		b, err := readBuild(o)
		if err != nil || b.Phase != BuildFailed {
			return nil, err
		}
		lines, err := c.BuildLog(ctx, b.Run, b.FailedStage, lastLines)
		if err != nil && f.Now.Sub(c.instant(b.CompletedAt)) < logPatience {
			return nil, fmt.Errorf("log of %s: %w", b.Run, err)
		}
		return lines, nil
	}
	return nil, nil
}
