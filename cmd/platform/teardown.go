package main

import (
	"context"
	"fmt"
	"io"
	"strings"
	"time"

	"platform.dev/platform/flowclient"
	"platform.dev/platform/flowclient/remote"
)

// teardownCmd removes walkthrough projects.
type teardownCmd struct {
	writeFlags
	Scope string `arg:"" help:"What to remove: all, a template's name, or project:NAME. Only what a walkthrough made is removed."`
}

// Run asks and tells what was removed.
func (d *teardownCmd) Run(ctx context.Context, t terminal) error {
	return asking[flowclient.Removed]{
		ask: func(ctx context.Context, c *remote.Client) (flowclient.Removed, error) {
			return c.Teardown(ctx, flowclient.TeardownRequest{Origin: d.origin(), Scope: d.Scope})
		},
		print: printRemoved,
	}.run(ctx, d.remoteFlags, t)
}

func printRemoved(w io.Writer, r flowclient.Removed, _ time.Time) {
	if len(r.Projects) == 0 {
		fmt.Fprintln(w, "no walkthrough project was there to remove")
	} else {
		fmt.Fprintf(w, "removed %s: %d objects, repositories %s\n", strings.Join(r.Projects, ", "), r.Objects, strings.Join(r.Repositories, ", "))
	}
	for _, left := range r.Refused {
		fmt.Fprintf(w, "left alone: %s\n", oneLine(left))
	}
}
