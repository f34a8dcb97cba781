package main

import (
	"context"
	"fmt"
	"io"
	"time"

	"platform.dev/platform/flowclient"
	"platform.dev/platform/flowclient/remote"
)

// unlockCmd clears the locks of a commit.
type unlockCmd struct{ lockFlags }

// Run asks and tells what was cleared.
func (u *unlockCmd) Run(ctx context.Context, t terminal) error {
	return asking[[]flowclient.Lock]{
		ask: func(ctx context.Context, c *remote.Client) ([]flowclient.Lock, error) {
			return c.ClearLock(ctx, flowclient.LockRequest{Origin: u.origin(), Component: u.Component, Commit: u.Commit, Environment: u.To})
		},
		print: func(w io.Writer, cleared []flowclient.Lock, now time.Time) {
			fmt.Fprintln(w, "cleared:")
			printLocks(w, cleared, now)
		},
	}.run(ctx, u.remoteFlags, t)
}
