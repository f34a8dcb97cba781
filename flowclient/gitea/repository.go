package gitea

import (
	"context"
	"net/http"
	"strings"

	sdk "code.gitea.io/sdk/gitea"

	"platform.dev/platform/flowclient"
)

// EnsureRepository creates the repository "owner/name", private and empty, or
// returns the one there is. *NotFound when the organisation does not exist.
func (c *Client) EnsureRepository(ctx context.Context, repo, description string) (flowclient.Repository, error) {
	api, owner, name, err := c.at(ctx, repo)
	if err != nil {
		return flowclient.Repository{}, err
	}
	got, resp, err := api.GetRepo(owner, name)
	if err == nil {
		return repository(got), nil
	}
	if err := failed(resp, err, "repository", repo); !flowclient.IsNotFound(err) {
		return flowclient.Repository{}, err
	}
	opt := sdk.CreateRepoOption{Name: name, Description: description, Private: true, DefaultBranch: "main"}
	if strings.EqualFold(owner, c.cfg.User) {
		got, resp, err = api.CreateRepo(opt)
	} else {
		got, resp, err = api.CreateOrgRepo(owner, opt)
	}
	if err != nil && resp != nil && resp.StatusCode == http.StatusConflict { // somebody was faster
		got, resp, err = api.GetRepo(owner, name)
		return repository(got), failed(resp, err, "repository", repo)
	}
	if err != nil {
		kind, what := "repository", repo
		if resp != nil && resp.StatusCode == http.StatusNotFound {
			kind, what = "organization", owner
		}
		return flowclient.Repository{}, failed(resp, err, kind, what)
	}
	return repository(got), nil
}

// repository is the port's view of Gitea's.
func repository(r *sdk.Repository) flowclient.Repository {
	if r == nil {
		return flowclient.Repository{}
	}
	return flowclient.Repository{Name: r.FullName, CloneURL: r.CloneURL, WebURL: r.HTMLURL, DefaultBranch: r.DefaultBranch}
}

// DeleteRepository deletes the repository with everything in it; *NotFound when there is none.
func (c *Client) DeleteRepository(ctx context.Context, repo string) error {
	api, owner, name, err := c.at(ctx, repo)
	if err != nil {
		return err
	}
	resp, err := api.DeleteRepo(owner, name)
	return failed(resp, err, "repository", repo)
}
