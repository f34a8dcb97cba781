package web_test

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/assert"

	"platform.dev/platform/server/web"
)

func TestAPageMayLoadItsOwnFilesAndNothingElse(t *testing.T) {
	w := httptest.NewRecorder()
	w.Header().Set("Retry-After", "2")
	web.Page(w, http.StatusBadGateway, []byte("<!doctype html>"))
	assert.Equal(t, http.StatusBadGateway, w.Code)
	assert.Equal(t, "<!doctype html>", w.Body.String())
	assert.Equal(t, "text/html; charset=utf-8", w.Header().Get("Content-Type"))
	assert.Equal(t, "nosniff", w.Header().Get("X-Content-Type-Options"))
	assert.Equal(t, "2", w.Header().Get("Retry-After"), "what a room has set stays")
	policy := w.Header().Get("Content-Security-Policy")
	assert.Contains(t, policy, "default-src 'none'")
	assert.NotContains(t, policy, "unsafe")
}

func TestASurfacesOwnStyleComesAfterTheCommonOne(t *testing.T) {
	w := httptest.NewRecorder()
	web.Style([]byte("h1 { color: red; }"))(w, httptest.NewRequest(http.MethodGet, "/style.css", http.NoBody))
	assert.Equal(t, "text/css; charset=utf-8", w.Header().Get("Content-Type"))
	assert.True(t, strings.HasPrefix(w.Body.String(), ":root"))
	assert.True(t, strings.HasSuffix(w.Body.String(), "h1 { color: red; }"))
}

func TestAnEchoIsShortAndReadable(t *testing.T) {
	assert.Equal(t, "as it came", web.Echo("as it came"))
	assert.Equal(t, strings.Repeat("x", 200)+"...", web.Echo(strings.Repeat("x", 5000)))
	cut := web.Echo("x" + strings.Repeat("é", 200))
	assert.True(t, utf8.ValidString(cut), "no character is cut in two")
	assert.LessOrEqual(t, len(cut), 203)
}

func TestALivePageMayAskAndTellItsOwnSurfaceAlone(t *testing.T) {
	w := httptest.NewRecorder()
	web.LivePage(w, http.StatusOK, []byte("<!doctype html>"))
	policy := w.Header().Get("Content-Security-Policy")
	for _, part := range []string{"default-src 'none'", "connect-src 'self'", "form-action 'self'", "base-uri 'none'", "frame-ancestors 'none'"} {
		assert.Contains(t, policy, part)
	}
	assert.NotContains(t, policy, "unsafe")
	assert.Equal(t, "nosniff", w.Header().Get("X-Content-Type-Options"))
}
