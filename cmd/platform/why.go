package main

import (
	"context"
	"fmt"
	"io"
	"time"

	"platform.dev/platform/bots/markup"
	"platform.dev/platform/flowclient"
	"platform.dev/platform/flowclient/remote"
)

// whyCmd tells what keeps a project from production.
type whyCmd struct {
	remoteFlags
	Project   string `arg:"" help:"The project."`
	Component string `env:"-" help:"Only this component; else every one of the project." placeholder:"C"`
}

// Run asks and tells.
func (y *whyCmd) Run(ctx context.Context, t terminal) error {
	return asking[flowclient.Why]{
		ask: func(ctx context.Context, c *remote.Client) (flowclient.Why, error) {
			return c.Why(ctx, y.Project, y.Component)
		},
		print: printWhy,
	}.run(ctx, y.remoteFlags, t)
}

// printWhy is the sentence, a row per component, and a row per gate.
func printWhy(w io.Writer, y flowclient.Why, now time.Time) {
	fmt.Fprintf(w, "%s\n\n", oneLine(y.Sentence))
	rows := newTable("COMPONENT", "RESULT", "FROM", "TO", "EARLIEST", "BY ITSELF")
	gates := newTable("GATE", "ABOUT", "SAYS", "BECAUSE")
	seen := map[string]bool{}
	for _, c := range y.Components {
		rows.row(c.Component, c.Result, flowclient.ShortSHA(c.FromCommit), flowclient.ShortSHA(c.ToCommit), earliest(c, y.Window.Zone(), now), c.Automatic)
		for _, v := range c.Gates {
			key := v.Gate + "\n" + v.Component + "\n" + v.Sentence // one about the whole project is said of each
			if seen[key] {
				continue
			}
			seen[key] = true
			gates.row(v.Gate, orAll(v.Component), verdict(v), v.Sentence)
		}
	}
	rows.print(w, "the project has no component yet")
	if len(seen) > 0 {
		fmt.Fprintln(w)
		gates.print(w, "")
	}
}

// earliest is when a component could be promoted, if nothing else changes.
func earliest(c flowclient.WhyComponent, zone *time.Location, now time.Time) string {
	switch {
	case c.Result == flowclient.Unchanged:
		return ""
	case c.Earliest == nil:
		return "time alone does not help"
	case !c.Earliest.After(now):
		return "now"
	}
	return markup.At(c.Earliest.In(zone), now) + ", " + markup.In(c.Earliest.Sub(now))
}

// orAll is the component that something is about.
func orAll(component string) string {
	if component == "" {
		return "all of it"
	}
	return component
}

// verdict is what a gate says, in a word or two.
func verdict(v flowclient.Verdict) string {
	switch {
	case v.Pass:
		return "passes"
	case v.Lifted != "":
		return "is lifted"
	}
	return "is against"
}
