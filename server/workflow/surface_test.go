package workflow

import (
	"context"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/PuerkitoBio/goquery"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"platform.dev/platform/fixtures/goldenfile"
	"platform.dev/platform/flowclient"
)

// golden compares a body with a file of the room's goldens.
func golden(t *testing.T, name, got string) {
	t.Helper()
	path := filepath.Join("../../fixtures/golden/workflow", name)
	goldenfile.Compare(t, path, got)
}

// clock ticks a quarter of a second each time it is asked.
func clock() func() time.Time {
	now := time.Date(2026, 3, 2, 9, 30, 0, 0, time.UTC)
	return func() time.Time {
		now = now.Add(250 * time.Millisecond)
		return now
	}
}

// recorded is an engine whose book and logs hold one run of each kind; nothing runs.
func recorded(t *testing.T) *Server {
	t.Helper()
	r := newRig(t, oneStage("1m"))
	now := clock()
	r.cfg.Now, r.cfg.Module, r.cfg.Registry = now, "http://127.0.0.1:3001/platform/pipeline.git", "127.0.0.1:10082"
	s := r.open()
	t.Cleanup(func() { require.NoError(t, s.Close()) })
	ctx := context.Background()
	stages := []string{"checkout", "test", "build", "publish"}
	begin := func(run string) {
		b := Build{Run: run, Project: "shop", Component: "shop-web"}
		b.Params.Repository.URL = "http://127.0.0.1:3001/platform/shop.git"
		_, err := s.Ensure(ctx, b)
		require.NoError(t, err)
		_, found, err := s.book.claim(ctx, now())
		require.NoError(t, err)
		require.True(t, found)
	}
	stage := func(run string, seq int, phase, message string, lines ...string) {
		require.NoError(t, s.book.beginStage(ctx, run, seq, now()))
		j, err := s.openLog(run, seq)
		require.NoError(t, err)
		for _, l := range lines {
			j.line(l)
		}
		require.NoError(t, j.close())
		if phase != taskRunning {
			require.NoError(t, s.book.endStage(ctx, run, seq, phase, message, now()))
		}
	}
	resolved := func(run string) {
		require.NoError(t, s.book.plan(ctx, run, strings.Repeat("cd", 20), stages))
		require.NoError(t, s.book.resolved(ctx, run, strings.Repeat("ab", 20)))
	}

	begin("shop-web-run-good")
	resolved("shop-web-run-good")
	for i, name := range stages {
		stage("shop-web-run-good", i+1, taskSucceeded, "", "what "+name+" says")
	}
	require.NoError(t, s.book.finish(ctx, "shop-web-run-good", outcome{image: "127.0.0.1:10082/shop/web@sha256:" + strings.Repeat("ef", 32)}, now()))

	begin("shop-web-run-bad")
	resolved("shop-web-run-bad")
	stage("shop-web-run-bad", 1, taskSucceeded, "", "checked out")
	stage("shop-web-run-bad", 2, taskFailed, "exit status 1", "ok    index.html: has one h1", `FAULT index.html:8: link "<prices>" leads nowhere`)
	require.NoError(t, s.book.finish(ctx, "shop-web-run-bad", outcome{message: "stage test failed: exit status 1"}, now()))

	begin("shop-web-run-lost")
	j, err := s.openLog("shop-web-run-lost", 0)
	require.NoError(t, err)
	j.line("fatal: couldn't find remote ref v9")
	require.NoError(t, j.close())
	require.NoError(t, s.book.finish(ctx, "shop-web-run-lost", outcome{message: "pipeline module http://127.0.0.1:3001/platform/pipeline.git at #v9: couldn't find remote ref v9"}, now()))

	begin("shop-web-run-busy")
	resolved("shop-web-run-busy")
	stage("shop-web-run-busy", 1, taskRunning, "", "fetching")
	_, err = s.Ensure(ctx, Build{Run: "shop-web-run-next", Project: "shop", Component: "shop-web"})
	require.NoError(t, err)
	return s
}

// get asks the surface.
func get(t *testing.T, s *Server, method, path string) *httptest.ResponseRecorder {
	t.Helper()
	w := httptest.NewRecorder()
	s.Handler().ServeHTTP(w, httptest.NewRequest(method, path, nil))
	return w
}

