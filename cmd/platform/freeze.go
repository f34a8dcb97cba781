package main

import (
	"context"
	"fmt"
	"io"
	"time"

	"platform.dev/platform/bots/markup"
	"platform.dev/platform/commands/platform"
	"platform.dev/platform/flowclient"
	"platform.dev/platform/flowclient/remote"
)

// freezeCmd refuses every change of production for a time.
type freezeCmd struct {
	writeFlags
	Project string `arg:"" help:"The project, or all."`
	Until   string `required:"" env:"-" help:"The first instant that is free again." placeholder:"WHEN"`
	From    string `env:"-" help:"When it begins; else at once." placeholder:"WHEN"`
	Reason  string `required:"" env:"-" help:"Why; people who are refused read it." placeholder:"TEXT"`
}

// Help is shown by platform freeze --help.
func (freezeCmd) Help() string {
	return `WHEN is 2026-12-24, 2026-12-24T17:00, "fri 17:00", 17:00 or 2h. Times are of the
zone of the project's production window, of UTC without one; the answer says
which. Sent again with the same --key, give the same instants.`
}

// everything is what a freeze of every project is called.
const everything = "all"

// Run asks and tells the freeze that was set.
func (f *freezeCmd) Run(ctx context.Context, t terminal) error {
	now, zone := time.Now(), time.UTC
	return asking[flowclient.Freeze]{
		ask: func(ctx context.Context, c *remote.Client) (set flowclient.Freeze, err error) {
			r := flowclient.FreezeRequest{Origin: f.origin(), Reason: f.Reason}
			if f.Project != everything {
				window, err := c.Window(ctx, f.Project)
				if err != nil {
					return set, err
				}
				r.Project, zone = f.Project, window.Zone()
			}
			if r.Until, err = platform.Instant("--until", f.Until, now, zone); err != nil {
				return set, err
			}
			if r.From, err = platform.Instant("--from", f.From, now, zone); err != nil {
				return set, err
			}
			return c.SetFreeze(ctx, r)
		},
		print: func(w io.Writer, set flowclient.Freeze, now time.Time) {
			printFreezes(w, []flowclient.Freeze{set}, zone, now)
			fmt.Fprintf(w, "\nPromotion and rollback are refused meanwhile. Times are of %s; platform thaw %d ends it.\n", zone, set.ID)
		},
	}.run(ctx, f.remoteFlags, t)
}

// printFreezes is a row per freeze.
func printFreezes(w io.Writer, freezes []flowclient.Freeze, zone *time.Location, now time.Time) {
	rows := newTable("ID", "PROJECT", "FROM", "UNTIL", "BY", "SET", "REASON")
	for _, f := range freezes {
		from := "holds"
		if f.From.After(now) {
			from = markup.At(f.From.In(zone), now)
		}
		project := f.Project
		if project == "" {
			project = everything
		}
		rows.row(fmt.Sprint(f.ID), project, from, markup.At(f.Until.In(zone), now), f.Who, ago(&f.At, now), f.Reason)
	}
	rows.print(w, "no freeze holds or is to come")
}
