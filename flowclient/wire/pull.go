package wire

import (
	"cmp"

	"platform.dev/platform/flowclient"
)

// PullPath takes POST with a PullBody and answers 201 with a flowclient.Pull.
const PullPath = "/git/pr"

// PullBody asks for a branch with a commit, and a pull request of it.
type PullBody struct {
	Project string            `json:"project"`
	Branch  string            `json:"branch"`
	Base    string            `json:"base,omitempty"` // default: the default branch
	Title   string            `json:"title"`
	Body    string            `json:"body,omitempty"`
	Files   map[string]string `json:"files,omitempty"`
	Delete  []string          `json:"delete,omitempty"`
}

// Request is the body as the controller takes it; *flowclient.Invalid names what is missing.
func (b PullBody) Request(o flowclient.Origin) (flowclient.PullRequest, error) {
	err := cmp.Or(required("project", b.Project), required("branch", b.Branch), required("title", b.Title))
	if err == nil && len(b.Files)+len(b.Delete) == 0 {
		err = invalid("files", "", "is required: a pull request without files to write or delete changes nothing")
	}
	return flowclient.PullRequest{
		Origin: o, Project: b.Project, Branch: b.Branch, Base: b.Base, Title: b.Title, Body: b.Body, Files: b.Files, Delete: b.Delete,
	}, err
}

// FromPull is the body of a request.
func FromPull(r flowclient.PullRequest) PullBody {
	return PullBody{Project: r.Project, Branch: r.Branch, Base: r.Base, Title: r.Title, Body: r.Body, Files: r.Files, Delete: r.Delete}
}
