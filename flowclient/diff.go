package flowclient

import (
	"context"
	"fmt"
)

// maxDiff is how many commits a Diff lists per component.
const maxDiff = 100

// Diff is what a promotion of the project would ship now: per component, by
// name, the commits that staging has and production has not, newest first.
func (c *Controller) Diff(ctx context.Context, project string) (Diff, error) {
	if err := check(checkLabel("project", project, maxLabel), c.needPulls()); err != nil {
		return Diff{}, err
	}
	s, err := c.snapshot(ctx, project, "")
	if err != nil {
		return Diff{}, err
	}
	d := Diff{Project: project, Components: []ComponentDiff{}}
	for _, f := range s.Components {
		one, err := c.diffOf(ctx, f)
		if err != nil {
			return Diff{}, fmt.Errorf("diff of %s: %w", f.Name, err)
		}
		d.Components = append(d.Components, one)
	}
	return d, nil
}

// diffOf compares the commits that one component runs. Where production runs
// nothing it is everything that staging has.
func (c *Controller) diffOf(ctx context.Context, f componentFacts) (ComponentDiff, error) {
	d := ComponentDiff{Component: f.Name, Commits: []Commit{},
		From: f.Releases[f.Production.spec.ReleaseName].Commit, To: f.Releases[f.Staging.spec.ReleaseName].Commit}
	if d.To == "" || d.From == d.To {
		return d, nil
	}
	component, err := c.deps.ControlPlane.Get(ctx, KindComponent, f.Name)
	if err != nil {
		return d, err
	}
	repo, err := repositoryOf(component)
	if err != nil {
		return d, err
	}
	if d.From == "" {
		commits, err := c.deps.Git.Commits(ctx, repo, d.To, maxDiff+1)
		d.More = len(commits) > maxDiff
		d.Commits = append(d.Commits, commits[:min(len(commits), maxDiff)]...)
		return d, err
	}
	commits, more, err := c.deps.Pulls.Compare(ctx, repo, d.From, d.To, maxDiff)
	if err != nil {
		return d, err
	}
	d.Commits, d.More = append(d.Commits, commits...), more
	back, _, err := c.deps.Pulls.Compare(ctx, repo, d.To, d.From, 1)
	d.Behind = len(back) > 0
	return d, err
}
