package main

import (
	"context"
	"fmt"
	"io"
	"time"

	"platform.dev/platform/flowclient"
	"platform.dev/platform/flowclient/remote"
)

// windowCmd tells when production changes of a project are allowed.
type windowCmd struct {
	remoteFlags
	Project string `arg:"" help:"The project."`
}

// Run asks and tells.
func (p *windowCmd) Run(ctx context.Context, t terminal) error {
	return asking[flowclient.Window]{
		ask: func(ctx context.Context, c *remote.Client) (flowclient.Window, error) {
			return c.Window(ctx, p.Project)
		},
		print: func(w io.Writer, window flowclient.Window, _ time.Time) { fmt.Fprintln(w, oneLine(window.Sentence)) },
	}.run(ctx, p.remoteFlags, t)
}
