package wire

import (
	"cmp"
	"net/url"
	"strconv"
	"time"

	"platform.dev/platform/flowclient"
)

// FreezesPath takes GET, with the query of a page, and answers 200 with a
// FreezesAnswer; POST with a FreezeBody and answers 201 with a
// flowclient.Freeze; DELETE with the query of ThawQuery and answers 200 with
// the flowclient.Freeze that was cleared.
const FreezesPath = "/freezes"

// FreezeBody freezes production of a project, or of every one, from an instant
// (now, where none is given) until another.
type FreezeBody struct {
	Project string    `json:"project,omitempty"`
	From    time.Time `json:"from,omitzero"`
	Until   time.Time `json:"until"`
	Reason  string    `json:"reason"`
}

// FreezesAnswer lists the freezes that hold or are to come, by when they begin.
type FreezesAnswer struct {
	Freezes []flowclient.Freeze `json:"freezes"`
	Next    string              `json:"next,omitempty"`
}

// Request is the body as the controller takes it; *flowclient.Invalid names what is missing.
func (b FreezeBody) Request(o flowclient.Origin) (flowclient.FreezeRequest, error) {
	var until string
	if !b.Until.IsZero() {
		until = b.Until.Format(time.RFC3339)
	}
	return flowclient.FreezeRequest{Origin: o, Project: b.Project, From: b.From, Until: b.Until, Reason: b.Reason},
		cmp.Or(required("until", until), required("reason", b.Reason))
}

// FromFreeze is the body of a request.
func FromFreeze(r flowclient.FreezeRequest) FreezeBody {
	return FreezeBody{Project: r.Project, From: r.From, Until: r.Until, Reason: r.Reason}
}

// ThawRequest reads which freeze to clear from a query; *flowclient.Invalid
// when its number is missing or none.
func ThawRequest(query string, o flowclient.Origin) (flowclient.FreezeRequest, error) {
	q, err := Query(query, "id")
	if err != nil {
		return flowclient.FreezeRequest{}, err
	}
	if err := required("id", q["id"]); err != nil {
		return flowclient.FreezeRequest{}, err
	}
	id, err := strconv.ParseUint(q["id"], 10, 63)
	if err != nil || id == 0 {
		return flowclient.FreezeRequest{}, invalid("id", q["id"], "must be the number of a freeze")
	}
	return flowclient.FreezeRequest{Origin: o, ID: int64(id)}, nil
}

// ThawQuery is the query that clears a freeze.
func ThawQuery(r flowclient.FreezeRequest) string {
	return url.Values{"id": {strconv.FormatInt(r.ID, 10)}}.Encode()
}
