package platform_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"platform.dev/platform/bots/markup"
	"platform.dev/platform/commands/commandstest"
	"platform.dev/platform/flowclient"
)

func (f *flow) Diff(_ context.Context, project string) (flowclient.Diff, error) {
	f.compared = append(f.compared, project)
	return flowclient.Diff{Project: project, Components: f.diffs}, f.err
}

func (f *flow) Reviews(context.Context) ([]flowclient.Review, error) { return f.reviews, f.unread }

// commits are n commits by authors in turn, newest first.
func commits(n int, authors ...string) []flowclient.Commit {
	var out []flowclient.Commit
	for i := range n {
		out = append(out, flowclient.Commit{SHA: fmt.Sprintf("%07d%033d", n-i, 0), Subject: fmt.Sprintf("change %d", n-i), Author: authors[i%len(authors)], At: now.Add(-time.Duration(i) * time.Hour)})
	}
	return out
}

func TestDiffTellsWhatAPromoteWouldShip(t *testing.T) {
	const first, second = "1a2b3c4d5e6f708192a3b4c5d6e7f80912a3b4c5", "9f8e7d6c5b4a39281706f5e4d3c2b1a09f8e7d6c"
	for _, c := range []struct {
		name  string
		diffs []flowclient.ComponentDiff
		kind  string
		says  []string
		not   string
	}{
		{"commits and authors", []flowclient.ComponentDiff{{Component: "shop-web", From: first, To: second, Commits: commits(3, "ada", "dev", "ada")}},
			"diff.ships", []string{"would ship 3 commits", "shop-web: 1a2b3c4 → 9f8e7d6, by ada and dev", "0000003 change 3 by ada, just now", "0000002 change 2 by dev, 1 h ago", "@platform promote shop"}, "Careful"},
		{"a commit of two components counts once", []flowclient.ComponentDiff{{Component: "shop-api", From: first, To: second, Commits: commits(1, "ada")}, {Component: "shop-web", From: first, To: second, Commits: commits(1, "ada")}},
			"diff.ships", []string{"would ship 1 commit\n"}, ""},
		{"a first promotion", []flowclient.ComponentDiff{{Component: "shop-web", To: second, Commits: commits(1, "ada")}},
			"diff.ships", []string{"would ship 1 commit\n", "production runs nothing yet, and would run 9f8e7d6"}, "→"},
		{"many commits", []flowclient.ComponentDiff{{Component: "shop-web", From: first, To: second, Commits: commits(25, "ada")}},
			"diff.ships", []string{"would ship 25 commits", "change 6 by", "And 5 older ones."}, "change 5 by"},
		{"more than are told", []flowclient.ComponentDiff{{Component: "shop-web", From: first, To: second, Commits: commits(100, "ada"), More: true}},
			"diff.ships", []string{"would ship more than 100 commits", "And more than 80 older ones."}, ""},
		{"many authors", []flowclient.ComponentDiff{{Component: "shop-web", From: first, To: second, Commits: commits(15, strings.Fields("a b c d e f g h i j k l m n o")...)}},
			"diff.ships", []string{"by a, b, c, d, e, f, g, h, i, j, k, l and 3 more"}, ""},
		{"nothing", []flowclient.ComponentDiff{{Component: "shop-api"}, {Component: "shop-web", From: second, To: second}},
			"diff.nothing", []string{"would ship nothing", "shop-api runs nothing in staging yet.", "shop-web: production runs 9f8e7d6 already."}, "promote shop"},
		{"staging is older", []flowclient.ComponentDiff{{Component: "shop-web", From: second, To: first, Behind: true}},
			"diff.behind", []string{"is behind production", "Careful: Staging runs an older commit than production"}, "promote shop"},
		{"another line", []flowclient.ComponentDiff{{Component: "shop-web", From: first, To: second, Behind: true, Commits: commits(2, "ada")}},
			"diff.behind", []string{"change 2 by ada", "Staging is on another line than production"}, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			f := newFlow()
			f.diffs = c.diffs
			rec := ask(t, f, commandstest.Ask{Text: "diff", Project: "shop"})
			require.NoError(t, rec.Err)
			assert.Equal(t, []string{"shop"}, f.compared)
			assert.Equal(t, c.kind, rec.Answer().Kind)
			text := markup.Plain(rec.Answer())
			for _, says := range c.says {
				assert.Contains(t, text, says)
			}
			if c.not != "" {
				assert.NotContains(t, text, c.not)
			}
		})
	}
}

func TestStatusShowsTheProjectsReviewEnvironments(t *testing.T) {
	f := newFlow()
	f.delivery.Components[1].Repository = "http://git/platform/shop.git"
	status := func() string {
		rec := ask(t, f, commandstest.Ask{Text: "status shop"})
		require.NoError(t, rec.Err)
		return markup.Plain(rec.Answer())
	}
	assert.NotContains(t, status(), "Review environments")
	f.reviews = []flowclient.Review{
		{Project: "blog", Repo: "platform/blog", Number: 1, Environment: "pr-1", State: flowclient.ReviewPresent},
		{Project: "shop", Repo: "platform/shop", Number: 7, Environment: "pr-7", State: flowclient.ReviewPresent, Head: "1a2b3c4d", URL: "http://pr-7-shop/x", Active: now.Add(-time.Hour)},
		{Project: "shop", Repo: "platform/shop", Number: 8, Environment: "pr-8", State: flowclient.ReviewQueued, Place: 1},
	}
	text := status()
	assert.Contains(t, text, "pr-7 for #7 <http://git/platform/shop/pulls/7> shows <http://pr-7-shop/x> 1a2b3c4 <http://git/platform/shop/commit/1a2b3c4d> (last activity 1 h ago)")
	assert.Contains(t, text, "waits for a place, number 1 in the queue")
	assert.NotContains(t, text, "pr-1 ")
	f.unread = errors.New("flow.db: disk is full")
	text = status()
	assert.Contains(t, text, "Review environments could not be read: flow.db: disk is full")
	assert.Contains(t, text, "allowed at any time", "the rest is shown all the same")
	f.unread = flowclient.Refuse("this controller was given no git server with pull requests; configure one and ask again.")
	assert.NotContains(t, status(), "eview environments")
}
