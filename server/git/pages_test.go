package git_test

import (
	"bytes"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"github.com/PuerkitoBio/goquery"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"platform.dev/platform/fixtures/goldenfile"
	"platform.dev/platform/server/git"
)

// golden compares with fixtures/golden/git/<name>.
func golden(t *testing.T, name string, got []byte) {
	t.Helper()
	path := filepath.Join("../../fixtures/golden/git", name)
	goldenfile.Compare(t, path, string(got))
}

// still is a world whose clock stands, so that its commits are the same in every run.
func still(t *testing.T, open bool) *world {
	t.Helper()
	w := begin(t, func(c *git.Config) {
		c.Now = func() time.Time { return time.Date(2026, 11, 20, 9, 30, 0, 0, time.UTC) }
		c.BaseURL, c.OpenPages, c.HookDelivery = "http://127.0.0.1:3001", open, false
	})
	_, err := w.srv.EnsureRepository(t.Context(), "platform/shop", "The <b>shop</b> & its window", true)
	require.NoError(t, err)
	require.NoError(t, w.srv.Seed(t.Context(), "platform/shop", fstest.MapFS{
		"index.html": {Data: []byte("<h1>Shop</h1>\n<script>alert('x')</script>\n")},
		"logo.png":   {Data: []byte("\x89PNG\x00\x01")},
	}, "Add the <i>first</i> page\n\nWith a body & a \"quote\"."))
	_, err = w.srv.EnsureRepository(t.Context(), "platform/pipeline", "The pipeline module", false)
	require.NoError(t, err)
	return w
}

// page gets a page without a socket.
func (w *world) page(path, authorization string) *httptest.ResponseRecorder {
	w.t.Helper()
	r := httptest.NewRequestWithContext(w.t.Context(), http.MethodGet, path, nil)
	if authorization != "" {
		r.Header.Set("Authorization", authorization)
	}
	rec := httptest.NewRecorder()
	w.srv.Handler().ServeHTTP(rec, r)
	return rec
}

func (w *world) head(name string) string {
	w.t.Helper()
	return tool(w.t, "", "--git-dir", filepath.Join(w.cfg.Dir, "platform", name+".git"), "rev-parse", "main")
}

func TestPagesReadAsTheGoldensShow(t *testing.T) {
	w := still(t, true)
	sha := w.head("shop")
	w.call("POST", "/api/v1/repos/platform/shop/statuses/"+sha, asAdmin, map[string]string{
		"state": "success", "context": "platform/manifests", "description": "created 4, <updated> 0", "target_url": "http://127.0.0.1:10081/runs/1",
	}, nil)
	for name, path := range map[string]string{
		"index.html":      "/",
		"repository.html": "/platform/shop",
		"empty.html":      "/platform/pipeline",
		"commit.html":     "/platform/shop/commit/" + sha,
		"missing.html":    "/platform/shop/commit/0123456789",
	} {
		rec := w.page(path, "")
		golden(t, name, rec.Body.Bytes())
		assert.Equal(t, "text/html; charset=utf-8", rec.Header().Get("Content-Type"))
		assert.Contains(t, rec.Header().Get("Content-Security-Policy"), "default-src 'none'")
	}
	rec := w.page("/api/v1/repos/platform/shop/git/commits/"+sha, asAdmin)
	golden(t, "commit.json", rec.Body.Bytes())
}

func TestWhatIsPushedIsShownAsText(t *testing.T) {
	w := still(t, true)
	rec := w.page("/platform/shop/commit/"+w.head("shop"), "")
	doc, err := goquery.NewDocumentFromReader(bytes.NewReader(rec.Body.Bytes()))
	require.NoError(t, err)
	assert.Zero(t, doc.Find("script").Length(), "a script in a file is text")
	assert.Equal(t, "Add the <i>first</i> page", doc.Find("h1").Text())
	assert.Contains(t, doc.Find("pre .add").Text(), "<script>alert('x')</script>")
	assert.Equal(t, "index.html", doc.Find(".file h2").First().Text())
	assert.Contains(t, doc.Find(".file").Last().Text(), "Binary files")
	assert.Equal(t, 1, doc.Find(`meta[name="viewport"]`).Length(), "a phone shows it readably")
}

func TestPrivatePagesAskForAToken(t *testing.T) {
	w := still(t, false)
	for path, want := range map[string]map[string]int{
		"/platform/shop": {"": 401, asAdmin: 200, "token " + readToken: 200, "token wrong": 401},
		"/platform/shop/commit/" + w.head("shop"): {"": 401, asAdmin: 200},
		"/platform/absent":                        {"": 401, asAdmin: 404},
		"/platform/pipeline":                      {"": 200},
		"/platform/pipeline.git":                  {"": 200},
		"/platform/shop?branch=nothing":           {asAdmin: 404},
		"/platform/shop/commit/--all":             {asAdmin: 422},
		"/platform/shop/tree/main":                {asAdmin: 404},
		"/nothing":                                {"": 404},
	} {
		for authorization, status := range want {
			assert.Equal(t, status, w.page(path, authorization).Code, "%s with %q", path, authorization)
		}
	}
	assert.NotContains(t, w.page("/", "").Body.String(), "platform/shop")
	assert.Contains(t, w.page("/", asAdmin).Body.String(), "platform/shop")
}

func TestEveryAddressOfAPageAnswers(t *testing.T) {
	w := stillPulls(t)
	seen := map[string]bool{}
	var visit func(path string)
	visit = func(path string) {
		if seen[path] {
			return
		}
		seen[path] = true
		rec := w.page(path, "")
		require.Equal(t, 200, rec.Code, path)
		doc, err := goquery.NewDocumentFromReader(bytes.NewReader(rec.Body.Bytes()))
		require.NoError(t, err)
		doc.Find("a[href], link[href]").Each(func(_ int, s *goquery.Selection) {
			href, _ := s.Attr("href")
			if href[0] == '?' {
				page, _, _ := strings.Cut(path, "?")
				href = page + href
			}
			visit(href)
		})
	}
	visit("/")
	assert.GreaterOrEqual(t, len(seen), 15)
}

func TestALargeChangeIsCutAndSaysSo(t *testing.T) {
	w := begin(t, func(c *git.Config) { c.OpenPages = true })
	w.repository("demo", true)
	require.NoError(t, w.srv.Seed(t.Context(), "platform/demo", fstest.MapFS{"large.txt": {Data: bytes.Repeat([]byte("a line\n"), 200_000)}}, "large"))
	rec := w.page("/platform/demo/commit/main", "")
	require.Equal(t, 200, rec.Code)
	assert.Contains(t, rec.Body.String(), "is not shown")
	assert.Less(t, rec.Body.Len(), 8<<20)
}
