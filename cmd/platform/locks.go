package main

import (
	"context"
	"io"
	"time"

	"platform.dev/platform/commands"
	"platform.dev/platform/flowclient"
	"platform.dev/platform/flowclient/remote"
)

// locksCmd lists the locks that hold.
type locksCmd struct {
	remoteFlags
	OlderThan age `env:"-" help:"Only those that are at least so old: 14d, 36h." placeholder:"AGE"`
}

// age is a duration as people write it.
type age time.Duration

// UnmarshalText reads one.
func (a *age) UnmarshalText(text []byte) error {
	d, err := commands.ParseSpan(string(text))
	*a = age(d)
	return err
}

// Run asks and tells.
func (l *locksCmd) Run(ctx context.Context, t terminal) error {
	return asking[[]flowclient.Lock]{
		ask: func(ctx context.Context, c *remote.Client) ([]flowclient.Lock, error) {
			locks, err := c.Locks(ctx)
			if l.OlderThan > 0 {
				locks = flowclient.OldLocks(locks, time.Now(), time.Duration(l.OlderThan))
			}
			return locks, err
		},
		print: func(w io.Writer, locks []flowclient.Lock, now time.Time) {
			if len(locks) == 0 && l.OlderThan > 0 {
				_, _ = io.WriteString(w, "no lock is that old\n") // an error of w shows at its next use
				return
			}
			printLocks(w, locks, now)
		},
	}.run(ctx, l.remoteFlags, t)
}
