package web_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"platform.dev/platform/server/web"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

var quiet = slog.New(slog.DiscardHandler)

// serving serves h on an in-memory listener until stop is called.
func serving(t *testing.T, h http.Handler) (client *http.Client, stop func() error) {
	t.Helper()
	l := web.NewMemory()
	ctx, cancel := context.WithCancel(context.WithoutCancel(t.Context()))
	ended := make(chan error, 1)
	go func() { ended <- web.Serve(ctx, l, h, quiet) }()
	transport := l.Transport()
	stop = sync.OnceValue(func() error {
		cancel()
		err := <-ended
		transport.CloseIdleConnections()
		return err
	})
	t.Cleanup(func() { _ = stop() })
	return &http.Client{Transport: transport}, stop
}

// get asks and reads the answer.
func get(ctx context.Context, c *http.Client, url string) (string, error) {
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return "", err
	}
	resp, err := c.Do(r)
	if err != nil {
		return "", err
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	return string(body), err
}

func TestAMemoryListenerCarriesRealHTTP(t *testing.T) {
	client, stop := serving(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		assert.NoError(t, err)
		fmt.Fprintf(w, "%s %s %d", r.Method, r.Host, len(body))
	}))
	var wg sync.WaitGroup
	for range 20 {
		wg.Go(func() {
			r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, "http://control-plane/x", strings.NewReader(strings.Repeat("x", 1<<20)))
			if !assert.NoError(t, err) {
				return
			}
			resp, err := client.Do(r)
			if !assert.NoError(t, err) {
				return
			}
			defer resp.Body.Close()
			body, err := io.ReadAll(resp.Body)
			assert.NoError(t, err)
			assert.Equal(t, "POST control-plane 1048576", string(body))
		})
	}
	wg.Wait()
	require.NoError(t, stop())
	_, err := get(t.Context(), client, "http://control-plane/")
	require.ErrorIs(t, err, net.ErrClosed)
}

func TestALongPollEndsWithItsClient(t *testing.T) {
	arrived, gone := make(chan struct{}), make(chan struct{})
	client, _ := serving(t, http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		close(arrived)
		<-r.Context().Done()
		close(gone)
	}))
	ctx, cancel := context.WithCancel(t.Context())
	failed := make(chan error)
	go func() {
		_, err := get(ctx, client, "http://chat/events")
		failed <- err
	}()
	<-arrived
	cancel()
	require.ErrorIs(t, <-failed, context.Canceled)
	<-gone // the handler was told
}

func TestALongPollDoesNotDelayTheEnd(t *testing.T) {
	arrived := make(chan struct{})
	client, stop := serving(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		close(arrived)
		<-r.Context().Done()
		_, _ = io.WriteString(w, "nothing happened")
	}))
	answer := make(chan string)
	go func() {
		text, err := get(t.Context(), client, "http://chat/events")
		assert.NoError(t, err)
		answer <- text
	}()
	<-arrived
	begun := time.Now()
	require.NoError(t, stop())
	assert.Less(t, time.Since(begun), web.ShutdownGrace)
	assert.Equal(t, "nothing happened", <-answer, "what has begun is answered")
}

func TestAConnectionThatSaysNothingDoesNotDelayTheEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := web.NewMemory()
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan error)
		go func() { ended <- web.Serve(ctx, l, http.NotFoundHandler(), quiet) }()
		c, err := l.Dial(ctx)
		require.NoError(t, err)
		synctest.Wait()
		begun := time.Now()
		cancel()
		require.NoError(t, <-ended)
		assert.Less(t, time.Since(begun), time.Second)
		_, err = c.Read(make([]byte, 1))
		require.ErrorIs(t, err, io.EOF)
		require.NoError(t, c.Close())
	})
}

func TestARequestThatNeverEndsIsCutOff(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		arrived, goOn := make(chan struct{}), make(chan struct{})
		l := web.NewMemory()
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan error)
		go func() {
			ended <- web.Serve(ctx, l, http.HandlerFunc(func(http.ResponseWriter, *http.Request) {
				close(arrived)
				<-goOn
			}), quiet)
		}()
		transport := l.Transport()
		failed := make(chan error)
		go func() {
			_, err := get(context.WithoutCancel(ctx), &http.Client{Transport: transport}, "http://x/")
			failed <- err
		}()
		<-arrived
		begun := time.Now()
		cancel()
		require.ErrorIs(t, <-ended, context.DeadlineExceeded)
		assert.Equal(t, web.ShutdownGrace, time.Since(begun))
		require.Error(t, <-failed)
		close(goOn)
		transport.CloseIdleConnections()
		synctest.Wait()
	})
}

