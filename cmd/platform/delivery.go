package main

import (
	"context"
	"io"
	"time"

	"platform.dev/platform/flowclient"
	"platform.dev/platform/flowclient/remote"
)

// deliveryCmd shows what is deployed where and what built it.
type deliveryCmd struct{ remoteFlags }

// Run asks and tells.
func (d *deliveryCmd) Run(ctx context.Context, t terminal) error {
	return asking[flowclient.Delivery]{
		ask:   func(ctx context.Context, c *remote.Client) (flowclient.Delivery, error) { return c.Delivery(ctx) },
		print: printDelivery,
	}.run(ctx, d.remoteFlags, t)
}

// printDelivery is a row per component and environment.
func printDelivery(w io.Writer, d flowclient.Delivery, now time.Time) {
	rows := newTable("PROJECT", "COMPONENT", "ENVIRONMENT", "COMMIT", "STATE", "SINCE", "BUILD")
	for _, c := range d.Components {
		if len(c.Environments) == 0 {
			rows.row(c.Project, c.Component, "", "", "nothing yet", "", "")
		}
		for _, e := range c.Environments {
			rows.row(c.Project, c.Component, e.Environment, flowclient.ShortSHA(e.Commit), standing(e), ago(e.Since, now), e.Build)
		}
	}
	rows.print(w, "no component is there yet")
}
