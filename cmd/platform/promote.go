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

// moveFlags are what promote and rollback are asked for.
type moveFlags struct {
	writeFlags
	Project   string `arg:"" help:"The project."`
	Component string `env:"-" help:"Only this component; else every one of the project." placeholder:"C"`
	DryRun    bool   `env:"-" help:"Decide and tell, write nothing."`
}

func (m *moveFlags) promotion() flowclient.Promotion {
	return flowclient.Promotion{Origin: m.origin(), Project: m.Project, Component: m.Component, DryRun: m.DryRun}
}

// promoteCmd moves what staging runs to production.
type promoteCmd struct {
	moveFlags
	Force    bool   `env:"-" help:"Go on where capacity refuses; recorded."`
	SkipSoak string `env:"-" help:"Do not wait for soak and URL check, and why; where the operator allows it. Recorded." placeholder:"REASON"`
}

// Help is shown by platform promote --help.
func (promoteCmd) Help() string {
	return `Exit code 0: every component is where it should be; 2: refused, nothing was
moved; 3: a component waits for what lifts by itself, so ask again; 1: an error.
With --dry-run nothing is moved; the exit code is the same.`
}

// Run asks and tells what moved.
func (p *promoteCmd) Run(ctx context.Context, t terminal) error {
	return asking[flowclient.Outcome]{
		ask: func(ctx context.Context, c *remote.Client) (flowclient.Outcome, error) {
			r := p.promotion()
			r.Force, r.SkipSoak = p.Force, p.SkipSoak
			return c.Promote(ctx, r)
		},
		print: outcomePrinter(p.DryRun), code: outcomeCode,
	}.run(ctx, p.remoteFlags, t)
}

// outcomeCode is 0 when every component was moved or needed no move.
func outcomeCode(o flowclient.Outcome) int {
	if o.Complete() {
		return 0
	}
	return exitRetry
}

// outcomePrinter prints an outcome, or (dry) what one would be.
func outcomePrinter(dry bool) func(w io.Writer, o flowclient.Outcome, now time.Time) {
	if !dry {
		return printOutcome
	}
	return func(w io.Writer, o flowclient.Outcome, now time.Time) {
		fmt.Fprint(w, "Nothing is changed. This is what would be:\n\n")
		printOutcome(w, o, now)
	}
}

// printOutcome is a row per component, and each one's sentence below.
func printOutcome(w io.Writer, o flowclient.Outcome, _ time.Time) {
	rows := newTable("COMPONENT", "RESULT", "FROM", "TO", "RELEASE", "URL")
	for _, c := range o.Components {
		rows.row(c.Component, c.Result, flowclient.ShortSHA(c.FromCommit), flowclient.ShortSHA(c.ToCommit), c.To, c.URL)
	}
	rows.print(w, "nothing to move")
	fmt.Fprintln(w)
	for _, c := range o.Components {
		fmt.Fprintln(w, oneLine(c.Sentence))
	}
	if o.Note != "" {
		fmt.Fprintln(w, oneLine(o.Note))
	}
	if u := o.Undoes; u != nil {
		fmt.Fprintln(w, oneLine(strings.TrimSpace(fmt.Sprintf("It was promoted by %s at %s. %s", u.Who, u.At.UTC().Format(time.RFC3339), u.Link))))
	}
}
