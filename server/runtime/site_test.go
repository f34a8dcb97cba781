package runtime

import (
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestASiteAnswersAsBrowsersExpect(t *testing.T) {
	b := newBench(t)
	ref := b.push(image(t, "/site", []file{
		page("site/index.html", "<h1>home</h1>"), page("site/style.css", "body{}"), page("site/app.js", "1"),
		page("site/data", "{}"), page("site/docs/index.html", "docs"), page("site/empty/x.txt", "x"),
		page("site/sp ace/index.html", "space"), page("site/404.html", "<h1>lost</h1>"),
	}))
	require.True(t, b.apply(staging(ref)).Ready)
	etag := b.routes.get(route, "/").Header.Get("ETag")
	require.NotEmpty(t, etag)
	for _, tc := range []struct {
		name, method, path string
		header             map[string]string
		status             int
		body, contentType  string
		location           string
	}{
		{"the first page", "GET", "/", nil, 200, "<h1>home</h1>", "text/html; charset=utf-8", ""},
		{"the first page by name", "GET", "/index.html", nil, 200, "<h1>home</h1>", "text/html; charset=utf-8", ""},
		{"its head", "HEAD", "/style.css", nil, 200, "", "text/css; charset=utf-8", ""},
		{"a script", "GET", "/app.js", nil, 200, "1", "text/javascript; charset=utf-8", ""},
		{"a file without ending", "GET", "/data", nil, 200, "{}", "text/plain; charset=utf-8", ""},
		{"a directory without slash", "GET", "/docs?q=1", nil, 307, "", "", "/shop-web-http/docs/?q=1"},
		{"a directory with a space", "GET", "/sp%20ace", nil, 307, "", "", "/shop-web-http/sp%20ace/"},
		{"a directory", "GET", "/docs/", nil, 200, "docs", "text/html; charset=utf-8", ""},
		{"a directory without index is no listing", "GET", "/empty/", nil, 404, "<h1>lost</h1>", "text/html; charset=utf-8", ""},
		{"a file is no directory", "GET", "/index.html/", nil, 404, "<h1>lost</h1>", "text/html; charset=utf-8", ""},
		{"an absent page", "GET", "/nope", nil, 404, "<h1>lost</h1>", "text/html; charset=utf-8", ""},
		{"a path above the site", "GET", "/../../../../etc/passwd", nil, 404, "<h1>lost</h1>", "text/html; charset=utf-8", ""},
		{"a path with a zero byte", "GET", "/a%00b", nil, 404, "<h1>lost</h1>", "text/html; charset=utf-8", ""},
		{"a version that the browser has", "GET", "/", map[string]string{"If-None-Match": etag}, 304, "", "", ""},
		{"an older version", "GET", "/", map[string]string{"If-None-Match": `"old"`}, 200, "<h1>home</h1>", "text/html; charset=utf-8", ""},
		{"a time proves nothing", "GET", "/", map[string]string{"If-Modified-Since": "Mon, 02 Jan 2040 15:04:05 GMT"}, 200, "<h1>home</h1>", "text/html; charset=utf-8", ""},
		{"a range", "GET", "/", map[string]string{"Range": "bytes=4-7"}, 206, "home", "text/html; charset=utf-8", ""},
		{"a write", "POST", "/", nil, 405, "a static site answers GET and HEAD\n", "text/plain; charset=utf-8", ""},
	} {
		t.Run(tc.name, func(t *testing.T) {
			req := httptest.NewRequest(tc.method, tc.path, nil)
			for k, v := range tc.header {
				req.Header.Set(k, v)
			}
			resp := b.routes.ask(req, route)
			assert.Equal(t, tc.status, resp.StatusCode)
			assert.Equal(t, tc.body, body(t, resp))
			assert.Equal(t, tc.contentType, resp.Header.Get("Content-Type"))
			assert.Equal(t, tc.location, resp.Header.Get("Location"))
			assert.Equal(t, "nosniff", resp.Header.Get("X-Content-Type-Options"))
			assert.Empty(t, resp.Header.Get("Last-Modified"))
			if tc.status == http.StatusMethodNotAllowed {
				assert.Equal(t, "GET, HEAD", resp.Header.Get("Allow"))
			}
		})
	}
}

func TestASiteWithoutA404PageSaysSoInOneLine(t *testing.T) {
	b := newBench(t)
	require.True(t, b.apply(staging(b.site("x"))).Ready)
	resp := b.routes.get(route, "/nope")
	assert.Equal(t, 404, resp.StatusCode)
	assert.Equal(t, "404: this page is not part of the site\n", body(t, resp))
}

func TestTheVersionFollowsTheImage(t *testing.T) {
	b := newBench(t)
	b.apply(staging(b.site("first")))
	first := b.routes.get(route, "/").Header.Get("ETag")
	b.apply(staging(b.site("second")))
	assert.NotEqual(t, first, b.routes.get(route, "/").Header.Get("ETag"))
}
