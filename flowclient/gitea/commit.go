package gitea

import (
	"context"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"time"

	sdk "code.gitea.io/sdk/gitea"

	"platform.dev/platform/flowclient"
)

var wholeSHA = regexp.MustCompile(`^[0-9a-f]{40}$`)

// Commit resolves a branch, a tag or a commit, abbreviated or whole.
// *NotFound, and *Invalid when an abbreviation means several commits.
func (c *Client) Commit(ctx context.Context, repo, ref string) (flowclient.Commit, error) {
	owner, name, err := split(repo)
	if err != nil {
		return flowclient.Commit{}, err
	}
	if ref == "" {
		return flowclient.Commit{}, &flowclient.Invalid{Field: "commit", Value: ref, Why: "want a branch or a commit"}
	}
	api, err := c.api(ctx)
	if err != nil {
		return flowclient.Commit{}, err
	}
	got, resp, err := api.GetSingleCommit(owner, name, ref)
	if err != nil {
		return flowclient.Commit{}, c.missing(api, failed(resp, err, "commit", ref), repo)
	}
	return commit(got), nil
}

// missing tells a repository that does not exist from a commit that does not.
func (c *Client) missing(api *sdk.Client, err error, repo string) error {
	if !flowclient.IsNotFound(err) {
		return err
	}
	owner, name, _ := strings.Cut(repo, "/")
	if _, resp, err := api.GetRepo(owner, name); err != nil {
		return failed(resp, err, "repository", repo)
	}
	return err
}

// Commits lists the newest commits reachable from ref, newest first, at most
// limit. An empty repository has none.
func (c *Client) Commits(ctx context.Context, repo, ref string, limit int) ([]flowclient.Commit, error) {
	api, owner, name, err := c.at(ctx, repo)
	if err != nil {
		return nil, err
	}
	var commits []flowclient.Commit
	for page, looks := 1, 0; len(commits) < limit; page++ {
		got, resp, err := api.ListRepoCommits(owner, name, sdk.ListCommitOptions{
			ListOptions: sdk.ListOptions{Page: page, PageSize: min(limit, pageSize)}, SHA: ref,
		})
		if err != nil && resp != nil && resp.StatusCode == http.StatusConflict { // "Git Repository is empty."
			if looks++; looks > noticeLooks || c.empty(ctx, api, owner, name, ref) {
				if ctx.Err() != nil {
					return nil, &flowclient.Upstream{Part: part, Err: ctx.Err()}
				}
				return nil, nil
			}
			page--
			continue
		}
		if err != nil {
			return nil, c.missing(api, failed(resp, err, "commit", ref), repo)
		}
		for _, one := range got[:min(len(got), limit-len(commits))] {
			commits = append(commits, commit(one))
		}
		if len(got) < min(limit, pageSize) {
			break
		}
	}
	return commits, nil
}

// Gitea takes note of the first push a moment after it has answered, and calls
// the repository empty until then.
const (
	noticeLooks = 50
	noticePause = 100 * time.Millisecond
)

// empty tells whether a repository that is called empty has no such ref
// either; when it has, it waits a moment first.
func (c *Client) empty(ctx context.Context, api *sdk.Client, owner, name, ref string) bool {
	if _, _, err := api.GetSingleCommit(owner, name, ref); err != nil {
		return true
	}
	pause := time.NewTimer(noticePause)
	defer pause.Stop()
	select {
	case <-pause.C:
		return false
	case <-ctx.Done():
		return true
	}
}

// commit is the port's view of Gitea's.
func commit(c *sdk.Commit) flowclient.Commit {
	out := flowclient.Commit{WebURL: c.HTMLURL}
	if c.CommitMeta != nil {
		out.SHA, out.At = c.SHA, c.Created
	}
	if c.RepoCommit != nil {
		out.Subject, _, _ = strings.Cut(c.RepoCommit.Message, "\n")
		if c.RepoCommit.Author != nil {
			out.Author = c.RepoCommit.Author.Name
		}
	}
	return out
}

// states are those of flowclient.CommitStatus; Gitea takes any word.
var states = []string{"pending", "success", "failure", "error"}

// SetStatus adds a status beside a commit; the newest of each context counts.
// One that says what the newest says is not added: whoever was cut short says
// it again, and it stands there once.
func (c *Client) SetStatus(ctx context.Context, repo, sha string, s flowclient.CommitStatus) error {
	owner, name, err := split(repo)
	if err != nil {
		return err
	}
	if !wholeSHA.MatchString(sha) {
		return &flowclient.Invalid{Field: "sha", Value: sha, Why: "want a whole SHA"}
	}
	if !slices.Contains(states, s.State) {
		return &flowclient.Invalid{Field: "state", Value: s.State, Why: "want one of " + strings.Join(states, ", ")}
	}
	api, err := c.api(ctx)
	if err != nil {
		return err
	}
	said, resp, err := api.ListStatuses(owner, name, sha, sdk.ListStatusesOption{}) // newest first
	if err != nil {
		return c.missing(api, failed(resp, err, "commit", sha), repo)
	}
	newest := slices.IndexFunc(said, func(one *sdk.Status) bool { return one.Context == s.Context })
	if newest >= 0 && saysSame(said[newest], s) {
		return nil
	}
	_, resp, err = api.CreateStatus(owner, name, sha, sdk.CreateStatusOption{
		State: sdk.StatusState(s.State), Context: s.Context, Description: s.Description, TargetURL: s.URL,
	})
	if err != nil {
		return c.missing(api, failed(resp, err, "commit", sha), repo)
	}
	return nil
}

// saysSame tells whether a status says what s does.
func saysSame(one *sdk.Status, s flowclient.CommitStatus) bool {
	return string(one.State) == s.State && one.Description == s.Description && one.TargetURL == s.URL
}