func TestThePagesAndTheirTwinsAreAsTheyWere(t *testing.T) {
	s := recorded(t)
	for _, c := range []struct {
		path, golden string
		status       int
	}{
		{"/", "runs.html", 200},
		{"/api/runs", "runs.json", 200},
		{"/runs/shop-web-run-good", "run-good.html", 200},
		{"/runs/shop-web-run-bad", "run-bad.html", 200},
		{"/runs/shop-web-run-bad?ci_stage=test", "run-bad-test.html", 200},
		{"/runs/shop-web-run-lost", "run-lost.html", 200},
		{"/runs/shop-web-run-busy", "run-busy.html", 200},
		{"/api/runs/shop-web-run-bad", "run-bad.json", 200},
		{"/api/runs/shop-web-run-bad/logs", "logs.json", 200},
		{"/api/runs/shop-web-run-bad/logs?ci_stage=test&last=1", "logs-last.json", 200},
		{"/runs/none", "none.html", 404},
		{"/api/runs/none", "none.json", 404},
		{"/runs/shop-web-run-bad?ci_stage=deploy", "stage.html", 400},
		{"/api/runs/shop-web-run-bad/logs?ci_stage=deploy", "stage.json", 400},
		{"/api/runs/shop-web-run-bad/logs?last=all", "last.json", 400},
		{"/?limit=0", "limit.html", 400},
	} {
		t.Run(c.golden, func(t *testing.T) {
			w := get(t, s, "GET", c.path)
			assert.Equal(t, c.status, w.Code)
			golden(t, c.golden, w.Body.String())
		})
	}
}

func TestAPageIsWholeAndNothingOfALogIsMarkup(t *testing.T) {
	s := recorded(t)
	w := get(t, s, "GET", "/runs/shop-web-run-bad")
	assert.Equal(t, "text/html; charset=utf-8", w.Header().Get("Content-Type"))
	assert.Contains(t, w.Header().Get("Content-Security-Policy"), "default-src 'none'")
	doc, err := goquery.NewDocumentFromReader(w.Body)
	require.NoError(t, err)
	assert.Equal(t, 1, doc.Find("h1").Length())
	assert.Equal(t, 1, doc.Find(`meta[name=viewport]`).Length())
	assert.Equal(t, 0, doc.Find("prices").Length())
	assert.Equal(t, 0, doc.Find("style, [style], script").Length(), "its policy would keep them from the browser")
	style := get(t, s, "GET", doc.Find("link[rel=stylesheet]").AttrOr("href", ""))
	assert.Equal(t, "text/css; charset=utf-8", style.Header().Get("Content-Type"))
	assert.Contains(t, style.Body.String(), "box-sizing", "what all surfaces have")
	assert.Contains(t, style.Body.String(), ".Succeeded", "and the engine's own")
	assert.Equal(t, 4, doc.Find("details").Length())
	assert.Equal(t, 0, doc.Find(`meta[http-equiv=refresh]`).Length(), "a run that has ended stands still")
	doc.Find("a").Each(func(_ int, a *goquery.Selection) {
		href, _ := a.Attr("href")
		assert.Equal(t, http.StatusOK, get(t, s, "GET", href).Code, href)
	})
	busy, err := goquery.NewDocumentFromReader(get(t, s, "GET", "/runs/shop-web-run-busy").Body)
	require.NoError(t, err)
	assert.Equal(t, 1, busy.Find(`meta[http-equiv=refresh]`).Length())
}

func TestTheSurfaceOnlyAnswersQuestions(t *testing.T) {
	s := recorded(t)
	for _, path := range []string{"/", "/runs/shop-web-run-bad", "/api/runs", "/api/runs/shop-web-run-bad/logs"} {
		for _, method := range []string{"POST", "PUT", "DELETE"} {
			assert.Equal(t, http.StatusMethodNotAllowed, get(t, s, method, path).Code, "%s %s", method, path)
		}
	}
	assert.Equal(t, http.StatusNotFound, get(t, s, "GET", "/other").Code)
}

func TestEnsureTellsHowARunStands(t *testing.T) {
	s := recorded(t)
	st, err := s.Ensure(context.Background(), Build{Run: "shop-web-run-bad", Project: "shop", Component: "shop-web"})
	require.NoError(t, err)
	assert.Equal(t, flowclient.BuildFailed, st.Phase)
	assert.Equal(t, "stage test failed: exit status 1", st.Message)
	assert.Equal(t, strings.Repeat("ab", 20), st.Commit)
	assert.Len(t, st.Tasks, 4)
	assert.Equal(t, taskSkipped, st.Tasks[3].Phase)
	assert.NotNil(t, st.CompletedAt)
}
