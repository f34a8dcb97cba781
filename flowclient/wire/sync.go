package wire

import (
	"cmp"
	"regexp"
	"strings"

	"platform.dev/platform/flowclient"
)

// SyncPath takes POST and answers 200 with a SyncAnswer: a SyncBody, signed or
// with the token; or a push delivery of a git server, recognised by its event
// header and signed, whose answer counts nothing where there was nothing to apply.
const SyncPath = "/sync"

// SyncAnswer is what became of the manifests. Note says why a push applied
// none: its sender could do nothing about an error, and would send it again.
type SyncAnswer struct {
	flowclient.Synced
	Note string `json:"note,omitempty"`
}

// SyncBody asks to apply a repository's manifests at a branch.
type SyncBody struct {
	Repo string `json:"repo"` // owner/name
	Ref  string `json:"ref"`  // branch
}

// FromSync is the body of a request.
func FromSync(r flowclient.SyncRequest) SyncBody { return SyncBody{Repo: r.Repo, Ref: r.Ref} }

// Request is the body as the controller takes it; *flowclient.Invalid names the field that is missing or malformed.
func (b SyncBody) Request(o flowclient.Origin) (flowclient.SyncRequest, error) {
	return flowclient.SyncRequest{Origin: o, Repo: b.Repo, Ref: b.Ref}, cmp.Or(checkRepository("repo", b.Repo), required("ref", b.Ref))
}

// PushBody is the part of a push delivery that is read.
type PushBody struct {
	Ref        string `json:"ref"`   // refs/heads/main
	After      string `json:"after"` // the commit that ref names now
	Repository struct {
		FullName      string `json:"full_name"` // owner/name
		DefaultBranch string `json:"default_branch"`
	} `json:"repository"`
	Project struct { // where GitLab has them
		Path          string `json:"path_with_namespace"`
		DefaultBranch string `json:"default_branch"`
	} `json:"project"`
	Pusher struct {
		Login string `json:"login"`
		Name  string `json:"name"` // where GitHub has the login
	} `json:"pusher"`
}

// fields are the ones that are read.
func (b *PushBody) fields() []wanted {
	return []wanted{
		{name: "ref", text: &b.Ref},
		{name: "after", text: &b.After},
		{name: "repository", object: []wanted{
			{name: "full_name", text: &b.Repository.FullName},
			{name: "default_branch", text: &b.Repository.DefaultBranch},
		}},
		{name: "project", object: []wanted{
			{name: "path_with_namespace", text: &b.Project.Path},
			{name: "default_branch", text: &b.Project.DefaultBranch},
		}},
		{name: "pusher", object: []wanted{
			{name: "login", text: &b.Pusher.Login},
			{name: "name", text: &b.Pusher.Name},
		}},
	}
}

// Who pushed, by the login on the git server.
func (b PushBody) Who() string {
	for _, who := range []string{b.Pusher.Login, b.Pusher.Name} {
		if required("pusher", who) == nil && printable("pusher", who, maxActor) == nil {
			return who
		}
	}
	return DefaultActor
}

// Manifests is the branch whose manifests the push may have changed: the
// repository's default branch. ok is false for other branches, for tags, and
// for a branch that was deleted.
func (b PushBody) Manifests() (branch string, ok bool) {
	branch, isBranch := strings.CutPrefix(b.Ref, "refs/heads/")
	return branch, isBranch && branch == b.Repository.DefaultBranch && strings.Trim(b.After, "0") != ""
}

// DecodePush reads a push delivery; fields it does not know are a git server's to send.
func DecodePush(body []byte) (PushBody, error) {
	var b PushBody
	if err := readPayload(body, &b, b.fields()); err != nil {
		return b, err
	}
	if b.Repository.FullName == "" {
		b.Repository.FullName = b.Project.Path
	}
	b.Repository.DefaultBranch = cmp.Or(b.Repository.DefaultBranch, b.Project.DefaultBranch)
	if err := checkRepository("repository.full_name", b.Repository.FullName); err != nil {
		return b, err
	}
	switch {
	case !strings.HasPrefix(b.Ref, "refs/"):
		return b, invalid("ref", b.Ref, "must begin with refs/")
	case !commitSHA.MatchString(b.After):
		return b, invalid("after", b.After, "must be a whole commit SHA")
	}
	return b, nil
}

// checkRepository refuses what is no owner/name.
func checkRepository(field, name string) error {
	if !repository.MatchString(name) {
		return invalid(field, name, "must be owner/name")
	}
	return nil
}

var (
	repository = regexp.MustCompile(`^\.?[A-Za-z0-9_-][A-Za-z0-9._-]{0,98}/\.?[A-Za-z0-9_-][A-Za-z0-9._-]{0,98}$`)
	commitSHA  = regexp.MustCompile(`^([0-9a-f]{40}|[0-9a-f]{64})$`)
)