func TestServeOverTCPEndsAndFreesItsPort(t *testing.T) {
	l, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	require.NoError(t, err)
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- web.Serve(ctx, l, web.Health(nil, http.NotFoundHandler()), quiet) }()
	client := web.Loopback(5 * time.Second)
	port := l.Addr().(*net.TCPAddr).Port
	for _, host := range []string{"127.0.0.1", "localhost", "staging-shop.apps.platform.localhost", "Shop.LOCALHOST"} {
		body, err := get(t.Context(), client, fmt.Sprintf("http://%s:%d/healthz", host, port))
		require.NoError(t, err, host)
		assert.Equal(t, "ok\n", body)
	}
	client.CloseIdleConnections()
	cancel()
	require.NoError(t, <-ended)
	again, err := new(net.ListenConfig).Listen(t.Context(), "tcp", l.Addr().String())
	require.NoError(t, err)
	require.NoError(t, again.Close())
}

func TestServeTellsWhyItCannotListen(t *testing.T) {
	l := web.NewMemory()
	require.NoError(t, l.Close())
	require.NoError(t, l.Close(), "closing twice is no error")
	require.ErrorIs(t, web.Serve(t.Context(), l, http.NotFoundHandler(), quiet), net.ErrClosed)
	_, err := l.Dial(t.Context())
	require.ErrorIs(t, err, net.ErrClosed)
	assert.Equal(t, "memory memory", l.Addr().Network()+" "+l.Addr().String())
}

func TestADialWithoutAnyoneListeningEndsWithItsContext(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := web.NewMemory().Dial(ctx)
	require.ErrorIs(t, err, context.Canceled)
}

func TestLoopbackFollowsNoRedirect(t *testing.T) {
	srv := httptest.NewServer(http.RedirectHandler("http://elsewhere.example/", http.StatusFound))
	defer srv.Close()
	client := web.Loopback(time.Second)
	defer client.CloseIdleConnections()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, srv.URL, nil)
	require.NoError(t, err)
	resp, err := client.Do(r)
	require.NoError(t, err)
	require.NoError(t, resp.Body.Close())
	assert.Equal(t, http.StatusFound, resp.StatusCode)
}

func TestHostsTakesItsOwnNamesAndRefusesTheRest(t *testing.T) {
	h := web.Hosts([]string{"Git.Platform.localhost"}, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusNoContent) }))
	for host, want := range map[string]int{
		"127.0.0.1": 204, "127.0.0.1:3001": 204, "[::1]:3001": 204, "::1": 204, "localhost:3001": 204, "LOCALHOST": 204,
		"git.platform.localhost": 204, "GIT.platform.LOCALHOST:3001": 204,
		"evil.example": 421, "evil.example:3001": 421, "127.0.0.1.evil.example": 421, "localhost.evil.example": 421,
		"": 421, "0.0.0.0": 421, "127.0.0.2": 421, "sub.git.platform.localhost": 421,
	} {
		r := httptest.NewRequest(http.MethodGet, "/", nil)
		r.Host = host
		w := httptest.NewRecorder()
		h.ServeHTTP(w, r)
		assert.Equal(t, want, w.Code, "host %q", host)
		if want == 421 {
			assert.Contains(t, w.Body.String(), `"error"`)
			assert.Contains(t, w.Body.String(), web.Hostname(host))
		}
	}
}

func TestHealthTellsOKOrWhy(t *testing.T) {
	next := http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "next") })
	for _, tc := range []struct {
		name, path string
		check      func(context.Context) error
		status     int
		body       string
	}{
		{"without a check", "/healthz", nil, 200, "ok\n"},
		{"healthy", "/healthz", func(context.Context) error { return nil }, 200, "ok\n"},
		{"not healthy", "/healthz", func(context.Context) error { return errors.New("disk full") }, 503, "disk full\n"},
		{"another path", "/healthz/x", nil, 200, "next"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			w := httptest.NewRecorder()
			web.Health(tc.check, next).ServeHTTP(w, httptest.NewRequest(http.MethodGet, tc.path, nil))
			assert.Equal(t, tc.status, w.Code)
			assert.Equal(t, tc.body, w.Body.String())
		})
	}
}

func TestSameOriginRefusesWritesFromElsewhere(t *testing.T) {
	h := web.SameOrigin(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusNoContent) }))
	for _, tc := range []struct {
		name, method, site, origin string
		want                       int
	}{
		{"a write of a page elsewhere", "POST", "cross-site", "", 403},
		{"a write of an older browser elsewhere", "POST", "", "https://evil.example", 403},
		{"a write of our own page", "POST", "same-origin", "", 204},
		{"a write of a program", "POST", "", "", 204},
		{"a link from elsewhere", "GET", "cross-site", "https://evil.example", 204},
	} {
		t.Run(tc.name, func(t *testing.T) {
			r := httptest.NewRequest(tc.method, "http://127.0.0.1:3001/", nil)
			if tc.site != "" {
				r.Header.Set("Sec-Fetch-Site", tc.site)
			}
			if tc.origin != "" {
				r.Header.Set("Origin", tc.origin)
			}
			w := httptest.NewRecorder()
			h.ServeHTTP(w, r)
			assert.Equal(t, tc.want, w.Code)
			if tc.want == http.StatusForbidden {
				assert.JSONEq(t, `{"error":"POST is not taken from a page of another origin; send it from a program, or from a page of this surface"}`, w.Body.String())
			}
		})
	}
}

