package main

import (
	"context"

	"platform.dev/platform/flowclient"
	"platform.dev/platform/flowclient/remote"
)

// locksCmd lists the locks that hold.
type locksCmd struct{ remoteFlags }

// Run asks and tells.
func (l *locksCmd) Run(ctx context.Context, t terminal) error {
	return asking[[]flowclient.Lock]{
		ask:   func(ctx context.Context, c *remote.Client) ([]flowclient.Lock, error) { return c.Locks(ctx) },
		print: printLocks,
	}.run(ctx, l.remoteFlags, t)
}
