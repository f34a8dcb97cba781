package flowclient

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"platform.dev/platform/flowclient/window"
)

// BeginWalkthrough admits a walkthrough: one at a time, of a template there is,
// with the memory that it needs. The same key returns its run.
func (c *Controller) BeginWalkthrough(ctx context.Context, key, template, who string) (Walkthrough, error) {
	if err := check(required("key", key, maxKey), required("template", template, maxWho), required("who", who, maxWho)); err != nil {
		return Walkthrough{}, err
	}
	last, err := c.deps.Runs.LastRuns(ctx, maxRuns)
	if err != nil {
		return Walkthrough{}, err
	}
	for _, w := range last {
		if w.Key == key {
			return w, nil
		}
	}
	if err := c.templateKnown(template); err != nil {
		return Walkthrough{}, err
	}
	for _, w := range last {
		if w.Ended == nil {
			return Walkthrough{}, c.underWay(w)
		}
	}
	if floor := c.deps.Settings.Floors[template]; floor > 0 {
		host, err := c.Host(ctx)
		if err != nil {
			return Walkthrough{}, err
		}
		if host.AvailableBytes < floor {
			return Walkthrough{}, Refuse("a walkthrough needs %s free for %s; %s is available. Free some memory and ask again.",
				gigabytes(floor), template, gigabytes(host.AvailableBytes))
		}
	}
	w, fresh, err := c.deps.Runs.BeginRun(ctx, Walkthrough{Key: key, Template: template, Who: who, Started: c.deps.Now()})
	if err != nil {
		return Walkthrough{}, err
	}
	if !fresh {
		return Walkthrough{}, c.underWay(w)
	}
	return w, nil
}

// UpdateWalkthrough records the step reached, and the end when Ended is set. A
// run that has ended does not change any more.
func (c *Controller) UpdateWalkthrough(ctx context.Context, w Walkthrough) error {
	return c.deps.Runs.UpdateRun(ctx, w)
}

// Walkthroughs lists the newest runs, newest first.
func (c *Controller) Walkthroughs(ctx context.Context) ([]Walkthrough, error) {
	runs, err := c.deps.Runs.LastRuns(ctx, maxRuns)
	if runs == nil && err == nil {
		runs = []Walkthrough{}
	}
	return runs, err
}

// underWay refuses a second walkthrough, naming the first.
func (c *Controller) underWay(w Walkthrough) *Refusal {
	step := ""
	if w.Step != "" {
		step = ", now at " + w.Step
	}
	return Refuse("walkthrough %s is under way: %s started it %s ago%s. Wait for its end, or stop it with `@walkthrough stop`.",
		w.Project, w.Who, window.Span(c.deps.Now().Sub(w.Started)), step)
}

// templateKnown refuses a template that is not there, naming those that are.
func (c *Controller) templateKnown(name string) error {
	names, err := c.templates()
	if err != nil {
		return err
	}
	if slices.Contains(names, name) {
		return nil
	}
	return Refuse("there is no template %s yet; there is: %s.", clip(name), strings.Join(names, ", "))
}

// gigabytes writes a size as the interface document does, rounded down so that
// too little never reads like enough.
func gigabytes(bytes int64) string {
	const tenth = 100_000_000
	return fmt.Sprintf("%d.%d GB", bytes/tenth/10, bytes/tenth%10)
}
