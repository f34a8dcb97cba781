package main

import (
	"context"
	"fmt"
	"io"
	"slices"
	"time"

	"platform.dev/platform/flowclient"
	"platform.dev/platform/flowclient/remote"
)

// statusCmd shows what a project runs where.
type statusCmd struct {
	remoteFlags
	Project string `arg:"" help:"The project."`
}

// projectStatus is a project's part of the delivery, with its production window.
type projectStatus struct {
	Window     flowclient.Window              `json:"window"`
	Components []flowclient.ComponentDelivery `json:"components"`
}

// Run asks and tells.
func (s *statusCmd) Run(ctx context.Context, t terminal) error {
	return asking[projectStatus]{
		ask: func(ctx context.Context, c *remote.Client) (projectStatus, error) {
			window, err := c.Window(ctx, s.Project)
			if err != nil {
				return projectStatus{}, err
			}
			d, err := c.Delivery(ctx)
			ours := slices.DeleteFunc(d.Components, func(c flowclient.ComponentDelivery) bool { return c.Project != s.Project })
			return projectStatus{Window: window, Components: append([]flowclient.ComponentDelivery{}, ours...)}, err
		},
		print: printStatus,
	}.run(ctx, s.remoteFlags, t)
}

// printStatus is where each component runs, its last build, what is wrong, and the window.
func printStatus(w io.Writer, s projectStatus, now time.Time) {
	rows := newTable("COMPONENT", "ENVIRONMENT", "COMMIT", "STATE", "SINCE", "URL")
	builds := newTable("COMPONENT", "LAST BUILD", "COMMIT", "STATE", "BEGAN")
	for _, c := range s.Components {
		for _, e := range c.Environments {
			rows.row(c.Component, e.Environment, flowclient.ShortSHA(e.Commit), standing(e), ago(e.Since, now), e.URL)
		}
		if len(c.Environments) == 0 {
			rows.row(c.Component, "", "", "nothing yet", "", "")
		}
		if b := c.LastBuild; b != nil {
			builds.row(c.Component, b.Run, flowclient.ShortSHA(b.Commit), built(*b), ago(&b.CreatedAt, now))
		}
	}
	rows.print(w, "the project has no component yet")
	fmt.Fprintln(w)
	builds.print(w, "nothing was built yet")
	for _, c := range s.Components {
		for _, e := range c.Environments {
			if e.Release != "" && !e.Ready && e.Message != "" {
				fmt.Fprintf(w, "\n%s in %s: %s\n", c.Component, e.Environment, oneLine(e.Message))
			}
		}
	}
	fmt.Fprintf(w, "\n%s\n", oneLine(s.Window.Sentence))
}
