package chat_test

import (
	"net/http"
	"net/url"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"platform.dev/platform/server/chat"
)

// unchecked is the world with answers that Zulip's description does not have.
func (w *world) unchecked() *world {
	c, ok := w.http.Transport.(checking)
	if !ok {
		return w
	}
	return &world{t: w.t, server: w.server, stop: w.stop, http: &http.Client{Transport: c.next}}
}

// code asks for a one-time code.
func (a *actor) code() (code, address string) {
	a.w.t.Helper()
	out := (&actor{User: a.User, w: a.w.unchecked()}).ok("POST", "/users/me/sign_in_code", nil)
	return out["code"].(string), out["url"].(string)
}

func TestOnlyWhoKnowsTheKeyOrACodeSignsIn(t *testing.T) {
	at := newClock()
	w := openPages(t, at.now)
	ann, bob := w.person("Ann"), w.person("Bob")
	w.stream("general", ann)
	ann.post("general", "t", "hello")
	used, _ := ann.code()
	late, _ := ann.code()
	enter := func(b *browser, who, secret string) (int, string) {
		resp, body := b.post("/sign-in", url.Values{"who": {who}, "secret": {secret}, "back": {"/read/1/t"}})
		return resp.StatusCode, body
	}
	status, body := enter(w.browser(), ann.Email, used)
	assert.Equal(t, 200, status)
	assert.Contains(t, body, "You are signed in as Ann")
	assert.Contains(t, body, "hello", "one is led back to where one came from")

	fresh, _ := ann.code()
	refused := map[string][2]string{
		"no key": {ann.Email, ""}, "another's key": {ann.Email, bob.APIKey}, "a wrong key": {ann.Email, "x" + ann.APIKey[1:]},
		"an unknown address": {"nobody@chat.test", ann.APIKey}, "nobody": {"", ann.APIKey}, "an empty form": {"", ""},
		"a code that was used": {ann.Email, used}, "another's code": {bob.Email, fresh},
	}
	for name, c := range refused {
		status, body := enter(w.browser(), c[0], c[1])
		assert.Equal(t, 401, status, name)
		assert.Contains(t, body, "That is not the key of this account", name)
		if c[1] != "" {
			assert.NotContains(t, body, c[1], "what was typed is not shown")
		}
	}
	at.advance(5 * time.Minute)
	status, _ = enter(w.browser(), ann.Email, late)
	assert.Equal(t, 401, status, "a code holds for five minutes")
	for range 9 {
		fresh, _ = ann.code()
	}
	status, _ = enter(w.browser(), ann.Email, fresh)
	assert.Equal(t, 200, status, "the newest of many codes holds")
}

func TestWhoFailsToSignInTooOftenWaits(t *testing.T) {
	at := newClock()
	w := openPages(t, at.now)
	ann, bob := w.person("Ann"), w.person("Bob")
	enter := func(who, secret string) (*http.Response, string) {
		return w.browser().post("/sign-in", url.Values{"who": {who}, "secret": {secret}})
	}
	code, _ := ann.code()
	for _, secret := range []string{"wrong", bob.APIKey, "", strings.Repeat("0", 64), "wrong again"} {
		resp, _ := enter(strings.ToUpper(ann.Email), secret)
		assert.Equal(t, 401, resp.StatusCode)
	}
	at.advance(1500 * time.Millisecond)
	for _, secret := range []string{"wrong", ann.APIKey, code} {
		resp, body := enter(ann.Email, secret)
		assert.Equal(t, 429, resp.StatusCode, "also with the right one: it is not looked at")
		assert.Equal(t, "59", resp.Header.Get("Retry-After"))
		doc := document(t, body)
		assert.Equal(t, "Signing in failed too often from here. Try again in 59 seconds.", doc.Find("[role=alert]").Text())
		assert.Equal(t, ann.Email, doc.Find("input[name=who][checked]").AttrOr("value", ""), "who was chosen stays chosen")
		checkPage(t, resp, body)
	}
	resp, _ := enter(bob.Email, bob.APIKey)
	assert.Equal(t, 200, resp.StatusCode, "another account")
	ann.ok("GET", "/users/me", nil)
	at.advance(58500 * time.Millisecond)
	resp, _ = enter(ann.Email, code)
	assert.Equal(t, 200, resp.StatusCode)
	for range 5 {
		resp, _ = enter(ann.Email, "wrong")
		assert.Equal(t, 401, resp.StatusCode, "who has signed in starts anew")
	}

	for i := range 50 {
		enter("nobody"+itoa(int64(i))+"@chat.test", "wrong")
	}
	resp, _ = enter(bob.Email, bob.APIKey)
	assert.Equal(t, 429, resp.StatusCode, "an address that tries many accounts")
	wait, err := strconv.Atoi(resp.Header.Get("Retry-After"))
	require.NoError(t, err)
	assert.True(t, wait > 0 && wait <= 12, "one more every twelve seconds: %d", wait)
}

