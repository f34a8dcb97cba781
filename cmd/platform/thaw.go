package main

import (
	"context"
	"fmt"
	"io"
	"time"

	"platform.dev/platform/flowclient"
	"platform.dev/platform/flowclient/remote"
)

// thawCmd ends a freeze, or calls it off.
type thawCmd struct {
	writeFlags
	ID int64 `arg:"" name:"id" help:"The freeze's number, as platform freezes lists it."`
}

// Run asks and tells the freeze as it was.
func (f *thawCmd) Run(ctx context.Context, t terminal) error {
	return asking[flowclient.Freeze]{
		ask: func(ctx context.Context, c *remote.Client) (flowclient.Freeze, error) {
			return c.ClearFreeze(ctx, flowclient.FreezeRequest{Origin: f.origin(), ID: f.ID})
		},
		print: func(w io.Writer, ended flowclient.Freeze, now time.Time) {
			fmt.Fprintln(w, "ended:")
			printFreezes(w, []flowclient.Freeze{ended}, time.UTC, now)
		},
	}.run(ctx, f.remoteFlags, t)
}
