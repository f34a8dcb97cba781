package gateway

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
	"pgregory.net/rapid"

	"platform.dev/platform/fixtures/goldenfile"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const host = "staging-shop.apps.platform.localhost"

// says answers with its text and what it saw of the request.
func says(text string) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		fmt.Fprintf(w, "%s path=%s escaped=%s prefix=%s", text, r.URL.Path, r.URL.EscapedPath(), r.Header.Get(ForwardedPrefix))
	})
}

// get asks h for target under a Host.
func get(h http.Handler, host, target string) *httptest.ResponseRecorder {
	r := httptest.NewRequest(http.MethodGet, target, nil)
	r.Host = host
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	return w
}

// golden compares got with a file of fixtures/golden/gateway.
func golden(t *testing.T, name, got string) {
	t.Helper()
	file := filepath.Join("..", "..", "fixtures", "golden", "gateway", name)
	goldenfile.Compare(t, file, got)
}

func TestRequestsGoToTheLongestPrefixOfTheirPath(t *testing.T) {
	s := New(Config{})
	require.NoError(t, s.Set(host, []Route{
		{Prefix: "/web", Name: "short", Handler: says("short")},
		{Prefix: "/web-http", Name: "web", Handler: says("web")},
		{Prefix: "/web-http/deep", Name: "deep", Handler: says("deep")},
	}))
	for _, tc := range []struct{ name, target, want string }{
		{"the prefix is removed", "/web-http/a/b", "web path=/a/b escaped=/a/b prefix=/web-http"},
		{"the root of the application", "/web-http/", "web path=/ escaped=/ prefix=/web-http"},
		{"the longest prefix wins", "/web-http/deep/x", "deep path=/x escaped=/x prefix=/web-http/deep"},
		{"a prefix ends at a segment border", "/web-http/deeper", "web path=/deeper escaped=/deeper prefix=/web-http"},
		{"a shorter prefix is not taken inside a segment", "/web/x", "short path=/x escaped=/x prefix=/web"},
		{"escapes of the rest are kept", "/web-http/a%2Fb", "web path=/a/b escaped=/a%2Fb prefix=/web-http"},
		{"an escaped prefix is the same prefix", "/web%2Dhttp/a%2Fb", "web path=/a/b escaped=/a%2Fb prefix=/web-http"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			assert.Equal(t, tc.want, get(s.Handler(), host, tc.target).Body.String())
		})
	}
	t.Run("the Host is compared without port and case", func(t *testing.T) {
		assert.Equal(t, 200, get(s.Handler(), "Staging-Shop.apps.platform.LOCALHOST:19080", "/web-http/").Code)
	})
}

func TestAClaimedPrefixHeaderIsReplaced(t *testing.T) {
	s := New(Config{})
	require.NoError(t, s.Bind(host, "/web-http", "web", says("web")))
	r := httptest.NewRequest(http.MethodGet, "/web-http/", nil)
	r.Host = host
	r.Header.Set(ForwardedPrefix, "/elsewhere")
	w := httptest.NewRecorder()
	s.Handler().ServeHTTP(w, r)
	assert.Contains(t, w.Body.String(), "prefix=/web-http")
	assert.Equal(t, "/elsewhere", r.Header.Get(ForwardedPrefix), "the caller's request is left alone")
}

func TestAPrefixWithoutSlashRedirectsIntoTheApplication(t *testing.T) {
	s := New(Config{})
	require.NoError(t, s.Bind(host, "/web-http", "web", says("web")))
	w := get(s.Handler(), host, "/web-http?q=1&r=2")
	assert.Equal(t, http.StatusTemporaryRedirect, w.Code)
	assert.Equal(t, "/web-http/?q=1&r=2", w.Header().Get("Location"))
}

