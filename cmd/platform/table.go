package main

import (
	"cmp"
	"fmt"
	"io"
	"strings"
	"text/tabwriter"
	"time"

	"platform.dev/platform/bots/markup"
	"platform.dev/platform/flowclient"
)

// table is rows with aligned columns under a head.
type table struct{ rows []string }

func newTable(head ...string) *table {
	t := &table{}
	t.row(head...)
	return t
}

// row adds a row; an empty cell shows as a dash.
func (t *table) row(cells ...string) {
	shown := make([]string, len(cells))
	for i, c := range cells {
		shown[i] = cmp.Or(oneLine(c), "-")
	}
	t.rows = append(t.rows, strings.Join(shown, "\t"))
}

// print writes the table, or what there is to say when it has no rows.
func (t *table) print(w io.Writer, none string) {
	if len(t.rows) == 1 {
		fmt.Fprintln(w, none)
		return
	}
	aligned := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	for _, r := range t.rows {
		fmt.Fprintln(aligned, r)
	}
	aligned.Flush() // an error of w shows at its next use
}

// ago is how long before now an instant was; "" for none.
func ago(then *time.Time, now time.Time) string {
	if then == nil {
		return ""
	}
	return markup.Ago(now.Sub(*then))
}

// standing is how a component stands in an environment, in a word or two.
func standing(d flowclient.Deployment) string {
	switch {
	case d.Release == "":
		return "nothing yet"
	case d.State == "Undeploy":
		return "out of service"
	case d.Ready:
		return "ready"
	case d.Reason != "":
		return "not ready: " + d.Reason
	default:
		return "not ready"
	}
}

// built is how a build stands, in a word or two.
func built(b flowclient.Build) string {
	switch b.Phase {
	case flowclient.BuildSucceeded:
		return "passed"
	case flowclient.BuildFailed:
		return strings.TrimSuffix("failed in "+b.FailedStage, " in ")
	case flowclient.BuildRunning:
		for _, s := range b.Stages {
			if s.Phase == flowclient.BuildRunning {
				return "running " + s.Name
			}
		}
		return "running"
	default:
		return "waiting"
	}
}

// where a lock holds.
func scope(environment string) string { return cmp.Or(environment, "every environment") }
