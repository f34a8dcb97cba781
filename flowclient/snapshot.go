package flowclient

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"
)

// snapshot is everything that a decision about a project looks at, read once.
type snapshot struct {
	Project     Object
	Walkthrough bool
	Resources   int // backing services of the project
	Components  []componentFacts
	DefaultSoak time.Duration
}

// componentFacts is one component as it stands.
type componentFacts struct {
	Name       string
	Staging    binding
	Production binding
	Releases   map[string]release
	Locks      []Lock
	Since      time.Time // when staging's release was first seen there; zero where no soak is asked for
	Status     int       // of the URL check, where one is asked for
	Unbound    bool
	CheckFail  string
}

// snapshot reads a project, or one component of it.
func (c *Controller) snapshot(ctx context.Context, project, component string) (snapshot, error) {
	o, err := c.deps.ControlPlane.Get(ctx, KindProject, project)
	if err != nil {
		return snapshot{}, err
	}
	s := snapshot{Project: o, Walkthrough: o.Metadata.Labels[LabelWalkthrough] == "true", DefaultSoak: c.deps.Settings.DefaultSoak}
	names, err := c.components(ctx, project)
	if err != nil {
		return snapshot{}, err
	}
	if component != "" {
		if !slices.Contains(names, component) {
			return snapshot{}, &NotFound{Kind: "component", Name: project + "/" + component}
		}
		names = []string{component}
	}
	if len(names) == 0 {
		return snapshot{}, Refuse("%s has no components; there is nothing to move.", project)
	}
	resources, err := c.deps.ControlPlane.List(ctx, KindResource, Filter{Project: project})
	if err != nil {
		return snapshot{}, fmt.Errorf("resources of %s: %w", project, err)
	}
	s.Resources = len(resources)
	locks, err := c.deps.Locks.Locks(ctx)
	if err != nil {
		return snapshot{}, err
	}
	for _, name := range names {
		facts := componentFacts{Name: name}
		for _, l := range locks {
			if l.Component == name {
				facts.Locks = append(facts.Locks, l)
			}
		}
		if facts.Staging, err = c.readBinding(ctx, bindingName(name, Staging)); err != nil {
			return snapshot{}, err
		}
		if facts.Production, err = c.readBinding(ctx, bindingName(name, Production)); err != nil {
			return snapshot{}, err
		}
		if facts.Releases, err = c.readReleases(ctx, name); err != nil {
			return snapshot{}, err
		}
		s.Components = append(s.Components, facts)
	}
	return s, nil
}

// observe adds what a promotion alone looks at: since when staging has run its
// release, and what its page answers. Only what would move is looked at.
func (c *Controller) observe(ctx context.Context, s *snapshot) error {
	soaks := s.DefaultSoak > 0 || s.Project.Metadata.Annotations[AnnotationSoak] != ""
	checks := s.Project.Metadata.Annotations[AnnotationPromotionCheck] == checkHTTP
	for i := range s.Components {
		f := &s.Components[i]
		if f.Staging.spec.ReleaseName == "" || f.unchanged() {
			continue
		}
		if soaks {
			var err error
			if f.Since, err = c.deps.Sightings.Seen(ctx, f.Staging.Metadata.Name, f.Staging.spec.ReleaseName, c.deps.Now()); err != nil {
				return err
			}
		}
		if url := f.Staging.url(); checks && url != "" {
			var err error
			if f.Status, f.Unbound, err = c.deps.Prober.Probe(ctx, url); err != nil {
				f.Status, f.CheckFail = 0, clip(err.Error())
			}
		}
	}
	return nil
}

// components lists the names of a project's components, sorted. Copies made for
// review environments are not of the pipeline.
func (c *Controller) components(ctx context.Context, project string) ([]string, error) {
	objects, err := c.deps.ControlPlane.List(ctx, KindComponent, Filter{Project: project})
	if err != nil {
		return nil, fmt.Errorf("components of %s: %w", project, err)
	}
	var names []string
	for _, o := range objects {
		var spec ComponentSpec
		if err := o.Decode(&spec, nil); err != nil {
			return nil, err
		}
		if spec.Owner.ProjectName == project && o.Metadata.Annotations[AnnotationOwned] != "true" {
			names = append(names, o.Metadata.Name)
		}
	}
	slices.Sort(names)
	return names, nil
}

// unchanged tells whether production has what staging runs, in service.
func (f componentFacts) unchanged() bool {
	return f.Production.spec.ReleaseName == f.Staging.spec.ReleaseName && !f.undeployed()
}

// undeployed tells whether production is out of service.
func (f componentFacts) undeployed() bool {
	return f.Production.exists && f.Production.spec.State == stateUndeploy
}

// The values of ReleaseBinding spec.state.
const (
	stateActive   = "Active"
	stateUndeploy = "Undeploy"
)

// candidate puts the facts of a component on its way to target before the gates.
func (s snapshot) candidate(f componentFacts, target string) candidate {
	annotations := s.Project.Metadata.Annotations
	c := candidate{
		Project: s.Project.Metadata.Name, Component: f.Name, Environment: Production,
		Target: release{Name: target, Of: f.Name}, Locks: f.Locks,
		Window: annotations[AnnotationProductionWindow], Soak: annotations[AnnotationSoak], Default: s.DefaultSoak,
		Check: annotations[AnnotationPromotionCheck], Since: f.Since,
		URL: f.Staging.url(), Status: f.Status, Unbound: f.Unbound, CheckFail: f.CheckFail,
	}
	c.Ready, c.Reason, c.Message = f.Staging.ready()
	for _, r := range f.Releases {
		c.Releases = append(c.Releases, r)
	}
	slices.SortFunc(c.Releases, func(a, b release) int { return strings.Compare(a.Name, b.Name) })
	if r, ok := f.Releases[target]; ok {
		c.Target = r
	}
	return c
}
