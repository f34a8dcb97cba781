package wire

import (
	"encoding/json"
	"regexp"
	"strings"
)

// SyncPath takes POST, signed: a push delivery of a git server, recognised by
// its event header, or a SyncBody. It answers 200 with a SyncAnswer.
const SyncPath = "/sync"

// SyncBody asks to apply a repository's manifests at a branch.
type SyncBody struct {
	Repo string `json:"repo"` // owner/name
	Ref  string `json:"ref"`  // branch
}

// SyncAnswer counts what became of the manifests.
type SyncAnswer struct {
	Created int `json:"created"`
	Updated int `json:"updated"`
	Skipped int `json:"skipped"`
}

// Check names the field that is missing or malformed.
func (b SyncBody) Check() error {
	if !repository.MatchString(b.Repo) {
		return invalid("repo", b.Repo, "must be owner/name")
	}
	return required("ref", b.Ref)
}

// PushBody is the part of a push delivery that is read.
type PushBody struct {
	Ref        string `json:"ref"`   // refs/heads/main
	After      string `json:"after"` // the commit that ref names now
	Repository struct {
		FullName string `json:"full_name"` // owner/name
	} `json:"repository"`
	Project struct { // where GitLab has the name
		Path string `json:"path_with_namespace"`
	} `json:"project"`
}

// DecodePush reads a push delivery; fields it does not know are a git server's to send.
func DecodePush(body []byte) (PushBody, error) {
	var b PushBody
	if err := json.Unmarshal(body, &b); err != nil {
		return b, malformed(body, err)
	}
	if b.Repository.FullName == "" {
		b.Repository.FullName = b.Project.Path
	}
	switch {
	case !repository.MatchString(b.Repository.FullName):
		return b, invalid("repository.full_name", b.Repository.FullName, "must be owner/name")
	case !strings.HasPrefix(b.Ref, "refs/"):
		return b, invalid("ref", b.Ref, "must begin with refs/")
	case !commitSHA.MatchString(b.After):
		return b, invalid("after", b.After, "must be a whole commit SHA")
	}
	return b, nil
}

var (
	repository = regexp.MustCompile(`^\.?[A-Za-z0-9_-][A-Za-z0-9._-]{0,98}/\.?[A-Za-z0-9_-][A-Za-z0-9._-]{0,98}$`)
	commitSHA  = regexp.MustCompile(`^([0-9a-f]{40}|[0-9a-f]{64})$`)
)
