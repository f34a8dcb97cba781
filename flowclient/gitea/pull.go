package gitea

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"

	sdk "code.gitea.io/sdk/gitea"

	"platform.dev/platform/flowclient"
)

var _ flowclient.Pulls = (*Client)(nil)

const (
	listPages    = 200 // the most pages that a list may have: 10,000 pull requests
	listAttempts = 5   // readings of a list of several pages, until two are the same
)

// EnsurePull opens a pull request from branch to base, or returns the open one
// there is, whatever its title and body. *NotFound for a repository or branch
// that does not exist, *Invalid when the branch has nothing that base has not.
func (c *Client) EnsurePull(ctx context.Context, repo, branch, base, title, body string) (flowclient.Pull, error) {
	owner, name, err := split(repo)
	if err != nil {
		return flowclient.Pull{}, err
	}
	for field, ref := range map[string]string{"branch": branch, "base": base} {
		if !branchOK(ref) {
			return flowclient.Pull{}, &flowclient.Invalid{Field: field, Value: ref, Why: "not a branch name"}
		}
	}
	if strings.TrimSpace(title) == "" {
		return flowclient.Pull{}, &flowclient.Invalid{Field: "title", Value: title, Why: "want a line of text"}
	}
	api, err := c.api(ctx)
	if err != nil {
		return flowclient.Pull{}, err
	}
	for looks := 0; ; looks++ {
		made, resp, err := api.CreatePullRequest(owner, name, sdk.CreatePullRequestOption{Head: branch, Base: base, Title: title, Body: body})
		if err == nil {
			return pullOf(repo, made), nil
		}
		if err = c.missing(api, failed(resp, err, "branch", branch), repo); errors.Is(err, flowclient.ErrExists) {
			break
		}
		if !flowclient.IsNotFound(err) || looks == noticeLooks || !c.unnoticed(ctx, api, owner, name, branch, base) {
			return flowclient.Pull{}, err
		}
	}
	open, err := c.OpenPulls(ctx, repo)
	if err != nil {
		return flowclient.Pull{}, err
	}
	for _, p := range open {
		if p.Branch == branch && p.Base == base {
			return p, nil
		}
	}
	return flowclient.Pull{}, &flowclient.Upstream{Part: part, Err: fmt.Errorf("pull request of %s from %s to %s: there is said to be one, and none is listed", repo, branch, base)}
}

// unnoticed tells whether all the branches are there although one is said not
// to be: Gitea takes note of a pushed branch a moment after the push. It waits
// such a moment first.
func (c *Client) unnoticed(ctx context.Context, api *sdk.Client, owner, name string, branches ...string) bool {
	for _, b := range branches {
		if c.empty(ctx, api, owner, name, b) {
			return false
		}
	}
	return true
}

// Pull reads a pull request; *NotFound when there is none of the number.
func (c *Client) Pull(ctx context.Context, repo string, number int) (flowclient.Pull, error) {
	p, err := c.readPull(ctx, repo, number)
	if err != nil {
		return flowclient.Pull{}, err
	}
	return pullOf(repo, p), nil
}

func (c *Client) readPull(ctx context.Context, repo string, number int) (*sdk.PullRequest, error) {
	owner, name, err := split(repo)
	if err != nil {
		return nil, err
	}
	if number < 1 {
		return nil, &flowclient.Invalid{Field: "number", Value: strconv.Itoa(number), Why: "pull requests are counted from 1"}
	}
	api, err := c.api(ctx)
	if err != nil {
		return nil, err
	}
	p, resp, err := api.GetPullRequest(owner, name, int64(number))
	if err != nil {
		return nil, c.missing(api, failed(resp, err, "pull request", strconv.Itoa(number)), repo)
	}
	return p, nil
}

// OpenPulls lists every open pull request by number. A page that cannot be
// read is an error, and so is a list that changes whenever it is read: while
// pages are turned, a pull request that ends moves another one past the page's
// edge, so that several pages count only when two readings agree.
func (c *Client) OpenPulls(ctx context.Context, repo string) ([]flowclient.Pull, error) {
	api, owner, name, err := c.at(ctx, repo)
	if err != nil {
		return nil, err
	}
	var before []flowclient.Pull
	for attempt := range listAttempts {
		list, pages, err := listOpen(api, owner, name)
		if err != nil {
			return nil, err
		}
		if pages == 1 || attempt > 0 && slices.EqualFunc(before, list, func(a, b flowclient.Pull) bool { return a.Number == b.Number }) {
			return list, nil
		}
		before = list
	}
	return nil, &flowclient.Upstream{Part: part, Err: fmt.Errorf("open pull requests of %s: the list changed between each two of %d readings", repo, listAttempts)}
}

// listOpen reads the list once and tells how many pages it had.
func listOpen(api *sdk.Client, owner, name string) (list []flowclient.Pull, pages int, err error) {
	repo := owner + "/" + name
	for page := 1; page <= listPages; page++ {
		got, resp, err := api.ListRepoPullRequests(owner, name, sdk.ListPullRequestsOptions{
			ListOptions: sdk.ListOptions{Page: page, PageSize: pageSize}, State: sdk.StateOpen, Sort: "oldest",
		})
		if err != nil {
			return nil, page, failed(resp, err, "repository", repo)
		}
		for _, p := range got {
			if p != nil {
				list = append(list, pullOf(repo, p))
			}
		}
		if len(got) < pageSize {
			return list, page, nil
		}
	}
	return nil, listPages, &flowclient.Upstream{Part: part, Err: fmt.Errorf("open pull requests of %s: more than %d pages", repo, listPages)}
}

// DeleteBranch deletes a branch. *NotFound when there is none, a *Refusal for
// one that the server keeps.
func (c *Client) DeleteBranch(ctx context.Context, repo, branch string) error {
	owner, name, err := split(repo)
	if err != nil {
		return err
	}
	if !branchOK(branch) {
		return &flowclient.Invalid{Field: "branch", Value: branch, Why: "not a branch name"}
	}
	api, err := c.api(ctx)
	if err != nil {
		return err
	}
	gone, resp, err := api.DeleteRepoBranch(owner, name, branch)
	switch {
	case err == nil && gone:
		return nil
	case err == nil && resp.StatusCode == http.StatusForbidden:
		return flowclient.Refuse("%s of %s is the default branch, or protected: make another branch the default one, or lift the protection, and ask again.", branch, repo)
	case err == nil:
		err = fmt.Errorf("delete branch %s", branch)
	}
	return c.missing(api, failed(resp, err, "branch", branch), repo)
}

// pullOf is the port's view of Gitea's. The name of the branch is its label:
// its ref is another one once the branch is gone.
func pullOf(repo string, p *sdk.PullRequest) flowclient.Pull {
	out := flowclient.Pull{Repo: repo, Number: int(p.Index), Title: p.Title, State: string(p.State), Merged: p.HasMerged, URL: p.HTMLURL}
	if p.HasMerged && p.MergedCommitID != nil {
		out.MergeCommit = *p.MergedCommitID
	}
	if p.Head != nil {
		out.Branch, out.Head = p.Head.Name, p.Head.Sha
	}
	if p.Base != nil {
		out.Base = p.Base.Name
	}
	for _, l := range p.Labels {
		if l != nil {
			out.Labels = append(out.Labels, l.Name)
		}
	}
	slices.Sort(out.Labels)
	if p.Poster != nil {
		out.Author = p.Poster.UserName
	}
	if p.Updated != nil {
		out.Updated = *p.Updated
	}
	return out
}
