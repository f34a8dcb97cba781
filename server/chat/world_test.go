package chat_test

import (
	"context"
	"encoding/json"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"platform.dev/platform/server/chat"
	"platform.dev/platform/server/web"
)

// site is where every test client thinks the server is; transports lead there whatever the name.
const site = "http://chat.test"

func TestMain(m *testing.M) {
	_, _ = description() // loaded outside every bubble of fake time; the test that needs it reports the error
	goleak.VerifyTestMain(m)
}

// world is a running server and the means to reach it.
type world struct {
	t      testing.TB
	server *chat.Server
	http   *http.Client
	stop   func()
}

// open starts a server over an in-memory listener on the file; change may be nil.
func open(t testing.TB, path string, change func(*chat.Config)) *world {
	t.Helper()
	l := web.NewMemory()
	w := start(t, path, l, l.Transport(), change)
	return w
}

// openTCP starts a server on a real socket and tells its address.
func openTCP(t testing.TB, path string) (*world, string) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	addr := l.Addr().String()
	dial := func(ctx context.Context, _, _ string) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, "tcp", addr)
	}
	return start(t, path, l, &http.Transport{DialContext: dial, MaxIdleConnsPerHost: 64}, nil), "http://" + addr
}

func start(t testing.TB, path string, l net.Listener, transport *http.Transport, change func(*chat.Config)) *world {
	t.Helper()
	cfg := chat.Config{Path: path, URL: site, Realm: "Platform", RateLimit: 1_000_000, Log: slog.New(slog.NewTextHandler(t.Output(), nil))}
	if change != nil {
		change(&cfg)
	}
	s, err := chat.New(t.Context(), cfg)
	require.NoError(t, err)
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{}, 2)
	go func() {
		defer func() { done <- struct{}{} }()
		_ = web.Serve(ctx, l, s.Handler(), slog.New(slog.DiscardHandler))
	}()
	go func() { defer func() { done <- struct{}{} }(); assert.NoError(t, s.Run(ctx)) }()
	stopped := false
	w := &world{t: t, server: s, http: &http.Client{Transport: checked(transport)}}
	w.stop = func() {
		if stopped {
			return
		}
		stopped = true
		cancel()
		<-done
		<-done
		transport.CloseIdleConnections()
		assert.NoError(t, s.Close())
	}
	t.Cleanup(w.stop)
	return w
}

// fresh is a server on a new file.
func fresh(t testing.TB) *world { return open(t, filepath.Join(t.TempDir(), "chat.db"), nil) }

// actor is an account that calls the API.
type actor struct {
	chat.User
	w *world
}

// person and bot make accounts whose address is their name in lower case.
func (w *world) person(name string) *actor { return w.account(name, false, chat.RoleMember) }
func (w *world) bot(name string) *actor    { return w.account(name, true, chat.RoleMember) }

func (w *world) account(name string, bot bool, role int) *actor {
	w.t.Helper()
	u, err := w.server.EnsureUser(w.t.Context(), chat.NewUser{
		Email: strings.ToLower(strings.ReplaceAll(name, " ", ".")) + "@chat.test", FullName: name, Bot: bot, Role: role})
	require.NoError(w.t, err)
	return &actor{User: u, w: w}
}

// stream makes a channel with these subscribers.
func (w *world) stream(name string, who ...*actor) {
	w.t.Helper()
	var ids []int64
	for _, a := range who {
		ids = append(ids, a.ID)
	}
	require.NoError(w.t, w.server.EnsureStream(w.t.Context(), name, "about "+name, ids...))
}

// form is a request's parameters: strings as they are, the rest as JSON.
type form map[string]any

func (f form) encode() string {
	v := url.Values{}
	for name, value := range f {
		if s, ok := value.(string); ok {
			v.Set(name, s)
			continue
		}
		b, err := json.Marshal(value)
		if err != nil {
			panic(err)
		}
		v.Set(name, string(b))
	}
	return v.Encode()
}

// answer is what the server said.
type answer struct {
	status int
	header http.Header
	body   map[string]any
}

