package controlplane

import (
	"encoding/json"
	"net/http"
	"regexp"
	"strings"

	"platform.dev/platform/server/web"
)

// push is what the intake reads from a delivery, whatever its dialect.
type push struct {
	repository    string // as sent
	defaultBranch string
	branch        string // empty: every branch, the quirk of a pull-request payload
	before, after string
	touched       []string // empty: every component
	partial       bool     // touched is not all: the sender left commits out
	ignored       string   // why there is nothing to build
	warning       string
}

var (
	commitName = regexp.MustCompile(`^[0-9a-fA-F]{7,40}$`)
	zeros      = regexp.MustCompile(`^0{7,40}$`)
)

const branchPrefix = "refs/heads/"

// pushCommit is one commit of a payload.
type pushCommit struct {
	Added    []string `json:"added"`
	Modified []string `json:"modified"`
	Removed  []string `json:"removed"`
}

// readPush reads a payload. Which event it is is not asked: a body with a
// branch is a push, and one that describes a pull request and no ref counts as
// a push to no branch in particular, as the interface document says.
func readPush(d dialect, payload []byte) (push, error) {
	readers := map[dialect]func([]byte) (push, error){
		dialectGitHub: readGitHub, dialectGitLab: readGitLab, dialectBitbucket: readBitbucket,
	}
	p, err := readers[d](payload)
	if err != nil {
		return push{}, err
	}
	if p.repository == "" {
		return push{}, bad(http.StatusBadRequest, "repository.clone_url", "", "is required: the payload names no repository")
	}
	if p.after != "" && !commitName.MatchString(p.after) {
		return push{}, bad(http.StatusBadRequest, "after", web.Echo(p.after), "must be 7 to 40 hex digits")
	}
	if p.ignored == "" && zeros.MatchString(p.after) {
		p.ignored = "branch '" + p.branch + "' was deleted; there is nothing to build"
	}
	return p, nil
}

// readGitHub reads the payload of GitHub, Gitea, Gogs and the platform's own git server.
func readGitHub(payload []byte) (push, error) {
	var body struct {
		Ref          *string          `json:"ref"`
		RefType      string           `json:"ref_type"` // of the create and delete events
		Before       string           `json:"before"`
		After        string           `json:"after"`
		Commits      []pushCommit     `json:"commits"`
		TotalCommits int              `json:"total_commits"` // Gitea: commits holds at most five
		PullRequest  *json.RawMessage `json:"pull_request"`
		Repository   struct {
			CloneURL      string `json:"clone_url"`
			DefaultBranch string `json:"default_branch"`
		} `json:"repository"`
	}
	if err := readJSON(payload, &body); err != nil {
		return push{}, err
	}
	p := push{repository: body.Repository.CloneURL, defaultBranch: body.Repository.DefaultBranch, before: body.Before, after: body.After}
	if body.Ref == nil {
		if body.PullRequest == nil {
			return push{}, bad(http.StatusBadRequest, "ref", "", "is required: the payload is no push")
		}
		p.warning = "a pull-request payload builds every component of the repository; send pull-request deliveries to the flow controller's hook instead"
		p.after = ""
		return p, nil
	}
	if body.RefType != "" {
		p.ignored = "'" + web.Echo(*body.Ref) + "' was created or deleted without a push; there is nothing to build"
		return p, nil
	}
	p.setRef(*body.Ref)
	p.touched = touchedBy(body.Commits)
	p.partial = body.TotalCommits > len(body.Commits)
	return p, nil
}

// readGitLab reads GitLab's push payload.
func readGitLab(payload []byte) (push, error) {
	var body struct {
		Ref     *string      `json:"ref"`
		Before  string       `json:"before"`
		After   string       `json:"after"`
		Commits []pushCommit `json:"commits"`
		Total   int          `json:"total_commits_count"` // commits holds at most twenty
		Project struct {
			URL           string `json:"git_http_url"`
			DefaultBranch string `json:"default_branch"`
		} `json:"project"`
	}
	if err := readJSON(payload, &body); err != nil {
		return push{}, err
	}
	if body.Ref == nil {
		return push{}, bad(http.StatusBadRequest, "ref", "", "is required: the payload is no push")
	}
	p := push{repository: body.Project.URL, defaultBranch: body.Project.DefaultBranch, before: body.Before, after: body.After}
	p.setRef(*body.Ref)
	p.touched = touchedBy(body.Commits)
	p.partial = body.Total > len(body.Commits)
	return p, nil
}

