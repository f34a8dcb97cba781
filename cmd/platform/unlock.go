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
type unlockCmd struct {
	lockFlags
	DryRun bool `env:"-" help:"Tell what would be cleared, and what would move then; write nothing."`
}

// Run asks and tells what was cleared, or would be.
func (u *unlockCmd) Run(ctx context.Context, t terminal) error {
	r := flowclient.LockRequest{Origin: u.origin(), Component: u.Component, Commit: u.Commit, Environment: u.To}
	if u.DryRun {
		return asking[flowclient.Unlocking]{
			ask:   func(ctx context.Context, c *remote.Client) (flowclient.Unlocking, error) { return c.Unlocking(ctx, r) },
			print: printUnlocking,
		}.run(ctx, u.remoteFlags, t)
	}
	return asking[[]flowclient.Lock]{
		ask: func(ctx context.Context, c *remote.Client) ([]flowclient.Lock, error) { return c.ClearLock(ctx, r) },
		print: func(w io.Writer, cleared []flowclient.Lock, now time.Time) {
			fmt.Fprintln(w, "cleared:")
			printLocks(w, cleared, now)
		},
	}.run(ctx, u.remoteFlags, t)
}

// printUnlocking is what would be cleared, and what would move then.
func printUnlocking(w io.Writer, u flowclient.Unlocking, now time.Time) {
	fmt.Fprintln(w, "would be cleared:")
	printLocks(w, u.Locks, now)
	fmt.Fprintf(w, "\n%s\n", oneLine(u.Sentence))
}
