package main

import (
	"context"

	"platform.dev/platform/flowclient"
	"platform.dev/platform/flowclient/remote"
)

// rollbackCmd moves production back to what a promotion displaced.
type rollbackCmd struct{ moveFlags }

// Help is shown by platform rollback --help.
func (rollbackCmd) Help() string { return promoteCmd{}.Help() }

// Run asks and tells what moved.
func (r *rollbackCmd) Run(ctx context.Context, t terminal) error {
	return asking[flowclient.Outcome]{
		ask: func(ctx context.Context, c *remote.Client) (flowclient.Outcome, error) {
			return c.Rollback(ctx, r.promotion())
		},
		print: printOutcome, code: outcomeCode,
	}.run(ctx, r.remoteFlags, t)
}
