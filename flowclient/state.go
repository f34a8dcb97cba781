package flowclient

import (
	"context"
	"fmt"
	"slices"
	"strings"
)

// departures are where this controller does less than the interface document
// says: told in /state, so that nobody waits for what will not happen.
func departures() []string {
	return []string{
		"Releases move to production when somebody promotes them: the promotion annotation \"auto\" is shown and no timer acts on it.",
		"The target cell's capacity is not checked before a promotion.",
	}
}

// State is the controller's own state: projects with what governs their
// promotion, effects under way, and the last pass.
func (c *Controller) State(ctx context.Context) (State, error) {
	projects, err := c.deps.ControlPlane.List(ctx, KindProject, Filter{})
	if err != nil {
		return State{}, fmt.Errorf("state: %w", err)
	}
	open, err := c.deps.Journal.Open(ctx)
	if err != nil {
		return State{}, err
	}
	c.status.Lock()
	s := State{Projects: []ProjectState{}, OpenIntents: len(open), LastPass: c.lastPass, PassError: c.passFailed}
	c.status.Unlock()
	s.Notes = departures()
	now := c.deps.Now()
	for _, o := range projects {
		a := o.Metadata.Annotations
		p := ProjectState{
			Project: o.Metadata.Name, Promotion: a[AnnotationPromotion], Soak: a[AnnotationSoak], Template: a[AnnotationTemplate],
			Labelled: o.Metadata.Labels[LabelWalkthrough] == "true",
			Window:   windowOf(o.Metadata.Name, a[AnnotationProductionWindow], now),
		}
		if p.Promotion == "" {
			p.Promotion = "auto"
		}
		if p.Soak == "" {
			p.Soak = c.deps.Settings.DefaultSoak.String()
		}
		s.Projects = append(s.Projects, p)
	}
	slices.SortFunc(s.Projects, func(a, b ProjectState) int { return strings.Compare(a.Project, b.Project) })
	return s, nil
}