func TestBearerReadsTheTokenOfAHeader(t *testing.T) {
	for header, want := range map[string]string{
		"Bearer abc": "abc", "bearer abc": "abc", "TOKEN abc": "abc", "Bearer  abc ": "abc",
		"": "", "abc": "", "Bearer": "", "Bearer ": "", "Basic abc": "", "Bearerabc": "",
	} {
		r := httptest.NewRequest(http.MethodGet, "/", nil)
		if header != "" {
			r.Header.Set("Authorization", header)
		}
		assert.Equal(t, want, web.Bearer(r), "header %q", header)
	}
}

func TestSameSecretNeverMatchesAnEmptyOne(t *testing.T) {
	assert.True(t, web.SameSecret("abc", "abc"))
	for _, pair := range [][2]string{{"", ""}, {"", "abc"}, {"abc", ""}, {"abc", "abd"}, {"abc", "abcd"}, {"ABC", "abc"}} {
		assert.False(t, web.SameSecret(pair[0], pair[1]), "%q", pair)
	}
}

func TestBodyStopsAtItsLimit(t *testing.T) {
	body := func(text string) *http.Request {
		return httptest.NewRequest(http.MethodPost, "/", strings.NewReader(text))
	}
	got, err := web.Body(body("12345678"), 8)
	require.NoError(t, err)
	assert.Equal(t, "12345678", string(got))
	_, err = web.Body(body("123456789"), 8)
	require.ErrorIs(t, err, web.ErrTooLarge)
	_, err = web.Body(httptest.NewRequest(http.MethodPost, "/", io.MultiReader(strings.NewReader("1"), broken{})), 8)
	require.ErrorIs(t, err, errBroken)
}

var errBroken = errors.New("connection reset")

type broken struct{}

func (broken) Read([]byte) (int, error) { return 0, errBroken }

func TestAnswersAreJSONAsWritten(t *testing.T) {
	w := httptest.NewRecorder()
	web.Error(w, http.StatusConflict, `release <a> & "b" is locked`)
	assert.Equal(t, 409, w.Code)
	assert.Equal(t, "application/json", w.Header().Get("Content-Type"))
	assert.Equal(t, `{"error":"release <a> & \"b\" is locked"}`+"\n", w.Body.String())
}

func TestHostnameIsLowerCaseWithoutPort(t *testing.T) {
	for host, want := range map[string]string{
		"A.example:80": "a.example", "a.example": "a.example", "[::1]:80": "::1", "[::1]": "::1", "::1": "::1", "": "", "a:b:c": "a:b:c",
	} {
		assert.Equal(t, want, web.Hostname(host))
	}
}

func TestServeLogsWhatGoesWrongOnAConnection(t *testing.T) {
	var mu sync.Mutex
	var log bytes.Buffer
	l := web.NewMemory()
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error)
	logger := slog.New(slog.NewTextHandler(writer(func(p []byte) (int, error) {
		mu.Lock()
		defer mu.Unlock()
		return log.Write(p)
	}), nil))
	go func() {
		ended <- web.Serve(ctx, l, http.HandlerFunc(func(http.ResponseWriter, *http.Request) { panic("broken handler") }), logger)
	}()
	transport := l.Transport()
	_, err := get(t.Context(), &http.Client{Transport: transport}, "http://x/")
	require.Error(t, err)
	transport.CloseIdleConnections()
	cancel()
	require.NoError(t, <-ended)
	mu.Lock()
	defer mu.Unlock()
	assert.Contains(t, log.String(), "broken handler")
}

type writer func([]byte) (int, error)

func (w writer) Write(p []byte) (int, error) { return w(p) }

func BenchmarkARequestInMemory(b *testing.B) {
	l := web.NewMemory()
	ctx, cancel := context.WithCancel(b.Context())
	ended := make(chan error)
	go func() {
		ended <- web.Serve(ctx, l, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "ok") }), quiet)
	}()
	transport := l.Transport()
	client := &http.Client{Transport: transport}
	for b.Loop() {
		if _, err := get(ctx, client, "http://x/"); err != nil {
			b.Fatal(err)
		}
	}
	transport.CloseIdleConnections()
	cancel()
	require.NoError(b, <-ended)
}
