package zulip

import (
	"log/slog"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"platform.dev/platform/bots/botstest"
)

func TestAClientNeedsASiteAndAnAccount(t *testing.T) {
	for _, c := range []struct{ name, site, email, key, says string }{
		{"no address", "chat", "e", "k", `zulip site "chat"`},
		{"no email", "http://chat", "", "k", "an email and an API key"},
		{"no key", "http://chat", "e", "", "an email and an API key"},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := NewClient(ClientConfig{Site: c.site, Email: c.email, Key: c.key})
			require.ErrorContains(t, err, c.says)
		})
	}
}

func TestARedirectIsNotFollowed(t *testing.T) {
	s := newScript(t).on("GET /users/me", answer{status: http.StatusMovedPermanently, header: http.Header{"Location": {"https://chat.example.org/"}}})
	_, err := s.transport(botstest.NewStore()).Client().Me(t.Context())
	require.ErrorContains(t, err, `the server redirects to "https://chat.example.org/"; use that site`)
}

func TestReadingIsRepeatedAndWritingIsNot(t *testing.T) {
	s := newScript(t).
		on("GET /users/me", answer{hangUp: true}, answer{status: http.StatusServiceUnavailable, body: "down"}, ok(me)).
		on("POST /messages", answer{status: http.StatusServiceUnavailable, body: "down"}, posted(1))
	c := s.transport(botstest.NewStore()).Client()
	u, err := c.Me(t.Context())
	require.NoError(t, err)
	assert.Equal(t, User{ID: 7, Email: "platform-bot@x", FullName: "platform", IsBot: true, Role: 400}, u)
	_, err = c.Post(t.Context(), Post{Stream: "s", Topic: "t", Content: "x"})
	require.Error(t, err)
	assert.Len(t, s.requests("POST /messages"), 1)
}

func TestParametersThatTheServerIgnoredAreLogged(t *testing.T) {
	s := newScript(t).on("GET /users/me", ok(strings.Replace(me, `"msg":""`, `"msg":"","ignored_parameters_unsupported":["x"]`, 1)))
	var log strings.Builder
	c, err := NewClient(ClientConfig{Site: s.url, Email: "e", Key: "k", Log: slog.New(slog.NewTextHandler(&log, nil))})
	require.NoError(t, err)
	defer c.Close()
	_, err = c.Me(t.Context())
	require.NoError(t, err)
	assert.Contains(t, log.String(), "parameters=[x]")
}

func TestHowLongARateLimitAsksToWait(t *testing.T) {
	f := func(v float64) *float64 { return &v }
	for _, c := range []struct {
		name   string
		body   *float64
		header string
		want   time.Duration
	}{
		{"the body's float", f(28.7), "1", 28700 * time.Millisecond},
		{"the header's float", nil, "2.25", 2250 * time.Millisecond},
		{"neither", nil, "", defaultRetryAfter},
		{"a date", nil, "Fri, 20 Nov 2026 06:00:00 GMT", defaultRetryAfter},
		{"nothing at all", f(0), "", defaultRetryAfter},
		{"less than nothing", f(-3), "", defaultRetryAfter},
		{"no number", nil, "NaN", defaultRetryAfter},
		{"more than is believed", f(1e300), "", longestRetryAfter},
		{"infinite", nil, "Inf", longestRetryAfter},
	} {
		t.Run(c.name, func(t *testing.T) { assert.Equal(t, c.want, wait(c.body, c.header)) })
	}
}

func TestPermalinks(t *testing.T) {
	for _, c := range []struct {
		name string
		m    Message
		want string
	}{
		{"a plain channel", Message{ID: 31, Type: "stream", StreamID: 3, Display: []byte(`"shop"`), Topic: "builds"}, "https://z/#narrow/channel/3-shop/topic/builds/near/31"},
		{"spaces, dots, slashes and letters", Message{ID: 1, Type: "stream", StreamID: 4, Display: []byte(`"my shop.v2"`), Topic: "a/b ü 1.0"}, "https://z/#narrow/channel/4-my-shop.2Ev2/topic/a.2Fb.20.C3.BC.201.2E0/near/1"},
		{"one person", Message{ID: 2, Type: "private", Display: []byte(`[{"id":10},{"id":7}]`)}, "https://z/#narrow/dm/10-dm/near/2"},
		{"several people", Message{ID: 3, Type: "private", Display: []byte(`[{"id":11},{"id":7},{"id":10}]`)}, "https://z/#narrow/dm/10,11-group/near/3"},
	} {
		t.Run(c.name, func(t *testing.T) { assert.Equal(t, c.want, Permalink("https://z/", c.m, 7)) })
	}
}
