package flowclient

import (
	"context"
	"errors"
	"fmt"
	"hash/maphash"
	"maps"
)

// lookAtAll lists what decisions follow from and makes due what changed since
// it was listed last. When a kind cannot be listed nothing is compared: half a
// listing would make everything look gone.
func (c *Controller) lookAtAll(ctx context.Context) error {
	now := c.deps.Now()
	if _, err := c.deps.Sightings.Seen(ctx, watchingPins, Production, now); err != nil {
		return err
	}
	w := survey{seed: c.seed, projects: map[string]*listed{}, owners: map[dirtyRef]string{}, running: map[string]binding{}}
	var failed []error
	for _, kind := range ofProjects {
		objects, err := c.deps.ControlPlane.List(ctx, kind, Filter{})
		if err != nil {
			c.dirty.add(dirtyRef{kind: KindComponent}) // the next pass lists again
			return errors.Join(append(failed, fmt.Errorf("list %s: %w", kind, err))...)
		}
		for _, o := range objects {
			project := o.Metadata.Name
			if o.Kind = kind; kind != KindProject {
				if project, err = c.lookAt(ctx, o, now); err != nil {
					failed = append(failed, err)
				}
			}
			w.add(o, project)
		}
	}
	if err := c.awaited(ctx, w.projects); err != nil {
		return errors.Join(append(failed, err)...)
	}
	w.compare()
	maps.DeleteFunc(c.pins, func(name string, _ pinned) bool { _, there := w.running[name]; return !there })
	c.table.compare(w.projects, w.owners)
	c.status.Lock()
	c.listedAt = now
	c.status.Unlock()
	return errors.Join(failed...)
}

// awaited marks the projects that something is remembered of which may end,
// and ends it for those that are gone.
func (c *Controller) awaited(ctx context.Context, projects map[string]*listed) error {
	if c.deps.Standings == nil {
		return nil
	}
	episodes, err := c.deps.Standings.Episodes(ctx, "")
	if err != nil {
		return err
	}
	holds, err := c.deps.Standings.Holds(ctx)
	if err != nil {
		return err
	}
	of := map[string]bool{}
	for _, e := range episodes {
		of[e.Project] = true
	}
	for _, h := range holds {
		of[h.Project] = true
	}
	for project := range of {
		if l := projects[project]; l != nil {
			l.awaited = true
		} else {
			err = errors.Join(err, c.forgetProject(ctx, project))
		}
	}
	return err
}

// survey is a listing of everything that decisions follow from.
type survey struct {
	seed     maphash.Seed
	projects map[string]*listed
	owners   map[dirtyRef]string
	running  map[string]binding // of staging and production, by name
}

// add takes an object of a project; one whose project is not there decides nothing.
func (w *survey) add(o Object, project string) {
	if o.Kind == KindProject {
		w.projects[project] = &listed{}
	}
	l := w.projects[project]
	if l == nil {
		return
	}
	l.sum += w.sum(o) // whatever the order
	if o.Kind == KindProject {
		return
	}
	w.owners[dirtyRef{o.Kind, o.Metadata.Name}] = project
	if o.Kind == KindReleaseBinding {
		if b, err := bindingOf(o); err == nil {
			w.running[o.Metadata.Name] = b
		}
	}
}

// sum tells versions of an object apart by what a decision looks at.
func (w *survey) sum(o Object) uint64 {
	var h maphash.Hash
	h.SetSeed(w.seed)
	write := func(parts ...string) {
		for _, p := range parts {
			_, _ = h.WriteString(p) // never fails
			_ = h.WriteByte(0)
		}
	}
	write(string(o.Kind), o.Metadata.Name, string(o.Spec), string(o.Status))
	for _, of := range []map[string]string{o.Metadata.Annotations, o.Metadata.Labels} {
		for _, name := range sortedKeys(of) {
			write(name, of[name])
		}
	}
	return h.Sum64()
}

// compare tells which projects run something else in production than in staging.
func (w *survey) compare() {
	for _, b := range w.running {
		if b.spec.Environment != Staging || b.spec.ReleaseName == "" {
			continue
		}
		f := componentFacts{Staging: b, Production: w.running[bindingName(b.spec.Owner.ComponentName, Production)]}
		if l := w.projects[b.spec.Owner.ProjectName]; l != nil && !f.unchanged() {
			l.differs = true
		}
	}
}
