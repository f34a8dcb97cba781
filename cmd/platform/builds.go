package main

import (
	"context"
	"io"
	"time"

	"platform.dev/platform/flowclient"
	"platform.dev/platform/flowclient/remote"
)

// buildsCmd lists the builds under way.
type buildsCmd struct{ remoteFlags }

// Run asks and tells.
func (b *buildsCmd) Run(ctx context.Context, t terminal) error {
	return asking[[]flowclient.Build]{
		ask:   func(ctx context.Context, c *remote.Client) ([]flowclient.Build, error) { return c.Builds(ctx) },
		print: printBuilds,
	}.run(ctx, b.remoteFlags, t)
}

// printBuilds is a row per build.
func printBuilds(w io.Writer, builds []flowclient.Build, now time.Time) {
	rows := newTable("RUN", "COMPONENT", "COMMIT", "STATE", "ASKED FOR", "URL")
	for _, b := range builds {
		rows.row(b.Run, b.Component, flowclient.ShortSHA(b.Commit), built(b), ago(&b.CreatedAt, now), b.URL)
	}
	rows.print(w, "no build is under way")
}