// do sends a request: GET with a query, anything else with a form body.
func (a *actor) do(ctx context.Context, method, path string, f form) (answer, error) {
	address, body := site+"/api/v1"+path, io.Reader(nil)
	if method == http.MethodGet {
		address += "?" + f.encode()
	} else {
		body = strings.NewReader(f.encode())
	}
	r, err := http.NewRequestWithContext(ctx, method, address, body)
	if err != nil {
		return answer{}, err
	}
	r.Header.Set("User-Agent", "test/1.0")
	if method != http.MethodGet {
		r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	}
	if a.APIKey != "" {
		r.SetBasicAuth(a.Email, a.APIKey)
	}
	resp, err := a.w.http.Do(r)
	if err != nil {
		return answer{}, err
	}
	defer resp.Body.Close()
	out := answer{status: resp.StatusCode, header: resp.Header}
	dec := json.NewDecoder(resp.Body)
	return out, dec.Decode(&out.body)
}

// call sends a request that must be answered.
func (a *actor) call(method, path string, f form) answer {
	a.w.t.Helper()
	out, err := a.do(context.Background(), method, path, f)
	require.NoError(a.w.t, err, "%s %s", method, path)
	return out
}

// ok sends a request that must succeed.
func (a *actor) ok(method, path string, f form) map[string]any {
	a.w.t.Helper()
	out := a.call(method, path, f)
	require.Equal(a.w.t, 200, out.status, "%s %s: %v", method, path, out.body)
	require.Equal(a.w.t, "success", out.body["result"])
	return out.body
}

// fails sends a request that must fail with a status and a code.
func (a *actor) fails(status int, code, method, path string, f form) map[string]any {
	a.w.t.Helper()
	out := a.call(method, path, f)
	require.Equal(a.w.t, status, out.status, "%s %s: %v", method, path, out.body)
	require.Equal(a.w.t, "error", out.body["result"])
	require.Equal(a.w.t, code, out.body["code"], "%v", out.body)
	require.NotEmpty(a.w.t, out.body["msg"])
	return out.body
}

// post sends a channel message and gives its id.
func (a *actor) post(stream, topic, content string) int64 {
	a.w.t.Helper()
	return id(a.ok("POST", "/messages", form{"type": "stream", "to": stream, "topic": topic, "content": content})["id"])
}

// register opens a queue and gives its id.
func (a *actor) register(f form) string {
	a.w.t.Helper()
	if f == nil {
		f = form{}
	}
	if f["fetch_event_types"] == nil {
		f["fetch_event_types"] = []string{}
	}
	return a.ok("POST", "/register", f)["queue_id"].(string)
}

// events reads what a queue holds, without waiting.
func (a *actor) events(queue string, last int64) []map[string]any {
	a.w.t.Helper()
	return events(a.ok("GET", "/events", form{"queue_id": queue, "last_event_id": last, "dont_block": true}))
}

func events(body map[string]any) []map[string]any {
	var out []map[string]any
	for _, e := range body["events"].([]any) {
		out = append(out, e.(map[string]any))
	}
	return out
}

// id is a JSON number as an id.
func id(v any) int64 { return int64(v.(float64)) }

func itoa(n int64) string { return strconv.FormatInt(n, 10) }

// messages reads messages of GET /messages.
func (a *actor) messages(f form) []map[string]any {
	a.w.t.Helper()
	for name, value := range (form{"anchor": "newest", "num_before": 100, "num_after": 0}) {
		if _, set := f[name]; !set {
			f[name] = value
		}
	}
	var out []map[string]any
	for _, m := range a.ok("GET", "/messages", f)["messages"].([]any) {
		out = append(out, m.(map[string]any))
	}
	return out
}

// clock is a time that tests move.
type clock struct{ at time.Time }

func newClock() *clock                   { return &clock{at: time.Date(2026, 3, 4, 10, 0, 0, 0, time.UTC)} }
func (c *clock) now() time.Time          { return c.at }
func (c *clock) advance(d time.Duration) { c.at = c.at.Add(d) }

// shared is the directory of the public API descriptions.
func shared() string {
	if dir := os.Getenv("PLATFORM_SHARED"); dir != "" {
		return dir
	}
	return filepath.Join("..", "..", "..", "shared")
}
