package main

import (
	"context"

	"platform.dev/platform/flowclient"
	"platform.dev/platform/flowclient/remote"
)

// rollbackCmd moves production back to what a promotion displaced.
type rollbackCmd struct{ moveFlags }

// Help is shown by platform rollback --help.
func (rollbackCmd) Help() string {
	return `Exit code 0: every component is where it was before, or had nothing to return
to; 2: refused, nothing was moved; 3: a component was changed meanwhile, so ask
again; 1: an error. With --dry-run nothing is moved; the exit code is the same.`
}

// Run asks and tells what moved.
func (r *rollbackCmd) Run(ctx context.Context, t terminal) error {
	return asking[flowclient.Outcome]{
		ask: func(ctx context.Context, c *remote.Client) (flowclient.Outcome, error) {
			return c.Rollback(ctx, r.promotion())
		},
		print: outcomePrinter(r.DryRun), code: outcomeCode,
	}.run(ctx, r.remoteFlags, t)
}
