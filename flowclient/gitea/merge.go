package gitea

import (
	"context"
	"fmt"
	"net/http"
	"time"

	sdk "code.gitea.io/sdk/gitea"

	"platform.dev/platform/flowclient"
)

// Gitea computes after each push to either branch whether a pull request can
// be merged, and answers 405 until it knows. It answers the same when it knows
// that there is a conflict: how long it has been saying so tells them apart.
const (
	mergePatience = 15 * time.Second
	mergePause    = 100 * time.Millisecond // the first; each is twice as long as the one before
	mergeMaxPause = 2 * time.Second
)

// MergePull merges by a merge commit, when the head is still head ("" for the
// head as it stands). A pull request that is merged already is returned as it
// is. A *Refusal says what to do about a conflict, a head that moved, and a
// pull request that is closed.
func (c *Client) MergePull(ctx context.Context, repo string, number int, head string) (flowclient.Pull, error) {
	if head != "" && !wholeSHA.MatchString(head) {
		return flowclient.Pull{}, &flowclient.Invalid{Field: "head", Value: head, Why: "want a whole SHA"}
	}
	patience, pause := c.cfg.MergePatience, mergePause
	if patience == 0 {
		patience = mergePatience
	}
	until := time.NewTimer(patience)
	defer until.Stop()
	for {
		p, err := c.Pull(ctx, repo, number)
		if err != nil {
			return flowclient.Pull{}, err
		}
		if done, err := mayMerge(p, head); done || err != nil {
			return p, err
		}
		status, err := c.tryMerge(ctx, p, head)
		switch {
		case err != nil && status != http.StatusInternalServerError:
			return flowclient.Pull{}, err
		case status == http.StatusConflict:
			return c.conflicting(ctx, repo, number, head)
		case status == http.StatusOK:
			return c.Pull(ctx, repo, number)
		}
		next := time.NewTimer(pause)
		pause = min(2*pause, mergeMaxPause)
		select {
		case <-next.C:
		case <-until.C:
			next.Stop()
			if err != nil {
				return flowclient.Pull{}, err
			}
			return c.conflicting(ctx, repo, number, head)
		case <-ctx.Done():
			next.Stop()
			return flowclient.Pull{}, &flowclient.Upstream{Part: part, Err: ctx.Err()}
		}
	}
}

// mayMerge tells whether a pull request is merged as asked for, or why it will not be.
func mayMerge(p flowclient.Pull, head string) (done bool, err error) {
	switch {
	case head != "" && p.Head != head:
		return false, flowclient.Refuse("pull request %d of %s is at %.10s now, not at %.10s: look at what was pushed, and merge that.", p.Number, p.Repo, p.Head, head)
	case p.Merged:
		return true, nil
	case p.State != string(sdk.StateOpen):
		return false, flowclient.Refuse("pull request %d of %s is closed: reopen it, then merge it.", p.Number, p.Repo)
	}
	return false, nil
}

// tryMerge asks once and gives the status: 200, 405 for later, 409 for a
// conflict. 500 comes with an error and is worth another try: so answers Gitea
// when two merge the same at one time.
func (c *Client) tryMerge(ctx context.Context, p flowclient.Pull, head string) (int, error) {
	owner, name, err := split(p.Repo)
	if err != nil {
		return 0, err
	}
	api, err := c.api(ctx)
	if err != nil {
		return 0, err
	}
	merged, resp, err := api.MergePullRequest(owner, name, int64(p.Number), sdk.MergePullRequestOption{Style: sdk.MergeStyleMerge, HeadCommitId: head})
	if err != nil {
		return 0, failed(resp, err, "pull request", fmt.Sprint(p.Number))
	}
	switch {
	case merged:
		return http.StatusOK, nil
	case resp.StatusCode == http.StatusMethodNotAllowed, resp.StatusCode == http.StatusConflict:
		return resp.StatusCode, nil
	case resp.StatusCode == http.StatusNotFound: // closed since it was read: the next reading says so
		return http.StatusMethodNotAllowed, nil
	}
	return resp.StatusCode, failed(resp, fmt.Errorf("merge pull request %d of %s", p.Number, p.Repo), "pull request", fmt.Sprint(p.Number))
}

// conflicting says why a merge was refused, by the pull request as it stands now.
func (c *Client) conflicting(ctx context.Context, repo string, number int, head string) (flowclient.Pull, error) {
	p, err := c.Pull(ctx, repo, number)
	if err != nil {
		return flowclient.Pull{}, err
	}
	if done, err := mayMerge(p, head); done || err != nil {
		return p, err
	}
	return flowclient.Pull{}, flowclient.Refuse("pull request %d of %s cannot be merged into %s without resolving by hand: merge %s into %s, resolve what conflicts, push, and merge again.",
		number, repo, p.Base, p.Base, p.Branch)
}
