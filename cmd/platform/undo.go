package main

import (
	"context"

	"platform.dev/platform/flowclient"
	"platform.dev/platform/flowclient/remote"
)

// undoCmd takes back the last promotion of a project.
type undoCmd struct {
	writeFlags
	Project string `arg:"" help:"The project."`
	DryRun  bool   `env:"-" help:"Decide and tell, write nothing."`
}

// Help is shown by platform undo --help.
func (undoCmd) Help() string {
	return `The last promotion must have been asked for in the same way: from the command
line, with keys that begin alike up to a colon (cli: without --key). Exit code
0: it is taken back; 2: refused, and what has changed since; 3: a component was
changed meanwhile, so ask again; 1: an error. With --dry-run nothing is taken
back, and you are told who promoted it, and when; the exit code is the same.`
}

// Run asks and tells what moved back.
func (u *undoCmd) Run(ctx context.Context, t terminal) error {
	return asking[flowclient.Outcome]{
		ask: func(ctx context.Context, c *remote.Client) (flowclient.Outcome, error) {
			return c.Undo(ctx, flowclient.UndoRequest{Origin: u.origin(), Project: u.Project, DryRun: u.DryRun})
		},
		print: outcomePrinter(u.DryRun), code: outcomeCode,
	}.run(ctx, u.remoteFlags, t)
}
