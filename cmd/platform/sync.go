package main

import (
	"context"
	"fmt"
	"io"
	"time"

	"platform.dev/platform/flowclient"
	"platform.dev/platform/flowclient/remote"
)

// syncCmd applies a repository's manifests.
type syncCmd struct {
	writeFlags
	Repo string `arg:"" help:"Repository, as owner/name."`
	Ref  string `env:"-" help:"Branch whose manifests are applied; main by default." default:"main" placeholder:"BRANCH"`
}

// Help is shown by platform sync --help.
func (syncCmd) Help() string {
	return `Exit code 0: every manifest was applied, or needed not to be; 2: at least one
was refused, the others were applied; 1: an error.`
}

// Run asks and tells what became of each manifest.
func (s *syncCmd) Run(ctx context.Context, t terminal) error {
	return asking[flowclient.Synced]{
		ask: func(ctx context.Context, c *remote.Client) (flowclient.Synced, error) {
			return c.Sync(ctx, flowclient.SyncRequest{Origin: s.origin(), Repo: s.Repo, Ref: s.Ref})
		},
		print: printSynced,
		code: func(answer flowclient.Synced) int {
			for _, o := range answer.Objects {
				if o.Result == "refused" {
					fmt.Fprintf(t.Err, "%s: %s\n", oneLine(o.File), oneLine(o.Why))
				}
			}
			if answer.Refused > 0 {
				return exitRefused
			}
			return 0
		},
	}.run(ctx, s.remoteFlags, t)
}

// printSynced is a row per manifest, and the counts.
func printSynced(w io.Writer, s flowclient.Synced, _ time.Time) {
	rows := newTable("FILE", "KIND", "NAME", "RESULT", "WHY")
	for _, o := range s.Objects {
		rows.row(o.File, o.Kind, o.Name, o.Result, o.Why)
	}
	rows.print(w, s.Repo+" has no manifests")
	fmt.Fprintf(w, "\n%s at %s: %d created, %d updated, %d skipped, %d refused\n", s.Repo, flowclient.ShortSHA(s.Commit), s.Created, s.Updated, s.Skipped, s.Refused)
}
