package flowclient

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"
)

// departures are where this controller does other than the interface document
// says: told in /state, so that nobody waits for what will not happen.
func (c *Controller) departures() []string {
	notes := []string{
		"What was rolled back is held: it is not moved forward again by itself until staging runs another release or a person promotes it.",
		"A component whose production is out of service is not put back by itself; a person's promotion does that.",
	}
	if c.deps.Standings == nil {
		notes = []string{"Releases move to production when somebody promotes them: this controller was given no memory for an automatic pass."}
	}
	if c.deps.Cells == nil {
		notes = append(notes, "The target cell's capacity is not checked before a promotion: no data plane is configured that tells of quotas.")
	}
	return notes
}

// State is the controller's own state: projects with what governs their
// promotion and how they stand, effects under way, and the last pass.
func (c *Controller) State(ctx context.Context) (State, error) {
	projects, err := c.deps.ControlPlane.List(ctx, KindProject, Filter{})
	if err != nil {
		return State{}, fmt.Errorf("state: %w", err)
	}
	open, err := c.deps.Journal.Open(ctx)
	if err != nil {
		return State{}, err
	}
	freezes, err := c.Freezes(ctx)
	if err != nil {
		return State{}, err
	}
	now := c.deps.Now()
	s := c.passState(now)
	s.Projects, s.OpenIntents, s.Notes = make([]ProjectState, 0, len(projects)), len(open), c.departures()
	for _, o := range projects {
		p, err := c.projectState(ctx, o, freezes, now)
		if err != nil {
			return State{}, err
		}
		s.Projects = append(s.Projects, p)
	}
	slices.SortFunc(s.Projects, func(a, b ProjectState) int { return strings.Compare(a.Project, b.Project) })
	return s, nil
}

// passState is how the passes go.
func (c *Controller) passState(now time.Time) (s State) {
	if err := c.Health(now); err != nil {
		s.Overdue, s.Health = true, err.Error()
	}
	c.status.Lock()
	defer c.status.Unlock()
	s.LastPass, s.PassError = c.lastPass, c.passFailed
	return s
}

// projectState is a project as its object says and as it stood when it was
// looked at last, judged as of now.
func (c *Controller) projectState(ctx context.Context, o Object, freezes []Freeze, now time.Time) (ProjectState, error) {
	a := o.Metadata.Annotations
	p := ProjectState{
		Project: o.Metadata.Name, Promotion: snapshot{Project: o}.promotion(), Soak: a[AnnotationSoak], Template: a[AnnotationTemplate],
		Labelled: o.Metadata.Labels[LabelWalkthrough] == "true",
		Window:   windowOf(&c.windows, o.Metadata.Name, a[AnnotationProductionWindow], freezes, now),
	}
	if p.Soak == "" {
		p.Soak = c.deps.Settings.DefaultSoak.String()
	}
	stood := c.table.stands(p.Project)
	if stood == nil {
		return p, nil
	}
	if p.Error = stood.failed; len(stood.inputs.Components) == 0 {
		return p, nil
	}
	// The window and the soak that the sentences speak of go on by themselves:
	// the decision is taken again, on what was read then.
	plan := planPass(stood.inputs, now)
	p.Components, p.Wake = plan.Standing, plan.Wake
	var err error
	if slices.ContainsFunc(p.Components, func(s ComponentStanding) bool { return s.Gate == "soak" && s.Standing == StandWaiting }) {
		p.Starvation, err = c.starvation(ctx, stood.inputs, now)
	}
	return p, err
}

// maxMerges bounds the builds of a day that an estimate looks at.
const maxMerges = 5000

// starvation says that merges come faster than the soak lets through, by the
// builds that passed within the last day; "" while they do not. The rate is of
// the component with most of them, over the hours in which any passed, and over
// no less than the soak: one merge starves nothing.
func (c *Controller) starvation(ctx context.Context, s snapshot, now time.Time) (string, error) {
	soak := s.DefaultSoak
	if text := s.annotation(AnnotationSoak); text != "" {
		soak, _ = time.ParseDuration(text) // a component waits for it, so that it can be read
	}
	if c.deps.History == nil || soak <= 0 {
		return "", nil
	}
	events, err := c.deps.History.Happened(ctx, s.Project.Metadata.Name, []string{EventBuildPassed}, now.Add(-24*time.Hour), now, maxMerges)
	if err != nil || len(events) == 0 {
		return "", err
	}
	hours, merges, most := map[time.Time]bool{}, map[string]int{}, 0
	for _, e := range events {
		hours[e.At.UTC().Truncate(time.Hour)] = true
		merges[e.Component]++
		most = max(most, merges[e.Component])
	}
	perHour := float64(most) / max(float64(len(hours)), soak.Hours())
	return starvationNote(s.Project.Metadata.Name, perHour, soak), nil
}
