package wire

import (
	"cmp"
	"net/url"
	"time"

	"platform.dev/platform/flowclient"
)

// LocksPath takes GET, with the query of a page and ?olderThan=, and answers
// 200 with a LocksAnswer; POST with a LockBody and answers 201 with a
// flowclient.Lock; DELETE with the query of ClearQuery and answers 200 with a
// ClearAnswer: of what was cleared, or (&dryRun=true) of what would be.
const LocksPath = "/locks"

// LockBody locks a commit of a component, in one environment (To) or in every one.
type LockBody struct {
	Component string `json:"component"`
	Commit    string `json:"commit"`
	To        string `json:"to,omitempty"`
	Reason    string `json:"reason"`
}

// LocksAnswer lists locks, oldest first.
type LocksAnswer struct {
	Locks     []flowclient.Lock `json:"locks"`
	Next      string            `json:"next,omitempty"`
	OlderThan string            `json:"olderThan,omitempty"` // the age that was asked for: others are not listed
}

// Request is the body as the controller takes it; *flowclient.Invalid names what is missing.
func (b LockBody) Request(o flowclient.Origin) (flowclient.LockRequest, error) {
	return flowclient.LockRequest{Origin: o, Component: b.Component, Commit: b.Commit, Environment: b.To, Reason: b.Reason},
		cmp.Or(required("component", b.Component), required("commit", b.Commit), required("reason", b.Reason))
}

// FromLock is the body of a request.
func FromLock(r flowclient.LockRequest) LockBody {
	return LockBody{Component: r.Component, Commit: r.Commit, To: r.Environment, Reason: r.Reason}
}

// ClearAnswer is the locks that were cleared. That of a dry run clears none,
// and also says what could move without them, as flowclient.Unlocking does.
type ClearAnswer struct {
	Locks    []flowclient.Lock             `json:"locks"`
	Moves    []flowclient.ComponentOutcome `json:"moves,omitempty"`
	Sentence string                        `json:"sentence,omitempty"`
}

// LocksRequest reads which locks are asked for: a page, of those that have held
// for at least an age; *flowclient.Invalid.
func LocksRequest(query string) (p Page, olderThan time.Duration, err error) {
	q, err := Query(query, "limit", "cursor", "olderThan")
	if err != nil {
		return Page{}, 0, err
	}
	if text, asked := q["olderThan"]; asked {
		if olderThan, err = time.ParseDuration(text); err != nil || olderThan < 0 {
			return Page{}, 0, invalid("olderThan", text, "must be a duration such as 336h, which is 14 days")
		}
	}
	p, err = PageOf(LocksPath, q)
	return p, olderThan, err
}

// ClearRequest reads which locks to clear, or (dryRun) would be, from a query;
// *flowclient.Invalid names what is missing.
func ClearRequest(query string, o flowclient.Origin) (r flowclient.LockRequest, dryRun bool, err error) {
	q, err := Query(query, "component", "commit", "to", "dryRun")
	if err != nil {
		return flowclient.LockRequest{}, false, err
	}
	dry, asked := q["dryRun"]
	if asked && dry != "true" && dry != "false" {
		return flowclient.LockRequest{}, false, invalid("dryRun", dry, "must be true or false")
	}
	return flowclient.LockRequest{Origin: o, Component: q["component"], Commit: q["commit"], Environment: q["to"]}, dry == "true",
		cmp.Or(required("component", q["component"]), required("commit", q["commit"]))
}

// ClearQuery is the query that clears the locks of a component's commit, or that tells what that would do.
func ClearQuery(r flowclient.LockRequest, dryRun bool) string {
	q := url.Values{"component": {r.Component}, "commit": {r.Commit}}
	if r.Environment != "" {
		q.Set("to", r.Environment)
	}
	if dryRun {
		q.Set("dryRun", "true")
	}
	return q.Encode()
}
