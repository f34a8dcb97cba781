package main

import (
	"context"
	"fmt"
	"io"
	"slices"
	"time"

	"platform.dev/platform/flowclient"
	"platform.dev/platform/flowclient/remote"
)

// whereCmd shows which commit of a component runs in each environment.
type whereCmd struct {
	remoteFlags
	Component string `arg:"" help:"The component."`
}

// Run asks and tells.
func (c *whereCmd) Run(ctx context.Context, t terminal) error {
	return asking[flowclient.ComponentDelivery]{
		ask: func(ctx context.Context, client *remote.Client) (flowclient.ComponentDelivery, error) {
			d, err := client.Delivery(ctx)
			if err != nil {
				return flowclient.ComponentDelivery{}, err
			}
			i := slices.IndexFunc(d.Components, func(d flowclient.ComponentDelivery) bool { return d.Component == c.Component })
			if i < 0 {
				return flowclient.ComponentDelivery{}, &flowclient.NotFound{Kind: "component", Name: c.Component}
			}
			return d.Components[i], nil
		},
		print: printWhere,
	}.run(ctx, c.remoteFlags, t)
}

// printWhere is a row per environment, and whether they differ.
func printWhere(w io.Writer, c flowclient.ComponentDelivery, now time.Time) {
	rows := newTable("ENVIRONMENT", "COMMIT", "STATE", "SINCE", "RELEASE", "PROMOTED BY")
	commits := map[string]bool{}
	for _, e := range c.Environments {
		rows.row(e.Environment, flowclient.ShortSHA(e.Commit), standing(e), ago(e.Since, now), e.Release, e.PromotedBy)
		if e.Release != "" {
			commits[e.Commit] = true
		}
	}
	rows.print(w, c.Component+" is not deployed anywhere yet")
	if len(commits) > 1 {
		fmt.Fprintf(w, "\n%s is on different commits; platform promote %s --component %s brings production to what staging runs.\n", c.Component, c.Project, c.Component)
	}
}
