package server

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"strings"

	sdk "code.gitea.io/sdk/gitea"

	"platform.dev/platform/flowclient/flowtest"
)

// gitPeople do on the embedded git server what people do there, through the
// client that Gitea's makers publish.
type gitPeople struct{ p *started }

var _ flowtest.People = gitPeople{}

// at gives the server's API and the two parts of a repository's name.
func (g gitPeople) at(ctx context.Context, repo string) (api *sdk.Client, owner, name string, err error) {
	owner, name, _ = strings.Cut(repo, "/")
	api, err = sdk.NewClient(g.p.ports.URL("git"), sdk.SetToken(g.p.rooms.tokens.git), sdk.SetContext(ctx), sdk.SetGiteaVersion(""),
		sdk.SetHTTPClient(&http.Client{Transport: &http.Transport{DisableKeepAlives: true}}))
	return api, owner, name, err
}

func (g gitPeople) set(ctx context.Context, repo string, number int, state sdk.StateType) error {
	api, owner, name, err := g.at(ctx, repo)
	if err == nil {
		_, _, err = api.EditPullRequest(owner, name, int64(number), sdk.EditPullRequestOption{State: &state})
	}
	return err
}

// ClosePull closes a pull request without merging it.
func (g gitPeople) ClosePull(ctx context.Context, repo string, number int) error {
	return g.set(ctx, repo, number, sdk.StateClosed)
}

// ReopenPull opens a closed one again.
func (g gitPeople) ReopenPull(ctx context.Context, repo string, number int) error {
	return g.set(ctx, repo, number, sdk.StateOpen)
}

// LabelPull gives a pull request these labels alone, making those that are not there.
func (g gitPeople) LabelPull(ctx context.Context, repo string, number int, labels ...string) error {
	api, owner, name, err := g.at(ctx, repo)
	if err != nil {
		return err
	}
	known, _, err := api.ListRepoLabels(owner, name, sdk.ListLabelsOptions{})
	if err != nil {
		return err
	}
	ids := []int64{}
	for _, label := range labels {
		i := slices.IndexFunc(known, func(l *sdk.Label) bool { return l.Name == label })
		if i < 0 {
			made, _, err := api.CreateLabel(owner, name, sdk.CreateLabelOption{Name: label, Color: "#00aabb"})
			if err != nil {
				return fmt.Errorf("label %s: %w", label, err)
			}
			known, i = append(known, made), len(known)
		}
		ids = append(ids, known[i].ID)
	}
	_, _, err = api.ReplaceIssueLabels(owner, name, int64(number), sdk.IssueLabelsOption{Labels: ids})
	return err
}

// PullComments are the texts of the comments on a pull request, oldest first.
func (g gitPeople) PullComments(ctx context.Context, repo string, number int) (texts []string, err error) {
	api, owner, name, err := g.at(ctx, repo)
	if err != nil {
		return nil, err
	}
	comments, _, err := api.ListIssueComments(owner, name, int64(number), sdk.ListIssueCommentOptions{})
	for _, c := range comments {
		texts = append(texts, c.Body)
	}
	return texts, err
}