func TestACodesAddressKeepsItFromTheServer(t *testing.T) {
	w := fresh(t)
	ann := w.person("Ann")
	code, address := ann.code()
	u, err := url.Parse(address)
	require.NoError(t, err)
	assert.Equal(t, site+"/sign-in", u.Scheme+"://"+u.Host+u.RequestURI())
	fields, err := url.ParseQuery(u.Fragment)
	require.NoError(t, err)
	assert.Equal(t, url.Values{"who": {ann.Email}, "code": {code}}, fields)
	assert.Len(t, code, 64)
}

func TestASessionLastsThirtyDaysAndARestart(t *testing.T) {
	at := newClock()
	path := filepath.Join(t.TempDir(), "chat.db")
	w := open(t, path, func(c *chat.Config) { c.Now = at.now })
	ann := w.person("Ann")
	me, other := w.as(ann), w.as(ann)
	w.stop()
	w = open(t, path, func(c *chat.Config) { c.Now = at.now })
	for _, b := range []*browser{me, other} {
		b.w, b.http.Transport = w, w.http.Transport
	}
	resp, _ := me.get("/api/v1/users/me")
	assert.Equal(t, 200, resp.StatusCode, "the API takes a session, too")
	me.post("/sign-out", nil)
	resp, _ = me.get("/api/v1/users/me")
	assert.Equal(t, 401, resp.StatusCode, "signed out")
	resp, _ = other.get("/api/v1/users/me")
	assert.Equal(t, 200, resp.StatusCode, "another browser stays signed in")
	at.advance(30 * 24 * time.Hour)
	resp, _ = other.get("/api/v1/users/me")
	assert.Equal(t, 401, resp.StatusCode)

	other = w.as(ann)
	for range 20 {
		at.advance(time.Second)
		w.as(ann)
	}
	resp, _ = other.get("/api/v1/users/me")
	assert.Equal(t, 401, resp.StatusCode, "the oldest of more than twenty sessions ends")
}

func TestTheSessionsCookieIsOutOfReachOfScriptsAndOtherSites(t *testing.T) {
	for address, want := range map[string]struct {
		name   string
		secure bool
	}{
		site: {"chat-session", false}, "http://127.0.0.1:9991": {"chat-session-9991", false}, "https://chat.example": {"chat-session", true},
	} {
		w := open(t, filepath.Join(t.TempDir(), "chat.db"), func(c *chat.Config) { c.URL = address })
		ann := w.person("Ann")
		b := w.browser()
		b.http.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
		resp, _ := b.post("/sign-in", url.Values{"who": {ann.Email}, "secret": {ann.APIKey}})
		require.Len(t, resp.Cookies(), 1)
		c := resp.Cookies()[0]
		assert.Equal(t, want.name, c.Name)
		assert.Equal(t, want.secure, c.Secure)
		assert.True(t, c.HttpOnly)
		assert.Equal(t, http.SameSiteStrictMode, c.SameSite)
		assert.Equal(t, 30*24*3600, c.MaxAge)
		assert.NotContains(t, c.Value, ann.APIKey)
		resp, _ = b.post("/sign-out", nil)
		require.Len(t, resp.Cookies(), 1)
		assert.Negative(t, resp.Cookies()[0].MaxAge)
	}
}

