package main

import (
	"context"
	"fmt"
	"io"
	"time"

	"platform.dev/platform/flowclient"
	"platform.dev/platform/flowclient/remote"
)

// diffCmd shows what a promote would ship.
type diffCmd struct {
	remoteFlags
	Project string `arg:"" help:"The project."`
}

// Run asks and tells.
func (d *diffCmd) Run(ctx context.Context, t terminal) error {
	return asking[flowclient.Diff]{
		ask:   func(ctx context.Context, c *remote.Client) (flowclient.Diff, error) { return c.Diff(ctx, d.Project) },
		print: printDiff,
	}.run(ctx, d.remoteFlags, t)
}

// printDiff is a row per commit, newest first, below each component.
func printDiff(w io.Writer, d flowclient.Diff, now time.Time) {
	if len(d.Components) == 0 {
		fmt.Fprintf(w, "%s has no component yet\n", d.Project)
	}
	for i, c := range d.Components {
		if i > 0 {
			fmt.Fprintln(w)
		}
		fmt.Fprintln(w, diffLine(c))
		if len(c.Commits) == 0 {
			continue
		}
		rows := newTable("COMMIT", "AUTHOR", "WHEN", "SUBJECT")
		for _, commit := range c.Commits {
			rows.row(flowclient.ShortSHA(commit.SHA), commit.Author, ago(&commit.At, now), commit.Subject)
		}
		rows.print(w, "")
		if c.More {
			fmt.Fprintln(w, "and older ones")
		}
	}
}

// diffLine says what a promote would do to a component.
func diffLine(c flowclient.ComponentDiff) string {
	switch {
	case c.To == "":
		return c.Component + " runs nothing in staging yet"
	case c.Behind:
		return fmt.Sprintf("%s: staging runs %s, which is not ahead of %s in production", c.Component, flowclient.ShortSHA(c.To), flowclient.ShortSHA(c.From))
	case c.From == "":
		return fmt.Sprintf("%s: production runs nothing; a promote would bring %s", c.Component, flowclient.ShortSHA(c.To))
	case c.From == c.To:
		return fmt.Sprintf("%s: production runs %s already", c.Component, flowclient.ShortSHA(c.To))
	default:
		return fmt.Sprintf("%s: a promote would move production from %s to %s", c.Component, flowclient.ShortSHA(c.From), flowclient.ShortSHA(c.To))
	}
}
