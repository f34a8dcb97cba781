package main

import (
	"context"
	"fmt"
	"io"
	"time"

	"platform.dev/platform/flowclient"
	"platform.dev/platform/flowclient/remote"
)

// stateCmd shows the controller's own state.
type stateCmd struct{ remoteFlags }

// Run asks and tells.
func (s *stateCmd) Run(ctx context.Context, t terminal) error {
	return asking[flowclient.State]{
		ask:   func(ctx context.Context, c *remote.Client) (flowclient.State, error) { return c.State(ctx) },
		print: printState,
	}.run(ctx, s.remoteFlags, t)
}

// printState is a row per project, then how the controller does.
func printState(w io.Writer, s flowclient.State, now time.Time) {
	rows := newTable("PROJECT", "PROMOTION", "SOAK", "PRODUCTION", "TEMPLATE")
	for _, p := range s.Projects {
		open := "open"
		if !p.Window.Open {
			open = "closed"
		}
		if f := p.Window.Flips; f != nil {
			open += " until " + f.Format("Mon 02 Jan 15:04 MST")
		}
		rows.row(p.Project, p.Promotion, p.Soak, open, p.Template)
	}
	rows.print(w, "no project is there yet")
	printStandings(w, s.Projects, now)
	last := "none yet"
	if s.LastPass != nil {
		last = ago(s.LastPass, now)
	}
	fmt.Fprintf(w, "\neffects under way: %d; last pass: %s\n", s.OpenIntents, last)
	if s.Overdue {
		fmt.Fprintf(w, "overdue: %s\n", oneLine(s.Health))
	}
	if s.PassError != "" {
		fmt.Fprintf(w, "the last pass failed: %s\n", oneLine(s.PassError))
	}
	for _, note := range s.Notes {
		fmt.Fprintf(w, "note: %s\n", oneLine(note))
	}
}

// printStandings is a row per component whose production does not run what
// staging runs, and what else there is to say of the projects.
func printStandings(w io.Writer, projects []flowclient.ProjectState, now time.Time) {
	rows := newTable("COMPONENT", "COMMIT", "STANDS", "SINCE", "BECAUSE")
	for _, p := range projects {
		for _, c := range p.Components {
			rows.row(c.Component, flowclient.ShortSHA(c.ToCommit), c.Standing, ago(c.Since, now), c.Sentence)
		}
	}
	if len(rows.rows) > 1 {
		fmt.Fprintln(w)
		rows.print(w, "")
	}
	for _, p := range projects {
		if p.Error != "" {
			fmt.Fprintf(w, "\n%s could not be looked at, which is tried again: %s\n", p.Project, oneLine(p.Error))
		}
		if p.Starvation != "" {
			fmt.Fprintf(w, "\n%s\n", oneLine(p.Starvation))
		}
	}
}
