package server

import (
	"net/http"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"platform.dev/platform/flowclient"
)

// A pull request's whole life as the embedded git server told it: opened,
// merged, labelled, with the pushes in between. Told again, twice and from the
// end to the beginning, it changes nothing.
func TestAPullRequestsDeliveriesThatComeAgainInAnyOrderHaveNoSecondEffect(t *testing.T) {
	var box mailbox
	p := start(t, config(t, t.TempDir()), func(p *Platform) {
		box.watch(p, "api", "/api/v1alpha1/autobuild")
		box.watch(p, "flow", "/sync")
		box.watch(p, "flow", "/hooks/git")
	})
	p.scaffold("shop")
	pull, err := p.Flow().OpenPull(t.Context(), flowclient.PullRequest{Origin: origin("open"), Project: "shop", Branch: "news", Title: "News", Files: map[string]string{"NEWS.md": "news\n"}})
	require.NoError(t, err)
	p.eventually(time.Minute, "the review environment", func() bool {
		reviews, err := p.Flow().Reviews(t.Context())
		require.NoError(t, err)
		return len(reviews) == 1 && reviews[0].State == flowclient.ReviewPresent
	})
	merged, err := p.Flow().Merge(t.Context(), flowclient.MergeRequest{Origin: origin("merge"), Project: "shop", Number: pull.Number})
	require.NoError(t, err)
	p.deployed("shop-web", flowclient.Staging, merged.MergeCommit)
	require.NoError(t, gitPeople{p}.LabelPull(t.Context(), pull.Repo, pull.Number, "promote"))
	p.deployed("shop-web", flowclient.Production, merged.MergeCommit)
	p.eventually(time.Minute, "the review environment's end", func() bool {
		gone, err := noReview(t.Context(), p.Platform)
		require.NoError(t, err)
		return gone
	})
	require.NoError(t, p.rooms.git.Idle(t.Context()))
	p.quiet(t)

	told := func() map[string]any {
		comments, err := gitPeople{p}.PullComments(t.Context(), pull.Repo, pull.Number)
		require.NoError(t, err)
		counted := map[string]any{"effects": p.state(t), "comments": comments}
		for _, topic := range []string{"builds", "promotions", "pull requests"} {
			counted[topic] = len(p.read("shop", topic))
		}
		return counted
	}
	before, came := told(), box.all()
	require.NotEmpty(t, before["comments"])
	hooks := map[string]int{}
	for _, d := range came {
		require.Equal(t, http.StatusOK, d.status, d.answer)
		hooks[d.header.Get("X-Gitea-Event")+" "+d.url]++
	}
	require.Positive(t, hooks["pull_request "+p.ports.URL("flow")+"/hooks/git"], "%v", hooks)

	slices.Reverse(came)
	for range 2 {
		for _, d := range came {
			status, answer := d.again(t)
			assert.Equal(t, http.StatusOK, status, answer)
		}
		require.NoError(t, p.rooms.git.Idle(t.Context()))
		p.quiet(t)
	}
	assert.Equal(t, before, told(), "runs, releases, bindings, events, comments and announcements")
	p.deployed("shop-web", flowclient.Production, merged.MergeCommit)
}
