package main

import (
	"context"
	"fmt"
	"io"
	"time"

	"platform.dev/platform/flowclient"
	"platform.dev/platform/flowclient/remote"
)

// auditCmd lists who decided what.
type auditCmd struct {
	remoteFlags
	Project   string `help:"Only what was about this project." placeholder:"PROJECT"`
	Component string `help:"Only what was about this component." placeholder:"COMPONENT"`
	Who       string `help:"Only what this person asked for, or the chat's account of somebody unknown; auto is the automatic pass." placeholder:"NAME"`
	Kind      string `help:"Only one kind: allowed, asked, automatic, cancelled, changed, commit, confirmed, denied, external, freeze, limited, lock, merge, promotion, pull, refusal, refused, removal, review, rollback, scaffold, stale, sync, teardown, unfreeze, unknown or unlock." placeholder:"KIND"`
	Limit     int    `help:"How many at most: 1 to 500." default:"50" placeholder:"N"`
	Cursor    string `help:"Go on behind the page that told this cursor." placeholder:"CURSOR"`
}

// Run asks and tells.
func (a *auditCmd) Run(ctx context.Context, t terminal) error {
	return asking[flowclient.AuditPage]{
		ask: func(ctx context.Context, c *remote.Client) (flowclient.AuditPage, error) {
			return c.Audit(ctx, flowclient.AuditQuery{Project: a.Project, Component: a.Component, Who: a.Who, Kind: a.Kind, Limit: a.Limit, Cursor: a.Cursor})
		},
		print: printAudit,
	}.run(ctx, a.remoteFlags, t)
}

// printAudit is a row per entry, newest first, and how to go on.
func printAudit(w io.Writer, page flowclient.AuditPage, _ time.Time) {
	rows := newTable("AT", "KIND", "RESULT", "WHO", "PROJECT", "OUTCOME", "ASKED IN")
	for _, e := range page.Entries {
		rows.row(e.At.UTC().Format(time.RFC3339), e.Kind, e.Result, e.Who, e.Project, e.Outcome, e.Link)
	}
	rows.print(w, "nothing of the kind is recorded")
	if page.Next != "" {
		fmt.Fprintf(w, "older ones: --cursor %s\n", oneLine(page.Next))
	}
}
