package announcer

import (
	"time"

	"platform.dev/platform/flowclient"
)

// pullBodies has one body for each kind of event about pull requests.
func pullBodies(noon time.Time) []sampleBody {
	const head, next, merge = "1a2b3c4d5e6f708192a3b4c5d6e7f80912a3b4c5", "9f8e7d6c5b4a39281706f5e4d3c2b1a09f8e7d6c", "5d6e7f80912a3b4c51a2b3c4d5e6f708192a3b4c"
	pull := flowclient.Pull{Repo: "platform/shop", Number: 7, Title: "Offer *gift wrapping*", State: flowclient.PullOpen, Branch: "gifts", Head: head, Base: "main",
		Author: "developer", URL: "http://127.0.0.1:3001/platform/shop/pulls/7", Updated: noon}
	merged := pull
	merged.State, merged.Merged, merged.MergeCommit = flowclient.PullClosed, true, merge
	closed := pull
	closed.State = flowclient.PullClosed
	review := func(state, commit string) flowclient.Review {
		return flowclient.Review{Project: "shop", Repo: "platform/shop", Number: 7, Environment: "pr-7", State: state, Head: commit, Active: noon}
	}
	waits := review(flowclient.ReviewQueued, head)
	waits.Place = 2
	shows, newer := review(flowclient.ReviewPresent, head), review(flowclient.ReviewPresent, next)
	shows.URL = "http://pr-7-shop.apps.platform.localhost:19080/shop-web-http"
	newer.URL = shows.URL
	const run = "shop-web-pr-7-run-9f8e7d6c"
	return []sampleBody{
		{flowclient.EventPullOpened, flowclient.PullEvent{Pull: pull}},
		{flowclient.EventPullMerged, flowclient.PullEvent{Pull: merged}},
		{flowclient.EventPullClosed, flowclient.PullEvent{Pull: closed}},
		{flowclient.EventReviewQueued, flowclient.ReviewEvent{Review: waits, Pull: pull, Why: "all 2 places for review environments are taken"}},
		{flowclient.EventReviewCreated, flowclient.ReviewEvent{Review: shows, Pull: pull}},
		{flowclient.EventReviewUpdated, flowclient.ReviewEvent{Review: newer, Pull: pull}},
		{flowclient.EventReviewFailed, flowclient.ReviewEvent{Review: review(flowclient.ReviewFailed, next), Pull: pull, Stage: "test", Run: run, Page: "http://127.0.0.1:10081/runs/" + run,
			Why: "shop-web: its build failed in stage test: exit status 1", Lines: []string{"ok    index.html: has one h1", `FAULT index.html:14: link "nowhere.html" leads nowhere: there is no file ./nowhere.html`}}},
		{flowclient.EventReviewDestroyed, flowclient.ReviewEvent{Review: review(flowclient.ReviewDestroying, head), Pull: merged, Why: "the pull request was merged"}},
	}
}