// readBitbucket reads Bitbucket's push payload, which names no files: every component is built.
func readBitbucket(payload []byte) (push, error) {
	type tip struct {
		Type   string `json:"type"`
		Name   string `json:"name"`
		Target struct {
			Hash string `json:"hash"`
		} `json:"target"`
	}
	var body struct {
		Push struct {
			Changes []struct {
				New *tip `json:"new"`
			} `json:"changes"`
		} `json:"push"`
		Repository struct {
			Links struct {
				HTML struct {
					Href string `json:"href"`
				} `json:"html"`
			} `json:"links"`
		} `json:"repository"`
	}
	if err := readJSON(payload, &body); err != nil {
		return push{}, err
	}
	if len(body.Push.Changes) == 0 {
		return push{}, bad(http.StatusBadRequest, "push.changes", "", "is required: the payload is no push")
	}
	p := push{repository: body.Repository.Links.HTML.Href}
	switch change := body.Push.Changes[0].New; {
	case change == nil:
		p.ignored = "a branch was deleted; there is nothing to build"
	case change.Type != "branch":
		p.ignored = "'" + web.Echo(change.Name) + "' is not a branch; there is nothing to build"
	default:
		p.branch, p.after = change.Name, change.Target.Hash
	}
	return p, nil
}

// setRef takes the branch from a full ref; any other ref is nothing to build.
func (p *push) setRef(ref string) {
	branch, ok := strings.CutPrefix(ref, branchPrefix)
	if !ok || branch == "" {
		p.ignored = "'" + web.Echo(ref) + "' is not a branch; there is nothing to build"
		return
	}
	p.branch = branch
}

func touchedBy(commits []pushCommit) []string {
	var files []string
	for _, c := range commits {
		files = append(files, c.Added...)
		files = append(files, c.Modified...)
		files = append(files, c.Removed...)
	}
	return files
}

// touches tells whether one of the files lies under a component's appPath: unset
// is the whole repository; else one slash is trimmed at either end and a file
// is equal to it or under it, so that "/", "." and "./svc" match nothing. No
// files at all matches every component.
func touches(appPath string, files []string) bool {
	if appPath == "" || len(files) == 0 {
		return true
	}
	dir := strings.TrimSuffix(strings.TrimPrefix(appPath, "/"), "/")
	if dir == "" {
		return false
	}
	for _, f := range files {
		if f == dir || strings.HasPrefix(f, dir+"/") {
			return true
		}
	}
	return false
}

var scpLike = regexp.MustCompile(`^(?:[^@/:]+@)?([^/:]+):(.+)$`)

// foldURL brings the spellings of a repository's address together: ssh becomes
// https, ".git" and credentials are dropped, letters are lower case.
func foldURL(address string) string {
	folded := strings.ToLower(strings.TrimSpace(address))
	scheme, rest, ok := strings.Cut(folded, "://")
	if !ok {
		if m := scpLike.FindStringSubmatch(folded); m != nil {
			scheme, rest = "ssh", m[1]+"/"+strings.TrimPrefix(m[2], "/")
		} else {
			return strings.TrimSuffix(strings.TrimSuffix(folded, "/"), ".git")
		}
	}
	host, path, _ := strings.Cut(rest, "/")
	if i := strings.LastIndex(host, "@"); i >= 0 {
		host = host[i+1:]
	}
	if scheme == "ssh" || scheme == "git+ssh" {
		scheme = "https"
		host, _, _ = strings.Cut(host, ":") // the port is ssh's
	}
	return scheme + "://" + host + "/" + strings.TrimSuffix(strings.TrimSuffix(path, "/"), ".git")
}
