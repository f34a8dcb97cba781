package git_test

import (
	"fmt"
	"net/http"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// tellPulls is a repository whose hook hears of pull requests, and of nothing else.
func tellPulls(t *testing.T, events ...string) (pullWorld, teller) {
	t.Helper()
	w := pulling(t)
	tell := teller{w.world, listenForHooks(t), w.dir}
	w.hook("demo", tell.hooks.URL, events...)
	return w, tell
}

// pull is the pull request of a payload.
func pullIn(p map[string]any) map[string]any { return p["pull_request"].(map[string]any) }

// labelsIn are the names of the labels of a payload's pull request.
func labelsIn(p map[string]any) (names []string) {
	for _, l := range pullIn(p)["labels"].([]any) {
		names = append(names, l.(map[string]any)["name"].(string))
	}
	return names
}

func TestAPullRequestIsToldAsGiteaTellsIt(t *testing.T) {
	w, tell := tellPulls(t, "pull_request")
	opened := w.open(t, "feature", "page", "x")
	p := tell.hears(t, "pull_request_opened")
	assert.Equal(t, "opened", p["action"])
	assert.InDelta(t, opened.Number, p["number"], 0)
	pull := pullIn(p)
	assert.InDelta(t, opened.ID, pull["id"], 0)
	assert.Equal(t, w.base+"/platform/demo/pulls/1", pull["url"])
	assert.Equal(t, opened.Head.SHA, pull["head"].(map[string]any)["sha"])
	assert.Equal(t, opened.MergeBase, pull["merge_base"])
	assert.Equal(t, admin, p["sender"].(map[string]any)["login"])

	head := w.commit(t, "feature", "more", "y")
	p = tell.hears(t, "pull_request_synchronized")
	assert.Equal(t, "synchronized", p["action"])
	assert.Equal(t, head, pullIn(p)["head"].(map[string]any)["sha"])
	assert.InDelta(t, 2, pullIn(p)["changed_files"], 0)

	for _, name := range []string{"promote", "hold"} {
		require.Equal(t, 201, w.call("POST", demo+"/labels", asAdmin, map[string]any{"name": name, "color": "00aabb"}, nil))
	}
	labels := map[string]any{"labels": []string{"promote"}}
	w.call("POST", demo+"/issues/1/labels", asAdmin, labels, nil)
	p = tell.hears(t, "pull_request_labeled")
	assert.Equal(t, "label_updated", p["action"])
	assert.NotContains(t, p, "label")
	assert.Equal(t, []string{"promote"}, labelsIn(p))
	w.call("POST", demo+"/issues/1/labels", asAdmin, labels, nil) // which changes nothing, and is not told

	require.Equal(t, 201, w.call("POST", demo+"/issues/1/comments", asAdmin, map[string]string{"body": "review env at http://x"}, nil))
	p = tell.hears(t, "pull_request_comment")
	assert.Equal(t, "created", p["action"])
	assert.Equal(t, "review env at http://x", p["comment"].(map[string]any)["body"])
	assert.InDelta(t, 1, p["issue"].(map[string]any)["comments"], 0)

	w.do(t, 200, "POST", "/pulls/1/merge", map[string]any{})
	p = tell.hears(t, "pull_request_closed_merged")
	assert.Equal(t, "closed", p["action"])
	assert.Equal(t, true, pullIn(p)["merged"])
	assert.Equal(t, w.main(t), pullIn(p)["merge_commit_sha"])

	w.call("PUT", demo+"/issues/1/labels", asAdmin, map[string]any{"labels": []string{"promote", "hold"}}, nil)
	assert.Equal(t, []string{"hold", "promote"}, labelsIn(tell.hears(t, "pull_request_labeled_after_merge")))
	require.Equal(t, 204, w.call("DELETE", demo+"/issues/1/labels/1", asAdmin, nil, nil))
	p = tell.hears(t, "pull_request_labeled_after_merge")
	assert.Equal(t, "label_updated", p["action"], "a label that is taken away is told alike")
	assert.Equal(t, []string{"hold"}, labelsIn(p))
	w.idle()
	assert.Empty(t, tell.hooks.came)
}

func TestWhatEndsAPullRequestUnmergedIsToldAsGiteaTellsIt(t *testing.T) {
	w, tell := tellPulls(t, "pull_request")
	w.open(t, "feature", "page", "x")
	tell.hears(t, "pull_request_opened")
	w.do(t, 201, "PATCH", "/pulls/1", map[string]any{"state": "closed"})
	p := tell.hears(t, "pull_request_closed_unmerged")
	assert.Equal(t, "closed", p["action"])
	assert.Equal(t, false, pullIn(p)["merged"])
	w.do(t, 201, "PATCH", "/pulls/1", map[string]any{"state": "closed"}) // so it is already
	w.do(t, 201, "PATCH", "/pulls/1", map[string]any{"state": "open"})
	assert.Equal(t, "reopened", tell.hears(t, "pull_request_reopened")["action"])

	require.Equal(t, 201, w.call("POST", demo+"/labels", asAdmin, map[string]any{"name": "promote", "color": "00aabb"}, nil))
	w.call("POST", demo+"/issues/1/labels", asAdmin, map[string]any{"labels": []string{"promote"}}, nil)
	tell.hears(t, "pull_request_labeled")
	require.Equal(t, 204, w.call("DELETE", demo+"/issues/1/labels", asAdmin, nil, nil))
	p = tell.hears(t, "pull_request_label_cleared")
	assert.Equal(t, "label_cleared", p["action"])
	assert.Equal(t, []string{"promote"}, labelsIn(p), "what was cleared, as Gitea tells it")

	w.do(t, 201, "PATCH", "/pulls/1", map[string]any{"title": "Another", "body": "text"})
	for _, field := range []string{"title", "body"} {
		got := tell.hooks.next(t)
		assert.Equal(t, "pull_request", got.event())
		p = got.json(t)
		assert.Equal(t, "edited", p["action"])
		assert.Equal(t, map[string]string{"title": "Change page", "body": "hello"}[field], p["changes"].(map[string]any)[field].(map[string]any)["from"])
		assert.Equal(t, "Another", pullIn(p)["title"])
	}
	tool(t, w.dir, "push", "--quiet", "origin", ":feature")
	p = tell.hears(t, "pull_request_closed_unmerged")
	assert.Equal(t, "refs/pull/1/head", pullIn(p)["head"].(map[string]any)["ref"])
}

func TestAHookHearsOfThePullRequestEventsItSubscribesTo(t *testing.T) {
	types := []string{"pull_request", "pull_request_sync", "pull_request_label", "pull_request_comment", "pull_request_comment", "pull_request"}
	for subscription, want := range map[string][]string{
		"pull_request":         types,
		"pull_request_only":    {"pull_request", "pull_request"},
		"pull_request_sync":    {"pull_request_sync"},
		"pull_request_label":   {"pull_request_label"},
		"pull_request_comment": {"pull_request_comment", "pull_request_comment"},
		"issue_comment":        nil, // of issues, of which there are none
		"push":                 nil,
	} {
		t.Run(subscription, func(t *testing.T) {
			w, tell := tellPulls(t, "status", subscription)
			w.open(t, "feature", "page", "x")
			w.commit(t, "feature", "more", "y")
			require.Equal(t, 201, w.call("POST", demo+"/labels", asAdmin, map[string]any{"name": "promote", "color": "00aabb"}, nil))
			w.call("POST", demo+"/issues/1/labels", asAdmin, map[string]any{"labels": []string{"promote"}}, nil)
			w.call("POST", demo+"/issues/1/comments", asAdmin, map[string]string{"body": "one"}, nil)
			w.call("PATCH", demo+"/issues/comments/1", asAdmin, map[string]string{"body": "two"}, nil)
			w.call("PATCH", demo+"/issues/comments/1", asAdmin, map[string]string{"body": "two"}, nil) // which changes nothing
			w.do(t, 200, "POST", "/pulls/1/merge", map[string]any{})
			w.idle()
			var got []string
			for _, one := range tell.hooks.all() {
				if kind := one.Header.Get("X-Gitea-Event-Type"); kind != "push" {
					got = append(got, kind)
				}
			}
			assert.Equal(t, want, got, "in the order in which it happened")
		})
	}
}

func TestAPushAndWhatItMakesOfPullRequestsAreToldInOrder(t *testing.T) {
	w, tell := tellPulls(t, "push", "pull_request")
	w.open(t, "feature", "page", "x")
	w.open(t, "other", "elsewhere", "x")
	w.do(t, 200, "POST", "/pulls/1/merge", map[string]any{})
	w.onMain(t, "third", "x")
	w.idle()
	var got []string
	for _, one := range tell.hooks.all() {
		p := one.json(t)
		got = append(got, fmt.Sprint(one.event(), " ", p["action"], p["ref"]))
	}
	assert.Equal(t, []string{
		"push <nil>refs/heads/feature", "pull_request opened<nil>", "push <nil>refs/heads/other", "pull_request opened<nil>",
		"push <nil>refs/heads/main", "pull_request closed<nil>", "push <nil>refs/heads/main",
	}, got)
}

func TestPullsAnswerWithTheKeysOfARealGiteas(t *testing.T) {
	url, token, vendor := realGitea(t)
	w := begin(t, nil)
	theirs := &world{t: t, base: url}
	fill := func(w *world, authorization string, world pullsFiller) (repo string) {
		repo = world.fill(t)
		at := "/api/v1/repos/" + repo
		for method, body := range map[string]any{"/labels": map[string]any{"name": "promote", "color": "#00aabb"}, "/issues/1/comments": map[string]any{"body": "said"}} {
			require.Equal(t, 201, w.call("POST", at+method, authorization, body, nil))
		}
		var labels []struct{ ID int64 }
		w.call("GET", at+"/labels", authorization, nil, &labels)
		require.Equal(t, 200, w.call("POST", at+"/issues/1/labels", authorization, map[string]any{"labels": []int64{labels[0].ID}}, nil))
		return repo
	}
	ours := fill(w, asAdmin, pullsFiller{w.client()})
	his := fill(theirs, "token "+token, pullsFiller{vendor})
	for _, path := range []string{
		"/pulls", "/pulls/1", "/pulls?state=closed", "/pulls/2", "/pulls/1/commits", "/pulls/1/files", "/pulls/main/one", "/labels",
		"/issues/1/labels", "/issues/1/comments", "/compare/main...one", "/pulls/9", "/pulls/1/merge", "/pulls/2/merge", "/compare/main...nothing", "",
	} {
		var want, got any
		status := theirs.call("GET", "/api/v1/repos/"+his+path, "token "+token, nil, nil)
		assert.Equal(t, status, w.call("GET", "/api/v1/repos/"+ours+path, asAdmin, nil, nil), path)
		if status != http.StatusOK {
			continue
		}
		theirs.call("GET", "/api/v1/repos/"+his+path, "token "+token, nil, &want)
		w.call("GET", "/api/v1/repos/"+ours+path, asAdmin, nil, &got)
		lacks := slices.DeleteFunc(missing(shape(want), shape(got)), func(p string) bool {
			return p == "[].html_url string" && path == "/pulls/1/files" // files have no page here
		})
		assert.Empty(t, lacks, "%s: keys that Gitea answers", path)
	}
}

func TestPullsAreRefusedWithTheStatusesOfARealGitea(t *testing.T) {
	url, token, vendor := realGitea(t)
	w := begin(t, nil)
	theirs := &world{t: t, base: url}
	his, ours := pullsFiller{vendor}.fill(t), pullsFiller{w.client()}.fill(t) // 1 is open, 2 is merged
	require.Eventually(t, func() bool {                                       // Gitea computes that, and refuses every merge until it has
		var p said
		theirs.call("GET", "/api/v1/repos/"+his+"/pulls/1", "token "+token, nil, &p)
		return p.Mergeable
	}, 20*time.Second, 50*time.Millisecond)
	for _, step := range []struct {
		method, path string
		body         any
	}{
		{"POST", "/pulls", map[string]any{"head": "one", "base": "main", "title": "again"}},
		{"POST", "/pulls", map[string]any{"head": "nothing", "base": "main", "title": "t"}},
		{"POST", "/pulls", map[string]any{"head": "one", "base": "nothing", "title": "t"}},
		{"POST", "/pulls", map[string]any{"head": "main", "base": "main", "title": "t"}},
		{"PATCH", "/pulls/1", map[string]any{"title": "Another"}},
		{"PATCH", "/pulls/9", map[string]any{"title": "Another"}},
		{"PATCH", "/pulls/2", map[string]any{"state": "open"}},
		{"POST", "/pulls/1/merge", map[string]any{"Do": "merge", "head_commit_id": "0123456789012345678901234567890123456789"}},
		{"POST", "/pulls/2/merge", map[string]any{"Do": "merge"}},
		{"POST", "/pulls/9/merge", map[string]any{"Do": "merge"}},
		{"POST", "/labels", map[string]any{"name": "x", "color": "red-ish"}},
		{"POST", "/issues/1/comments", map[string]any{"body": "one"}},
		{"PATCH", "/issues/comments/999999", map[string]any{"body": "one"}},
		{"DELETE", "/issues/comments/999999", nil},
		{"DELETE", "/issues/1/labels", nil},
		{"DELETE", "/branches/nothing", nil},
		{"DELETE", "/branches/main", nil},
		{"PATCH", "/pulls/1", map[string]any{"state": "closed"}},
		{"POST", "/pulls/1/merge", map[string]any{"Do": "merge"}},
		{"PATCH", "/pulls/1", map[string]any{"state": "open"}},
		{"DELETE", "/branches/one", nil},
	} {
		want := theirs.call(step.method, "/api/v1/repos/"+his+step.path, "token "+token, step.body, nil)
		assert.Equal(t, want, w.call(step.method, "/api/v1/repos/"+ours+step.path, asAdmin, step.body, nil), "%s %s %v", step.method, step.path, step.body)
	}
}
