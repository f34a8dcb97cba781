package observer_test

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"platform.dev/platform/fixtures/goldenfile"
	"platform.dev/platform/server/observer"
)

// TestMain asks that every test ends what it began.
func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const token = "the-token-of-the-observer"

// clock is what the store goes by.
type clock struct{ nanos atomic.Int64 }

var begun = time.Date(2026, 11, 20, 6, 0, 0, 0, time.UTC)

func newClock() *clock {
	c := &clock{}
	c.nanos.Store(begun.UnixNano())
	return c
}

func (c *clock) now() time.Time          { return time.Unix(0, c.nanos.Load()).UTC() }
func (c *clock) advance(d time.Duration) { c.nanos.Add(int64(d)) }

// rig is an observer behind a real server.
type rig struct {
	t     *testing.T
	s     *observer.Server
	http  *httptest.Server
	clock *clock
	dir   string
}

func newRig(t *testing.T, change ...func(*observer.Config)) *rig {
	t.Helper()
	return openRig(t, t.TempDir(), newClock(), change...)
}

// openRig opens the store in dir, as a start of the platform does.
func openRig(t *testing.T, dir string, c *clock, change ...func(*observer.Config)) *rig {
	t.Helper()
	cfg := observer.Config{Path: filepath.Join(dir, "telemetry.db"), Token: token, Now: c.now}
	for _, f := range change {
		f(&cfg)
	}
	s, err := observer.New(t.Context(), cfg)
	require.NoError(t, err)
	r := &rig{t: t, s: s, http: httptest.NewServer(s.Handler()), clock: c, dir: dir}
	t.Cleanup(r.close)
	return r
}

// close ends the server and the store; a second call does nothing.
func (r *rig) close() {
	if r.http == nil {
		return
	}
	r.http.Close()
	assert.NoError(r.t, r.s.Close())
	r.http = nil
}

type answer struct {
	status int
	header http.Header
	body   string
}

func (r *rig) do(method, path, body string, header map[string]string) answer {
	r.t.Helper()
	req, err := http.NewRequestWithContext(r.t.Context(), method, r.http.URL+path, strings.NewReader(body))
	require.NoError(r.t, err)
	for k, v := range header {
		req.Header.Set(k, v)
	}
	resp, err := r.http.Client().Do(req)
	require.NoError(r.t, err)
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	require.NoError(r.t, err)
	return answer{resp.StatusCode, resp.Header, string(text)}
}

func (r *rig) get(path string) answer { r.t.Helper(); return r.do("GET", path, "", nil) }

// post sends JSON with the token.
func (r *rig) post(path, body string) answer {
	r.t.Helper()
	return r.do("POST", path, body, map[string]string{"Authorization": "Bearer " + token, "Content-Type": "application/json"})
}

func (r *rig) log(labels map[string]string, at time.Time, lines ...string) {
	r.t.Helper()
	var list []observer.Line
	for i, l := range lines {
		list = append(list, observer.Line{At: at.Add(time.Duration(i) * time.Second), Text: l})
	}
	require.NoError(r.t, r.s.Log(r.t.Context(), labels, list))
}

// run runs the store until the test ends.
func (r *rig) run() {
	ctx, cancel := context.WithCancel(r.t.Context())
	done := make(chan error, 1)
	go func() { done <- r.s.Run(ctx) }()
	r.t.Cleanup(func() { cancel(); assert.NoError(r.t, <-done) })
}

// golden compares an answer's body with a file, or rewrites it with -update.
func golden(t *testing.T, name string, got answer) {
	t.Helper()
	require.Equal(t, 200, got.status, got.body)
	require.Equal(t, "application/json", got.header.Get("Content-Type"))
	var b bytes.Buffer
	require.NoError(t, json.Indent(&b, []byte(got.body), "", "  "))
	path := filepath.Join("..", "..", "fixtures", "golden", "observer", name)
	goldenfile.Compare(t, path, b.String())
}
