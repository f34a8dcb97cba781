package main

import (
	"context"
	"io"
	"time"

	"platform.dev/platform/flowclient"
	"platform.dev/platform/flowclient/remote"
)

// freezesCmd lists the freezes that hold or are to come.
type freezesCmd struct{ remoteFlags }

// Run asks and tells, in UTC.
func (f *freezesCmd) Run(ctx context.Context, t terminal) error {
	return asking[[]flowclient.Freeze]{
		ask: func(ctx context.Context, c *remote.Client) ([]flowclient.Freeze, error) { return c.Freezes(ctx) },
		print: func(w io.Writer, all []flowclient.Freeze, now time.Time) {
			printFreezes(w, all, time.UTC, now)
		},
	}.run(ctx, f.remoteFlags, t)
}
