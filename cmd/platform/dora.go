package main

import (
	"context"
	"fmt"
	"io"
	"time"

	"platform.dev/platform/flowclient"
	"platform.dev/platform/flowclient/remote"
)

// doraCmd shows how a project delivered.
type doraCmd struct {
	remoteFlags
	Project string `arg:"" help:"The project."`
	Days    int    `help:"How many days before now: 1 to 365." default:"30" placeholder:"DAYS"`
}

// Run asks and tells.
func (d *doraCmd) Run(ctx context.Context, t terminal) error {
	return asking[flowclient.DoraReport]{
		ask: func(ctx context.Context, c *remote.Client) (flowclient.DoraReport, error) {
			return c.Dora(ctx, d.Project, d.Days)
		},
		print: printDora,
	}.run(ctx, d.remoteFlags, t)
}

// printDora is a row per measure, and what each means.
func printDora(w io.Writer, r flowclient.DoraReport, _ time.Time) {
	at := func(t time.Time) string { return t.UTC().Format("Mon 2 Jan 2006 15:04 MST") }
	fmt.Fprintf(w, "%s from %s until %s\n", r.Project, at(r.From), at(r.To))
	rows := newTable("MEASURE", "VALUE")
	for _, m := range r.Measures {
		rows.row(m.Name, m.Value)
	}
	rows.print(w, "nothing is measured")
	if r.Soak != nil && r.Soak.Note != "" {
		fmt.Fprintf(w, "\n%s\n", oneLine(r.Soak.Note))
	}
	fmt.Fprintln(w)
	for _, m := range r.Measures {
		fmt.Fprintf(w, "%s: %s\n", oneLine(m.Name), oneLine(m.Means))
	}
}
