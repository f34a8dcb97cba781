package wire

import (
	"net/url"
	"strconv"

	"platform.dev/platform/flowclient"
)

// AuditPath takes GET, with the query of AuditQuery, and answers 200 with a
// flowclient.AuditPage. Nothing writes to the trail through it: it is the
// journal and what bots decided, which are only ever added to.
const AuditPath = "/audit"

// AuditRequest reads which page of the audit trail is asked for from a query;
// *flowclient.Invalid when it says something else.
func AuditRequest(query string) (flowclient.AuditQuery, error) {
	q, err := Query(query, "project", "component", "who", "kind", "limit", "cursor")
	if err != nil {
		return flowclient.AuditQuery{}, err
	}
	page, err := PageOf(AuditPath, q)
	return flowclient.AuditQuery{Project: q["project"], Component: q["component"], Who: q["who"], Kind: q["kind"], Limit: page.Limit, Cursor: page.After}, err
}

// AuditAnswer is a page as it is told: with the cursor of the page behind it.
func AuditAnswer(page flowclient.AuditPage) flowclient.AuditPage {
	if page.Next != "" {
		page.Next = Cursor(AuditPath, page.Next)
	}
	return page
}

// AuditQuery is the query that asks for a page of the audit trail; the cursor
// is one that an answer gave.
func AuditQuery(q flowclient.AuditQuery) string {
	values := url.Values{}
	for name, value := range map[string]string{"project": q.Project, "component": q.Component, "who": q.Who, "kind": q.Kind, "cursor": q.Cursor} {
		if value != "" {
			values.Set(name, value)
		}
	}
	if q.Limit != 0 {
		values.Set("limit", strconv.Itoa(q.Limit))
	}
	return values.Encode()
}
