package gitea

import (
	"context"
	"strconv"
	"strings"

	sdk "code.gitea.io/sdk/gitea"

	"platform.dev/platform/flowclient"
)

const maxComment = 60 << 10 // bytes of a comment's text

// Comment keeps one comment per key on a pull request: made the first time,
// edited when the text differs. The key stands in the comment's last line,
// which pages do not show, so that it is found again by whoever asks next.
func (c *Client) Comment(ctx context.Context, repo string, number int, key, text string) error {
	owner, name, err := split(repo)
	switch {
	case err != nil:
		return err
	case key == "" || len(key) > 200 || strings.Contains(key, "--") || strings.ContainsAny(key, "<>\r\n"):
		return &flowclient.Invalid{Field: "key", Value: key, Why: "want 1 to 200 characters without <, > and --"}
	case strings.TrimSpace(text) == "" || len(text) > maxComment:
		return &flowclient.Invalid{Field: "text", Value: "", Why: "want 1 to 61440 bytes"}
	}
	c.commenting.Lock() // two at one time would both find none
	defer c.commenting.Unlock()
	api, err := c.api(ctx)
	if err != nil {
		return err
	}
	marker := "<!-- platform:" + key + " -->"
	body := strings.TrimRight(text, "\n") + "\n\n" + marker
	there, err := c.findComment(ctx, api, repo, number, marker)
	switch {
	case err != nil:
		return err
	case there == nil:
		_, resp, err := api.CreateIssueComment(owner, name, int64(number), sdk.CreateIssueCommentOption{Body: body})
		return failed(resp, err, "pull request", strconv.Itoa(number))
	case there.Body == body:
		return nil
	}
	_, resp, err := api.EditIssueComment(owner, name, there.ID, sdk.EditIssueCommentOption{Body: body})
	return failed(resp, err, "comment", strconv.FormatInt(there.ID, 10))
}

// findComment finds our oldest comment that ends with the marker; nil when
// there is none. A server may give all comments whatever page is asked for.
func (c *Client) findComment(ctx context.Context, api *sdk.Client, repo string, number int, marker string) (*sdk.Comment, error) {
	owner, name, err := split(repo)
	if err != nil {
		return nil, err
	}
	var last int64
	for page := 1; ; page++ {
		got, resp, err := api.ListIssueComments(owner, name, int64(number), sdk.ListIssueCommentOptions{ListOptions: sdk.ListOptions{Page: page, PageSize: pageSize}})
		if err != nil {
			if _, missing := c.readPull(ctx, repo, number); flowclient.IsNotFound(missing) {
				return nil, missing // Gitea answers 500 for comments of no pull request
			}
			return nil, failed(resp, err, "pull request", strconv.Itoa(number))
		}
		fresh := false
		for _, one := range got {
			if one == nil || one.ID <= last {
				continue
			}
			last, fresh = one.ID, true
			if one.Poster != nil && strings.EqualFold(one.Poster.UserName, c.cfg.User) && strings.HasSuffix(strings.TrimRight(one.Body, "\r\n "), marker) {
				return one, nil
			}
		}
		if !fresh || len(got) < pageSize {
			return nil, nil
		}
	}
}
