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

// lockFlags name what is locked or unlocked.
type lockFlags struct {
	writeFlags
	Component string `arg:"" help:"The component."`
	Commit    string `arg:"" help:"The commit, whole or its first characters, four or more."`
	To        string `env:"-" help:"Only in this environment; else in every one." placeholder:"ENV"`
}

// lockCmd refuses promotion and rollback to a commit.
type lockCmd struct {
	lockFlags
	Reason string `required:"" env:"-" help:"Why; people who are refused read it." placeholder:"TEXT"`
}

// Run asks and tells the lock that holds.
func (l *lockCmd) Run(ctx context.Context, t terminal) error {
	return asking[flowclient.Lock]{
		ask: func(ctx context.Context, c *remote.Client) (flowclient.Lock, error) {
			return c.SetLock(ctx, flowclient.LockRequest{Origin: l.origin(), Component: l.Component, Commit: l.Commit, Environment: l.To, Reason: l.Reason})
		},
		print: printLock,
	}.run(ctx, l.remoteFlags, t)
}

func printLock(w io.Writer, l flowclient.Lock, now time.Time) {
	printLocks(w, []flowclient.Lock{l}, now)
	if len(l.Releases) > 0 {
		fmt.Fprintf(w, "\nPromotion and rollback to it are refused; releases of it now: %s.\n", oneLine(strings.Join(l.Releases, ", ")))
	}
	if l.Note != "" {
		fmt.Fprintf(w, "\n%s\n", oneLine(l.Note))
	}
}

// printLocks is a row per lock.
func printLocks(w io.Writer, locks []flowclient.Lock, now time.Time) {
	rows := newTable("COMPONENT", "COMMIT", "IN", "BY", "SET", "REASON")
	for _, l := range locks {
		rows.row(l.Component, flowclient.ShortSHA(l.Commit), scope(l.Environment), l.Who, ago(&l.At, now), l.Reason)
	}
	rows.print(w, "no commit is locked")
}
