package platform

import (
	"context"
	"fmt"
	"time"

	"platform.dev/platform/bots/markup"
	"platform.dev/platform/flowclient"
)

// reviews is the section of review environments in each of their states.
func (s sample) reviews() []markup.Block {
	of := func(number int, state, message string) flowclient.Review {
		return flowclient.Review{Project: "shop", Repo: "platform/shop", Number: number, Environment: fmt.Sprintf("pr-%d", number), State: state,
			Head: s.second, Message: message, Active: s.now.Add(-time.Duration(number) * time.Minute)}
	}
	shows, queued := of(7, flowclient.ReviewPresent, ""), of(12, flowclient.ReviewQueued, "all 2 places for review environments are taken")
	shows.URL, queued.Place = "http://pr-7-shop.apps.platform.localhost:19080/shop-web-http", 1
	all := sampled{shows, of(8, flowclient.ReviewCreating, "shop-web is being built"), of(9, flowclient.ReviewFailed, "shop-web: its build failed in stage test: exit status 1"),
		of(10, flowclient.ReviewDestroying, "the pull request was merged"), queued}
	return reviewsOf(context.Background(), all, "shop", []flowclient.ComponentDelivery{s.web}, s.now)
}

// sampled answers with the review environments that it is.
type sampled []flowclient.Review

// Reviews lists them.
func (s sampled) Reviews(context.Context) ([]flowclient.Review, error) { return s, nil }

// ships is what a promote would ship of a project.
func (s sample) ships() flowclient.Diff {
	commit := func(sha, subject, author string, age time.Duration) flowclient.Commit {
		return flowclient.Commit{SHA: sha, Subject: subject, Author: author, At: s.now.Add(-age), WebURL: "http://127.0.0.1:3001/platform/shop/commit/" + sha}
	}
	const middle = "5d6e7f80912a3b4c51a2b3c4d5e6f708192a3b4c"
	web := flowclient.ComponentDiff{Component: "shop-web", From: s.first, To: s.second, Commits: []flowclient.Commit{
		commit(s.second, "Offer *gift wrapping*", "Dev Developer", 4*time.Minute), commit(middle, "Say what things cost", "Petra Platform", 3*time.Hour)}}
	return flowclient.Diff{Project: "shop", Components: []flowclient.ComponentDiff{web, {Component: "shop-api", From: s.first, To: s.first}, {Component: "shop-new"}}}
}

// behind is a project whose staging has not all that production has.
func (s sample) behind() flowclient.Diff {
	d := s.ships()
	d.Components[0].From, d.Components[0].To, d.Components[0].Commits, d.Components[0].Behind = s.second, s.first, nil, true
	return d
}

// shipped is a project whose production has everything.
func (s sample) shipped() flowclient.Diff {
	d := s.ships()
	d.Components[0].From, d.Components[0].Commits = s.second, nil
	return d
}
