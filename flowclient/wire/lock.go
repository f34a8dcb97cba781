package wire

import (
	"cmp"
	"net/url"

	"platform.dev/platform/flowclient"
)

// LocksPath takes GET and answers 200 with a LocksAnswer; POST with a LockBody
// and answers 201 with a flowclient.Lock; DELETE with the query of ClearQuery
// and answers 200 with a LocksAnswer of what was cleared.
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
	Locks []flowclient.Lock `json:"locks"`
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

// ClearRequest reads which locks to clear from a query; *flowclient.Invalid names what is missing.
func ClearRequest(query string, o flowclient.Origin) (flowclient.LockRequest, error) {
	q, err := Query(query, "component", "commit", "to")
	if err != nil {
		return flowclient.LockRequest{}, err
	}
	return flowclient.LockRequest{Origin: o, Component: q["component"], Commit: q["commit"], Environment: q["to"]},
		cmp.Or(required("component", q["component"]), required("commit", q["commit"]))
}

// ClearQuery is the query that clears the locks of a component's commit.
func ClearQuery(r flowclient.LockRequest) string {
	q := url.Values{"component": {r.Component}, "commit": {r.Commit}}
	if r.Environment != "" {
		q.Set("to", r.Environment)
	}
	return q.Encode()
}
