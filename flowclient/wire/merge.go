package wire

import (
	"cmp"
	"strconv"

	"platform.dev/platform/flowclient"
)

// MergePath takes POST with a MergeBody and answers 200 with the
// flowclient.Pull as merged; a conflict or a moved head is 409 with an Error.
const MergePath = "/git/merge"

// MergeBody asks for an open pull request to be merged.
type MergeBody struct {
	Project string `json:"project"`
	Number  int    `json:"number"`
	Head    string `json:"head,omitempty"` // whole SHA that must still be the head
}

// Request is the body as the controller takes it; *flowclient.Invalid names what is missing.
func (b MergeBody) Request(o flowclient.Origin) (flowclient.MergeRequest, error) {
	return flowclient.MergeRequest{Origin: o, Project: b.Project, Number: b.Number, Head: b.Head},
		cmp.Or(required("project", b.Project), positive("number", b.Number))
}

// FromMerge is the body of a request.
func FromMerge(r flowclient.MergeRequest) MergeBody {
	return MergeBody{Project: r.Project, Number: r.Number, Head: r.Head}
}

// positive is the number of a pull request.
func positive(field string, value int) error {
	if value < 1 {
		return invalid(field, strconv.Itoa(value), "must be the number of a pull request")
	}
	return nil
}
