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

// scaffoldCmd makes a project from a template.
type scaffoldCmd struct {
	writeFlags
	Template    string `arg:"" help:"The template: static."`
	Project     string `arg:"" help:"Name of the project to make."`
	Walkthrough bool   `env:"-" help:"Label everything, so that teardown may remove it."`
}

// Run asks and tells what was made.
func (s *scaffoldCmd) Run(ctx context.Context, t terminal) error {
	return asking[flowclient.Scaffolded]{
		ask: func(ctx context.Context, c *remote.Client) (flowclient.Scaffolded, error) {
			return c.Scaffold(ctx, flowclient.ScaffoldRequest{Origin: s.origin(), Template: s.Template, Project: s.Project, Walkthrough: s.Walkthrough})
		},
		print: printScaffolded,
	}.run(ctx, s.remoteFlags, t)
}

func printScaffolded(w io.Writer, s flowclient.Scaffolded, _ time.Time) {
	rows := newTable("PROJECT", "COMPONENTS", "COMMIT", "REPOSITORY")
	rows.row(s.Project, strings.Join(s.Components, ", "), flowclient.ShortSHA(s.Commit.SHA), s.Repository.CloneURL)
	rows.print(w, "")
	fmt.Fprintf(w, "\nIts first build is under way; platform status %s shows it arrive in staging.\n", s.Project)
}
