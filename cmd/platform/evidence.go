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

// evidenceCmd shows what is known of a build, a binding or a trace.
type evidenceCmd struct {
	remoteFlags
	Kind string `arg:"" enum:"build,binding,trace,decision" help:"Of what: build, binding, trace, or decision."`
	Name string `arg:"" help:"The build's run, the binding, the trace's id, or the decision's."`
}

// Help is shown by platform evidence --help.
func (evidenceCmd) Help() string {
	return `A decision is decided again, from what was recorded; its id is told by evidence of
another kind. Exit code 0: it is known, and a decision comes to the same; 2: a
decision comes to another now, or cannot be decided again; 1: an error.`
}

// Run asks and tells.
func (e *evidenceCmd) Run(ctx context.Context, t terminal) error {
	if e.Kind == "decision" {
		return asking[flowclient.Replayed]{
			ask:   func(ctx context.Context, c *remote.Client) (flowclient.Replayed, error) { return c.Replay(ctx, e.Name) },
			print: printReplayed,
			code: func(r flowclient.Replayed) int {
				if r.Same {
					return 0
				}
				return exitRefused
			},
		}.run(ctx, e.remoteFlags, t)
	}
	return asking[flowclient.Evidence]{
		ask: func(ctx context.Context, c *remote.Client) (flowclient.Evidence, error) {
			switch e.Kind {
			case "build":
				return c.EvidenceOfBuild(ctx, e.Name)
			case "binding":
				return c.EvidenceOfBinding(ctx, e.Name)
			}
			return c.EvidenceOfFlow(ctx, e.Name)
		},
		print: printEvidence,
	}.run(ctx, e.remoteFlags, t)
}

// printEvidence is the decisions with their gates, the builds, what happened, and where to look.
func printEvidence(w io.Writer, e flowclient.Evidence, now time.Time) {
	fmt.Fprintln(w, oneLine(e.Subject))
	decisions := newTable("DECISION", "KIND", "FOR", "AT", "ASKED IN", "REPLAYED", "CAME TO")
	gates := newTable("DECISION", "GATE", "ABOUT", "SAYS", "BECAUSE")
	for _, in := range append(append([]flowclient.EvidentIntent{}, e.Intents...), e.Refused...) {
		decisions.row(in.ID, in.Kind, in.Who, in.At.UTC().Format(time.RFC3339), in.Key, replayed(in.Replayed), strings.Join(in.CameTo(), " "))
		for _, v := range in.Gates {
			gates.row(in.ID, v.Gate, orAll(v.Component), verdict(v), v.Sentence)
		}
	}
	builds := newTable("BUILD", "COMPONENT", "COMMIT", "STATE", "ASKED FOR", "URL")
	for _, b := range e.Builds {
		builds.row(b.Run, b.Component, flowclient.ShortSHA(b.Commit), built(b), ago(&b.CreatedAt, now), b.URL)
	}
	commits := newTable("COMMIT", "AUTHOR", "WHEN", "SUBJECT")
	for _, c := range e.Commits {
		commits.row(flowclient.ShortSHA(c.SHA), c.Author, ago(&c.At, now), c.Subject)
	}
	events := newTable("HAPPENED", "KIND", "COMPONENT")
	for _, one := range e.Events {
		events.row(one.At.UTC().Format(time.RFC3339), one.Kind, one.Component)
	}
	for _, rows := range []*table{decisions, gates, commits, builds, events} {
		if len(rows.rows) > 1 {
			fmt.Fprintln(w)
			rows.print(w, "")
		}
	}
	for _, l := range e.Logs {
		fmt.Fprintf(w, "\n%s, stage %s: %s\n", oneLine(l.Run), oneLine(l.Stage), oneLine(l.Phase))
		for _, line := range l.Lines {
			fmt.Fprintf(w, "  %s\n", oneLine(line))
		}
	}
	printNamed(w, "services in the trace", e.Services)
	printNamed(w, "traces", e.Traces)
	printNamed(w, "see also", e.Links)
	printNamed(w, "note", e.Notes)
}

// printNamed is a line per text under a name, nothing where there is none.
func printNamed(w io.Writer, name string, texts []string) {
	if len(texts) > 0 {
		fmt.Fprintf(w, "\n%s:\n", name)
	}
	for _, text := range texts {
		fmt.Fprintf(w, "  %s\n", oneLine(text))
	}
}

// replayed tells whether the recorded inputs come to the same decision.
func replayed(same *bool) string {
	switch {
	case same == nil:
		return ""
	case *same:
		return "the same"
	}
	return "another"
}

// printReplayed tells whether a decision came to the same again.
func printReplayed(w io.Writer, r flowclient.Replayed, _ time.Time) {
	fmt.Fprintf(w, "%s\n\n", oneLine(r.Sentence))
	rows := newTable("DECISION", "KIND", "PROJECT", "FOR", "AT")
	rows.row(r.ID, r.Kind, r.Project, r.Who, r.At.UTC().Format(time.RFC3339))
	rows.print(w, "")
}