func TestOneIsLedBackToThisServerAlone(t *testing.T) {
	w := openPages(t, time.Now)
	ann := w.person("Ann")
	for back, want := range map[string]string{
		"/read/1": "/read/1", "/search?q=a+b": "/search?q=a+b", "": "/", "read": "/", "//evil.test/": "/", `/\evil.test`: "/",
		"https://evil.test/": "/", "javascript:alert(1)": "/", "/a\r\nSet-Cookie: x=y": "/", "/\t/evil.test": "/",
	} {
		b := w.browser()
		b.http.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
		resp, _ := b.post("/sign-in", url.Values{"who": {ann.Email}, "secret": {ann.APIKey}, "back": {back}})
		assert.Equal(t, 303, resp.StatusCode, back)
		assert.Equal(t, want, resp.Header.Get("Location"), back)
	}
}

func TestClosedPagesTellNothing(t *testing.T) {
	w := fresh(t)
	ann := w.person("Ann Example")
	w.stream("general", ann)
	ann.post("general", "plans", "words")
	for _, path := range []string{"/", "/read/1", "/read/1/plans", "/read/9", "/message/1", "/search?q=words", "/direct", "/sign-in"} {
		resp, body := w.browser().get(path)
		assert.Equal(t, 200, resp.StatusCode, path)
		assert.Equal(t, "/sign-in", resp.Request.URL.Path, "%s asks who one is", path)
		for _, told := range []string{"Ann", "general", "plans"} {
			assert.NotContains(t, document(t, body).Find("main, nav").Not("input").Text(), told, path)
		}
	}
	for _, path := range []string{"/api/", "/api/read/1", "/api/message/1"} {
		resp, body := w.browser().get(path)
		assert.Equal(t, 401, resp.StatusCode, path)
		assert.Equal(t, `{"error":"This page takes a sign-in: open /sign-in"}`, strings.TrimSpace(body))
	}
	_, body := w.as(ann).get("/read/1/plans")
	assert.Contains(t, body, "words")
}

func TestAnotherOriginWritesNothing(t *testing.T) {
	w := openPages(t, time.Now)
	ann := w.person("Ann")
	w.stream("general", ann)
	sent := ann.post("general", "t", "hello")
	me := w.as(ann)
	for path, form := range map[string]url.Values{
		"/sign-in": {"who": {ann.Email}, "secret": {ann.APIKey}}, "/sign-out": {}, "/read/1": {"topic": {"t"}, "content": {"x"}}, "/read/1/t": {"content": {"x"}},
		"/direct/1": {"content": {"x"}}, "/message/" + itoa(sent) + "/edit": {"content": {"x"}}, "/message/" + itoa(sent) + "/delete": {}, "/message/" + itoa(sent) + "/reactions": {"emoji_name": {"tada"}}, "/mark-as-read": {},
		"/api/v1/messages": {"type": {"stream"}, "to": {"general"}, "topic": {"t"}, "content": {"x"}},
	} {
		for name, value := range map[string]string{"Origin": "http://evil.test", "Sec-Fetch-Site": "cross-site"} {
			r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, site+path, strings.NewReader(form.Encode()))
			require.NoError(t, err)
			r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
			r.Header.Set(name, value)
			resp, _ := me.send(r)
			assert.Equal(t, 403, resp.StatusCode, "%s with %s", path, name)
		}
	}
	assert.Len(t, ann.messages(form{}), 1)
	resp, _ := me.get("/api/v1/users/me")
	assert.Equal(t, 200, resp.StatusCode, "still signed in")
}

func TestABrowserIsNotMadeToAskForAPassword(t *testing.T) {
	w := fresh(t)
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, site+"/api/v1/users/me", nil)
	require.NoError(t, err)
	r.Header.Set("Sec-Fetch-Mode", "cors")
	resp, _ := w.browser().send(r)
	assert.Equal(t, 401, resp.StatusCode)
	assert.Equal(t, `Session realm="zulip"`, resp.Header.Get("WWW-Authenticate"))
}