func TestAnswersOfTheGatewayItself(t *testing.T) {
	s := New(Config{Own: []string{"gateway.platform.localhost"}})
	require.NoError(t, s.Bind(host, "/web-http", "web", says("web")))
	require.NoError(t, s.Bind(host, "/admin-http", "admin", says("admin")))
	require.NoError(t, s.Bind("production-shop.apps.platform.localhost", "/web-http", "web", says("web")))
	for _, tc := range []struct {
		name, host, target, golden string
		status                     int
		unbound                    bool
	}{
		{"an unbound Host", "production-blog.apps.platform.localhost:19080", "/web-http/", "unbound-host.txt", 404, true},
		{"a bound Host with an unknown path", host, "/api-http/x", "unknown-path.txt", 404, true},
		{"health on the own address", "127.0.0.1:19080", "/healthz", "health.txt", 200, false},
		{"an unknown page of the own address", "localhost", "/web-http/", "own-unknown.txt", 404, true},
		{"the index of the own address", "127.0.0.1:19080", "/", "index.html", 200, false},
		{"the index under a configured name", "gateway.platform.localhost:19080", "/", "index.html", 200, false},
		{"health is not answered on an application's Host", host, "/healthz", "healthz-of-application.txt", 404, true},
		{"health is not answered on an unbound Host", "elsewhere.example", "/healthz", "healthz-of-unbound.txt", 404, true},
		{"no Host", "", "/", "no-host.txt", 404, true},
	} {
		t.Run(tc.name, func(t *testing.T) {
			w := get(s.Handler(), tc.host, tc.target)
			assert.Equal(t, tc.status, w.Code)
			want := ""
			if tc.unbound {
				want = Unbound
				assert.Equal(t, "text/plain; charset=utf-8", w.Header().Get("Content-Type"))
			}
			assert.Equal(t, want, w.Header().Get(Header))
			golden(t, tc.golden, w.Body.String())
		})
	}
	t.Run("the index without applications", func(t *testing.T) {
		golden(t, "index-empty.html", get(New(Config{}).Handler(), "localhost", "/").Body.String())
	})
}

func TestLongInputIsCutInAnswers(t *testing.T) {
	w := get(New(Config{}).Handler(), strings.Repeat("ö", 5000), "/")
	assert.Equal(t, 404, w.Code)
	assert.Less(t, w.Body.Len(), 1000)
}

func TestWhatCannotBeRoutedIsRefusedAndChangesNothing(t *testing.T) {
	ok := says("ok")
	for _, tc := range []struct {
		name, host string
		routes     []Route
		want       string
	}{
		{"an empty host", "", []Route{{"/a", "a", ok}}, `host ""`},
		{"a host with a path", "a/b", []Route{{"/a", "a", ok}}, `host "a/b"`},
		{"the gateway's own address", "localhost:80", []Route{{"/a", "a", ok}}, "own address"},
		{"an empty prefix", host, []Route{{"", "a", ok}}, `prefix ""`},
		{"a prefix without slash", host, []Route{{"a", "a", ok}}, `prefix "a"`},
		{"a prefix ending in a slash", host, []Route{{"/a/", "a", ok}}, `prefix "/a/"`},
		{"a prefix of dots", host, []Route{{"/..", "a", ok}}, `prefix "/.."`},
		{"a prefix that names a host", host, []Route{{"//evil", "a", ok}}, `prefix "//evil"`},
		{"a prefix given twice", host, []Route{{"/a", "a", ok}, {"/a", "b", ok}}, "given twice"},
		{"no handler", host, []Route{{"/a", "a", nil}}, "no handler"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			s := New(Config{})
			require.NoError(t, s.Bind(host, "/kept", "kept", ok))
			require.ErrorContains(t, s.Set(tc.host, tc.routes), tc.want)
			assert.Equal(t, map[string][]string{host: {"/kept"}}, s.Hosts())
		})
	}
}

func TestAPrefixBelongsToTheNameThatBoundIt(t *testing.T) {
	s := New(Config{})
	require.NoError(t, s.Bind(host, "/web-http", "web-staging", says("first")))
	require.ErrorIs(t, s.Bind(host, "/web-http", "other", says("other")), ErrTaken)
	require.NoError(t, s.Bind(host, "/web-http", "web-staging", says("second")))
	assert.Contains(t, get(s.Handler(), host, "/web-http/").Body.String(), "second")

	s.Unbind(host, "/web-http", "other")
	assert.Equal(t, 200, get(s.Handler(), host, "/web-http/").Code, "another name's Unbind changes nothing")
	s.Unbind(host, "/web-http", "web-staging")
	assert.Equal(t, 404, get(s.Handler(), host, "/web-http/").Code)
	assert.Empty(t, s.Hosts(), "a host without routes is unbound")
	s.Unbind(host, "/web-http", "web-staging")
}

func TestSetReplacesAllRoutesOfAHostAtOnce(t *testing.T) {
	s := New(Config{})
	require.NoError(t, s.Set(host, []Route{{"/a", "a", says("a")}, {"/b", "b", says("b")}}))
	require.NoError(t, s.Set(host, []Route{{"/b", "b", says("b2")}, {"/c", "c", says("c")}}))
	assert.Equal(t, map[string][]string{host: {"/b", "/c"}}, s.Hosts())
	require.NoError(t, s.Set(host, nil))
	assert.Empty(t, s.Hosts())
}

