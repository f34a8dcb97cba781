package flowclient

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"platform.dev/platform/flowclient/window"
)

// snapshot is everything that a decision about a project looks at, read once.
// It is recorded with the decision, so that the decision can be made again.
type snapshot struct {
	Project     Object           `json:"project"`
	Walkthrough bool             `json:"walkthrough,omitempty"`
	Freezes     []Freeze         `json:"freezes,omitempty"`  // those that concern the project and have not ended
	Cell        *Quota           `json:"cell,omitempty"`     // of production; nil: none, or not looked at
	CellNote    string           `json:"cellNote,omitempty"` // why there is none
	Margin      int64            `json:"margin,omitempty"`   // bytes
	Components  []componentFacts `json:"components"`
	DefaultSoak time.Duration    `json:"defaultSoak"`
	Unattended  bool             `json:"unattended,omitempty"` // nothing is promoted automatically here
	Episodes    []Episode        `json:"episodes,omitempty"`   // that lasted before; of an automatic pass alone

	windows *window.Parser // remembers the texts of windows; nil remembers none, and says the same
}

// componentFacts is one component as it stands.
type componentFacts struct {
	Name       string             `json:"name"`
	Staging    binding            `json:"staging"`
	Production binding            `json:"production"`
	Releases   map[string]release `json:"releases,omitempty"`
	Locks      []Lock             `json:"locks,omitempty"`
	Hold       *Hold              `json:"hold,omitempty"`
	Backoff    *time.Time         `json:"backoff,omitempty"`   // until when capacity is not asked again
	Need       need               `json:"need,omitzero"`       // of the cell of production
	Since      time.Time          `json:"since,omitzero"`      // when staging's release was first seen there; zero where no soak is asked for
	Status     int                `json:"status,omitempty"`    // of the URL check, where one is asked for
	Unbound    bool               `json:"unbound,omitempty"`   // the gateway answered it
	CheckFail  string             `json:"checkFail,omitempty"` // why nothing did
	Unasked    bool               `json:"unasked,omitempty"`   // the page was not fetched: another gate keeps the component
	Differs    []string           `json:"differs,omitempty"`   // of what would move: what changed besides the code between what production runs and what it would run

	objects map[string]Object // Releases as they were listed; only while it is decided
}

// snapshot reads a project, or one component of it.
func (c *Controller) snapshot(ctx context.Context, project, component string) (snapshot, error) {
	return c.snapshotWith(ctx, project, component, c.recollect)
}

// snapshotWith is snapshot for whoever has a recollection, or shares one.
func (c *Controller) snapshotWith(ctx context.Context, project, component string, recollect func(context.Context) (*recollection, error)) (snapshot, error) {
	o, err := c.deps.ControlPlane.Get(ctx, KindProject, project)
	if err != nil {
		return snapshot{}, err
	}
	s := snapshot{windows: &c.windows, Project: o, Walkthrough: o.Metadata.Labels[LabelWalkthrough] == "true", DefaultSoak: c.deps.Settings.DefaultSoak, Margin: c.deps.Settings.CapacityMargin,
		Unattended: c.deps.Standings == nil}
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
	for _, name := range names {
		f, err := c.componentFacts(ctx, name)
		if err != nil {
			return snapshot{}, err
		}
		s.Components = append(s.Components, f)
	}
	remembered, err := recollect(ctx)
	if err != nil {
		return snapshot{}, err
	}
	remembered.addTo(&s, c.deps.Now())
	return s, nil
}

// componentFacts reads one component.
func (c *Controller) componentFacts(ctx context.Context, name string) (f componentFacts, err error) {
	f.Name = name
	if f.Staging, err = c.readBinding(ctx, bindingName(name, Staging)); err != nil {
		return f, err
	}
	if f.Production, err = c.readBinding(ctx, bindingName(name, Production)); err != nil {
		return f, err
	}
	f.Releases, f.objects, err = c.readReleases(ctx, name)
	return f, err
}

// keepRelevant keeps the releases that a decision can speak of: those that run,
// the one displaced, and those of a commit that is locked. A component may have
// thousands, and they are recorded with every decision.
func (f *componentFacts) keepRelevant() {
	kept, objects := map[string]release{}, map[string]Object{}
	for name, r := range f.Releases {
		wanted := slices.ContainsFunc(f.Locks, func(l Lock) bool { return l.Commit == r.Commit })
		switch name {
		case f.Staging.spec.ReleaseName, f.Production.spec.ReleaseName, f.Production.annotation(AnnotationDisplaced):
			wanted = true
		}
		if wanted {
			kept[name], objects[name] = r, f.objects[name]
		}
	}
	f.Releases, f.objects = kept, objects
}

// release is a release as it was listed with the component; one that was not,
// since it says that it is another's, is read. *NotFound.
func (c *Controller) release(ctx context.Context, f *componentFacts, name string) (Object, error) {
	if o, listed := f.objects[name]; listed {
		return o, nil
	}
	return c.deps.ControlPlane.Get(ctx, KindComponentRelease, name)
}

// observe adds what a promotion alone looks at: since when staging has run its
// release, what the target cell has left, and what the staging page answers.
// Only what would move is looked at; sparing fetches a page only when no other
// gate of the automatic pass keeps the component.
func (c *Controller) observe(ctx context.Context, s *snapshot, sparing bool) error {
	soaks := s.DefaultSoak > 0 || s.annotation(AnnotationSoak) != ""
	moves := false
	for i := range s.Components {
		f := &s.Components[i]
		if f.Staging.spec.ReleaseName == "" || f.unchanged() {
			continue
		}
		moves = true
		if soaks {
			var err error
			if f.Since, err = c.deps.Sightings.Seen(ctx, f.Staging.Metadata.Name, f.Staging.spec.ReleaseName, c.deps.Now()); err != nil {
				return err
			}
		}
		if err := c.measure(ctx, f); err != nil {
			return err
		}
	}
	if !moves {
		return nil
	}
	var err error
	if s.Cell, s.CellNote, err = c.cell(ctx, s.Project); err != nil {
		return err
	}
	c.fetchPages(ctx, s, sparing)
	return nil
}

// measure adds what the component would ask of the cell.
func (c *Controller) measure(ctx context.Context, f *componentFacts) error {
	o, err := c.release(ctx, f, f.Staging.spec.ReleaseName)
	if IsNotFound(err) {
		return nil // the decision says so
	}
	if err == nil {
		f.Need, err = c.need(ctx, o, f)
	}
	return err
}

// fetchPages asks the staging pages, where the project wants that.
func (c *Controller) fetchPages(ctx context.Context, s *snapshot, sparing bool) {
	if s.annotation(AnnotationPromotionCheck) != checkHTTP {
		return
	}
	for i := range s.Components {
		f := &s.Components[i]
		url := f.Staging.url()
		if f.Staging.spec.ReleaseName == "" || f.unchanged() || url == "" {
			continue
		}
		if f.Unasked = sparing; sparing {
			candidates := []candidate{s.candidate(*f, f.Staging.spec.ReleaseName)}
			if j := judge(s.question(), candidates, automatically, Promotion{}, c.deps.Now()); len(j.Eligible) == 0 {
				continue
			}
			f.Unasked = false
		}
		var err error
		if f.Status, f.Unbound, err = c.deps.Prober.Probe(ctx, url); err != nil {
			f.Status, f.CheckFail = 0, clip(strings.ToValidUTF8(err.Error(), "?")) // recorded as text
		}
	}
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
