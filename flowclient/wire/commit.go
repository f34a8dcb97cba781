package wire

import (
	"cmp"

	"platform.dev/platform/flowclient"
)

// CommitPath takes POST with a CommitBody and answers 201 with a flowclient.Commit.
const CommitPath = "/git/commit"

// CommitBody asks for a commit to a project's repository: files to write, by
// path, and paths to delete.
type CommitBody struct {
	Project string            `json:"project"`
	Branch  string            `json:"branch,omitempty"`
	Message string            `json:"message"`
	Files   map[string]string `json:"files,omitempty"`
	Delete  []string          `json:"delete,omitempty"`
}

// Request is the body as the controller takes it; *flowclient.Invalid names what is missing.
func (b CommitBody) Request(o flowclient.Origin) (flowclient.CommitRequest, error) {
	err := cmp.Or(required("project", b.Project), required("message", b.Message))
	if err == nil && len(b.Files)+len(b.Delete) == 0 {
		err = invalid("files", "", "is required: a commit without files to write or delete changes nothing")
	}
	return flowclient.CommitRequest{
		Origin: o, Project: b.Project, Branch: b.Branch, Message: b.Message, Files: b.Files, Delete: b.Delete,
	}, err
}

// FromCommit is the body of a request.
func FromCommit(r flowclient.CommitRequest) CommitBody {
	return CommitBody{Project: r.Project, Branch: r.Branch, Message: r.Message, Files: r.Files, Delete: r.Delete}
}
