package main

import (
	"context"
	"slices"

	"platform.dev/platform/flowclient"
	"platform.dev/platform/flowclient/remote"
)

// trails are two audit trails as one: what a controller decided, and what the
// bot at this desk decided before it asked the controller.
type trails struct {
	controller *remote.Client
	desk       *desk
}

// Audit is the newest page of both, newest first; it has no cursor that leads on.
func (t trails) Audit(ctx context.Context, q flowclient.AuditQuery) (flowclient.AuditPage, error) {
	page, err := t.controller.Audit(ctx, q)
	if err != nil {
		return page, err
	}
	own, err := flowclient.AuditOf(ctx, t.desk.store, q)
	if err != nil {
		return page, err
	}
	return newest(page, own, q.Limit), nil
}

// newest is a page of so many entries of two pages; its Next tells that there are more.
func newest(a, b flowclient.AuditPage, limit int) flowclient.AuditPage {
	all := flowclient.AuditPage{Entries: slices.Concat(a.Entries, b.Entries), Next: a.Next + b.Next}
	slices.SortStableFunc(all.Entries, func(x, y flowclient.AuditEntry) int { return y.At.Compare(x.At) })
	if limit > 0 && len(all.Entries) > limit {
		all.Entries, all.Next = all.Entries[:limit], "more"
	}
	return all
}