func TestASwitchOfReleaseDropsNoRequest(t *testing.T) {
	const clients, requests = 8, 300
	s := New(Config{})
	srv := httptest.NewServer(s.Handler())
	defer srv.Close()
	release := func(n int) http.Handler {
		page := fmt.Sprintf("release %d ", n) + strings.Repeat("x", 4096) + fmt.Sprintf(" release %d", n)
		return http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, page) })
	}
	require.NoError(t, s.Bind(host, "/web-http", "web", release(0)))

	var served, switched atomic.Int64
	answered := make(chan struct{}, clients)
	var switcher, wg sync.WaitGroup
	switcher.Go(func() {
		n := 0
		for range answered { // a switch per answer, while the other clients are under way
			n++
			assert.NoError(t, s.Bind(host, "/web-http", "web", release(n)))
			assert.NoError(t, s.Bind(fmt.Sprintf("other-%d.localhost", n%7), "/x", "x", release(n)))
			switched.Add(1)
		}
	})
	for range clients {
		wg.Go(func() {
			for range requests {
				req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, srv.URL+"/web-http/", nil)
				if !assert.NoError(t, err) {
					return
				}
				req.Host = host
				resp, err := srv.Client().Do(req)
				if !assert.NoError(t, err) {
					return
				}
				body, err := io.ReadAll(resp.Body)
				_ = resp.Body.Close()
				if !assert.NoError(t, err) || !assert.Equal(t, 200, resp.StatusCode) {
					return
				}
				first, rest, _ := strings.Cut(string(body), " x")
				_, last, _ := strings.Cut(rest, "x ")
				if !assert.Equal(t, first, last, "one release answers the whole request") {
					return
				}
				served.Add(1)
				answered <- struct{}{}
			}
		})
	}
	wg.Wait()
	close(answered)
	switcher.Wait()
	assert.EqualValues(t, clients*requests, served.Load())
	assert.EqualValues(t, clients*requests, switched.Load())
}

func TestARequestUnderWayFinishesOnTheHandlerItBeganWith(t *testing.T) {
	s := New(Config{})
	begun, goOn := make(chan struct{}), make(chan struct{})
	require.NoError(t, s.Bind(host, "/web-http", "web", http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		close(begun)
		<-goOn
		_, _ = io.WriteString(w, "old")
	})))
	answer := make(chan string)
	go func() { answer <- get(s.Handler(), host, "/web-http/").Body.String() }()
	<-begun
	require.NoError(t, s.Bind(host, "/web-http", "web", says("new")))
	assert.Contains(t, get(s.Handler(), host, "/web-http/").Body.String(), "new", "the next request is on the new one")
	s.Unbind(host, "/web-http", "web")
	close(goOn)
	assert.Equal(t, "old", <-answer)
}

// TestRoutingAgreesWithAPlainSearch compares the table with the rule said in one loop.
func TestRoutingAgreesWithAPlainSearch(t *testing.T) {
	segment := rapid.SampledFrom([]string{"a", "b", "ab", "web-http"})
	paths := rapid.Custom(func(t *rapid.T) string {
		return "/" + strings.Join(rapid.SliceOfN(segment, 1, 3).Draw(t, "segments"), "/")
	})
	rapid.Check(t, func(t *rapid.T) {
		s := New(Config{})
		prefixes := rapid.SliceOfNDistinct(paths, 1, 6, rapid.ID).Draw(t, "prefixes")
		var routes []Route
		for _, p := range prefixes {
			routes = append(routes, Route{Prefix: p, Name: p, Handler: says(p)})
		}
		if err := s.Set(host, routes); err != nil {
			t.Fatal(err)
		}
		path := paths.Draw(t, "path") + "/"
		want := ""
		for _, p := range prefixes {
			if strings.HasPrefix(path, p+"/") && len(p) > len(want) {
				want = p
			}
		}
		got := get(s.Handler(), host, path)
		if want == "" {
			if got.Code != 404 {
				t.Fatalf("%s: %d, want 404", path, got.Code)
			}
			return
		}
		if !strings.HasPrefix(got.Body.String(), want+" ") {
			t.Fatalf("%s: %q, want %s", path, got.Body.String(), want)
		}
	})
}

func BenchmarkRouting(b *testing.B) {
	s := New(Config{})
	for i := range 200 {
		for j := range 5 {
			if err := s.Bind(fmt.Sprintf("staging-p%d.localhost", i), fmt.Sprintf("/web-%d", j), "web", http.NotFoundHandler()); err != nil {
				b.Fatal(err)
			}
		}
	}
	t := (*s.hosts.Load())["staging-p100.localhost"]
	r := httptest.NewRequest(http.MethodGet, "/web-3/index.html", nil)
	w := httptest.NewRecorder()
	for b.Loop() {
		t.serve(w, r)
	}
}
