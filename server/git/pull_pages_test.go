package git_test

import (
	"bytes"
	"fmt"
	"path/filepath"
	"testing"

	"github.com/PuerkitoBio/goquery"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"platform.dev/platform/flowclient"
	"platform.dev/platform/flowclient/gitea"
)

// stillPulls is a world whose clock stands, with a pull request in every
// state: 1 is open, 2 conflicts, 3 is merged and its branch gone, 4 is closed.
func stillPulls(t *testing.T) *world {
	t.Helper()
	w := still(t, true)
	client, err := gitea.New(gitea.Config{BaseURL: w.base, Token: adminToken, User: admin, Dir: filepath.Join(t.TempDir(), "scratch"), Now: w.cfg.Now, Log: w.cfg.Log})
	require.NoError(t, err)
	change := func(branch, file, content string) {
		_, err := client.Push(t.Context(), flowclient.Push{
			Repo: "platform/shop", Branch: branch, Key: branch + file, Message: "Change <i>" + file + "</i> on " + branch, Author: "Dev Developer", Files: map[string]string{file: content},
		})
		require.NoError(t, err)
	}
	for i, branch := range []string{"window", "theirs", "door", "cellar"} {
		change(branch, map[bool]string{true: "index.html", false: branch}[branch == "theirs"], "<script>alert('"+branch+"')</script>\n")
		p, err := client.EnsurePull(t.Context(), "platform/shop", branch, "main", "Open the <b>"+branch+"</b>", "So that & because.\n<script>alert(1)</script>")
		require.NoError(t, err)
		require.Equal(t, i+1, p.Number)
	}
	api := "/api/v1/repos/platform/shop"
	require.Equal(t, 201, w.call("POST", api+"/labels", asAdmin, map[string]any{"name": "promote <now>", "color": "#00aabb"}, nil))
	require.Equal(t, 200, w.call("POST", api+"/issues/1/labels", asAdmin, map[string]any{"labels": []any{"promote <now>"}}, nil))
	require.NoError(t, client.Comment(t.Context(), "platform/shop", 1, "review", "See <http://pr-1-shop.apps.platform.localhost/>\n- and a list"))
	require.NoError(t, client.Comment(t.Context(), "platform/shop", 3, "review", "Gone."))
	require.Equal(t, 200, w.call("POST", api+"/pulls/3/merge", asAdmin, map[string]any{"delete_branch_after_merge": true}, nil))
	require.Equal(t, 201, w.call("PATCH", api+"/pulls/4", asAdmin, map[string]any{"state": "closed"}, nil))
	change("main", "index.html", "<h1>Ours</h1>\n")
	return w
}

func TestPagesOfPullRequestsReadAsTheGoldensShow(t *testing.T) {
	w := stillPulls(t)
	for name, path := range map[string]string{
		"pulls.html":            "/platform/shop/pulls",
		"pulls_closed.html":     "/platform/shop/pulls?state=closed",
		"pulls_none.html":       "/platform/pipeline/pulls",
		"pull.html":             "/platform/shop/pulls/1",
		"pull_conflict.html":    "/platform/shop/pulls/2",
		"pull_merged.html":      "/platform/shop/pulls/3",
		"pull_closed.html":      "/platform/shop/pulls/4",
		"pull_missing.html":     "/platform/shop/pulls/5",
		"pull.diff":             "/platform/shop/pulls/1.diff",
		"repository_pulls.html": "/platform/shop",
	} {
		golden(t, name, w.page(path, "").Body.Bytes())
	}
}

func TestWhatIsSaidOfAPullRequestIsShownAsText(t *testing.T) {
	w := stillPulls(t)
	rec := w.page("/platform/shop/pulls/1", "")
	doc, err := goquery.NewDocumentFromReader(bytes.NewReader(rec.Body.Bytes()))
	require.NoError(t, err)
	assert.Zero(t, doc.Find("script, h1 b").Length())
	assert.Contains(t, doc.Find("h1").Text(), "Open the <b>window</b>")
	assert.Contains(t, doc.Find("pre.message").Text(), "<script>alert(1)</script>")
	assert.Contains(t, doc.Find("pre .add").Text(), "<script>alert('window')</script>")
	assert.Equal(t, "promote <now>", doc.Find(".tag").Text())
	assert.Equal(t, "See <http://pr-1-shop.apps.platform.localhost/>\n- and a list", doc.Find("#issuecomment-1 .message").Text(), "what is said to machines is left out")
	text := w.page("/platform/shop/pulls/1.patch", "")
	assert.Equal(t, "text/plain; charset=utf-8", text.Header().Get("Content-Type"), "a browser does not run it")
	assert.Equal(t, "nosniff", text.Header().Get("X-Content-Type-Options"))
}

func TestPagesOfPullRequestsAreAsPrivateAsTheirRepository(t *testing.T) {
	w := still(t, false)
	for path, want := range map[string]map[string]int{
		"/platform/shop/pulls":             {"": 401, asAdmin: 200},
		"/platform/shop/pulls/1":           {"": 401, asAdmin: 404},
		"/platform/shop/pulls/1.diff":      {"": 401, asAdmin: 404},
		"/platform/shop/pulls?state=all":   {asAdmin: 422},
		"/platform/shop/pulls?page=x":      {asAdmin: 422},
		"/platform/pipeline/pulls":         {"": 200},
		"/platform/absent/pulls":           {"": 401, asAdmin: 404},
		"/platform/shop/pulls/1/somewhere": {asAdmin: 404},
	} {
		for authorization, status := range want {
			assert.Equal(t, status, w.page(path, authorization).Code, "%s with %q", path, authorization)
		}
	}
}

func TestOlderPullRequestsAreOnTheNextPage(t *testing.T) {
	w := pulling(t)
	w.branch(t, "one", "f1", "x")
	for i := range 31 {
		tool(t, w.dir, "push", "--quiet", "origin", fmt.Sprintf("origin/main:refs/heads/base%d", i))
		w.do(t, 201, "POST", "/pulls", map[string]any{"head": "one", "base": fmt.Sprintf("base%d", i), "title": "t"})
	}
	count := func(path string) (rows int, older string) {
		doc, err := goquery.NewDocumentFromReader(bytes.NewReader(w.page(path, asAdmin).Body.Bytes()))
		require.NoError(t, err)
		older, _ = doc.Find("ol + p a").Attr("href")
		return doc.Find("ol li").Length(), older
	}
	rows, older := count("/platform/demo/pulls")
	assert.Equal(t, 30, rows)
	rows, last := count("/platform/demo/pulls" + older)
	assert.Equal(t, 1, rows)
	assert.Empty(t, last)
}
