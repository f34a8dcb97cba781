package git_test

import (
	"bytes"
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"platform.dev/platform/flowclient/gitea"
	"platform.dev/platform/server/git"
	"platform.dev/platform/server/web"
)

const (
	admin      = "platform-admin"
	adminToken = "admin-token-of-the-test"
	readToken  = "read-token-of-the-test"
	hookSecret = "s3cret-hook"
)

// world is a git server on a socket whose data outlives it.
type world struct {
	t    testing.TB
	cfg  git.Config
	srv  *git.Server
	base string
	stop func()
}

// begin starts a server; change may alter its configuration first. Tests with
// a server of their own run side by side: they wait for disks more than they work.
func begin(t testing.TB, change func(*git.Config)) *world {
	t.Helper()
	if t, ok := t.(*testing.T); ok {
		t.Parallel()
	}
	return serial(t, change)
}

// serial is begin for a test whose caller waits for it.
func serial(t testing.TB, change func(*git.Config)) *world {
	t.Helper()
	dir := t.TempDir()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	w := &world{t: t, base: "http://" + l.Addr().String()}
	w.cfg = git.Config{
		Dir: filepath.Join(dir, "git"), Path: filepath.Join(dir, "git.db"), BaseURL: w.base,
		AdminUser: admin, AdminToken: adminToken, ReadToken: readToken, Organization: "platform", HookDelivery: true,
		Now: time.Now, Log: slog.New(slog.NewTextHandler(io.Discard, nil)),
	}
	if change != nil {
		change(&w.cfg)
	}
	w.start(l)
	t.Cleanup(func() { w.stop() })
	return w
}

// start runs the server on the listener until stop.
func (w *world) start(l net.Listener) {
	w.t.Helper()
	srv, err := git.New(w.t.Context(), w.cfg)
	require.NoError(w.t, err)
	w.srv = srv
	ctx, cancel := context.WithCancel(context.Background())
	var under sync.WaitGroup
	errs := make([]error, 2)
	under.Go(func() { errs[0] = web.Serve(ctx, l, srv.Handler(), w.cfg.Log) })
	under.Go(func() { errs[1] = srv.Run(ctx) })
	w.stop = sync.OnceFunc(func() {
		cancel()
		under.Wait()
		for _, err := range append(errs, srv.Close()) {
			if err != nil {
				w.t.Error(err)
			}
		}
	})
}

// restart stops the server, does what happens meanwhile, and starts it on the same address and data.
func (w *world) restart(meanwhile func()) {
	w.t.Helper()
	w.stop()
	if meanwhile != nil {
		meanwhile()
	}
	l, err := listenAgain(w.t.Context(), w.base)
	require.NoError(w.t, err)
	w.start(l)
}

// listenAgain listens where a server has listened before. Another test may
// have been given the port meanwhile: it is waited for.
func listenAgain(ctx context.Context, base string) (net.Listener, error) {
	ctx, cancel := context.WithTimeout(ctx, 30*time.Second)
	defer cancel()
	again := time.NewTicker(50 * time.Millisecond)
	defer again.Stop()
	for {
		l, err := net.Listen("tcp", strings.TrimPrefix(base, "http://"))
		if !errors.Is(err, syscall.EADDRINUSE) {
			return l, err
		}
		select {
		case <-again.C:
		case <-ctx.Done():
			return nil, err
		}
	}
}

// client is a git client of the server.
func (w *world) client() *gitea.Client {
	w.t.Helper()
	c, err := gitea.New(gitea.Config{BaseURL: w.base, Token: adminToken, User: admin, Dir: filepath.Join(w.t.TempDir(), "scratch"), Now: time.Now, Log: w.cfg.Log})
	require.NoError(w.t, err)
	return c
}

// repository makes platform/<name>.
func (w *world) repository(name string, private bool) {
	w.t.Helper()
	_, err := w.srv.EnsureRepository(w.t.Context(), "platform/"+name, "for a test", private)
	require.NoError(w.t, err)
}

// url is a clone URL with a token as the password.
func (w *world) url(name, token string) string {
	if token == "" {
		return w.base + "/platform/" + name + ".git"
	}
	return strings.Replace(w.base, "http://", "http://x:"+token+"@", 1) + "/platform/" + name + ".git"
}

// call sends a request to the API and decodes the answer into out, when not nil.
func (w *world) call(method, path, authorization string, body any, out any) int {
	w.t.Helper()
	resp, err := w.request(method, path, authorization, body)
	require.NoError(w.t, err)
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	require.NoError(w.t, err)
	if out != nil {
		require.NoError(w.t, json.Unmarshal(text, out), "%s", text)
	}
	return resp.StatusCode
}

// request sends a request to the API; a body that is no string is sent as JSON.
func (w *world) request(method, path, authorization string, body any) (*http.Response, error) {
	w.t.Helper()
	var in io.Reader
	switch b := body.(type) {
	case nil:
	case string:
		in = strings.NewReader(b)
	default:
		text, err := json.Marshal(b)
		require.NoError(w.t, err)
		in = bytes.NewReader(text)
	}
	req, err := http.NewRequestWithContext(w.t.Context(), method, w.base+path, in)
	require.NoError(w.t, err)
	if body != nil {
		req.Header.Set("Content-Type", "application/json") // a real Gitea reads no other
	}
	if authorization != "" {
		req.Header.Set("Authorization", authorization)
	}
	return http.DefaultClient.Do(req)
}

const asAdmin = "token " + adminToken

// tool runs the system's git as a person would, in dir; it must succeed.
func tool(t testing.TB, dir string, args ...string) string {
	t.Helper()
	out, err := toolErr(t, dir, args...)
	require.NoError(t, err, "git %s: %s", strings.Join(args, " "), out)
	return strings.TrimSpace(out)
}

func toolErr(t testing.TB, dir string, args ...string) (string, error) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "git", args...)
	cmd.Dir = dir
	cmd.Env = []string{
		"PATH=" + os.Getenv("PATH"), "HOME=" + t.TempDir(), "GIT_CONFIG_NOSYSTEM=1", "GIT_TERMINAL_PROMPT=0", "LC_ALL=C",
		"GIT_AUTHOR_NAME=A", "GIT_AUTHOR_EMAIL=a@example.com", "GIT_COMMITTER_NAME=A", "GIT_COMMITTER_EMAIL=a@example.com",
		"GIT_CONFIG_COUNT=1", "GIT_CONFIG_KEY_0=init.defaultBranch", "GIT_CONFIG_VALUE_0=main",
	}
	out, err := cmd.CombinedOutput()
	return string(out), err
}

// checkout clones platform/<name> with the token.
func (w *world) checkout(name, token string) string {
	w.t.Helper()
	dir := filepath.Join(w.t.TempDir(), "work")
	tool(w.t, "", "clone", "--quiet", w.url(name, token), dir)
	return dir
}

// commitFile writes a file in a checkout and commits it.
func commitFile(t testing.TB, dir, name string, content []byte) {
	t.Helper()
	require.NoError(t, os.MkdirAll(filepath.Dir(filepath.Join(dir, name)), 0o755))
	require.NoError(t, os.WriteFile(filepath.Join(dir, name), content, 0o644))
	tool(t, dir, "add", "--", name)
	tool(t, dir, "commit", "--quiet", "-m", "add "+name)
}

// receiver is where hooks are sent: it keeps what came, and answers as told.
type receiver struct {
	*httptest.Server
	mu     sync.Mutex
	got    []received
	answer func(n int, r received) int // status for the n-th request
	came   chan received
}

type received struct {
	Header http.Header
	Body   []byte
	Path   string
}

func (r received) event() string { return r.Header.Get("X-Gitea-Event") }
func (r received) id() string    { return r.Header.Get("X-Gitea-Delivery") }

func (r received) json(t *testing.T) map[string]any {
	t.Helper()
	var m map[string]any
	require.NoError(t, json.Unmarshal(r.Body, &m))
	return m
}

func listenForHooks(t testing.TB) *receiver {
	t.Helper()
	r := &receiver{came: make(chan received, 1000)}
	r.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		body, _ := io.ReadAll(req.Body)
		one := received{Header: req.Header, Body: body, Path: req.URL.Path}
		r.mu.Lock()
		r.got = append(r.got, one)
		n, answer := len(r.got), r.answer
		r.mu.Unlock()
		status := http.StatusOK
		if answer != nil {
			status = answer(n, one)
		}
		w.WriteHeader(status)
		r.came <- one
	}))
	t.Cleanup(r.Close)
	return r
}

// next waits for the next delivery.
func (r *receiver) next(t *testing.T) received {
	t.Helper()
	select {
	case one := <-r.came:
		return one
	case <-time.After(20 * time.Second):
		require.Fail(t, "no delivery came")
		return received{}
	}
}

func (r *receiver) all() []received {
	r.mu.Lock()
	defer r.mu.Unlock()
	return append([]received(nil), r.got...)
}

// hook makes a hook of platform/<name> that calls the receiver's path.
func (w *world) hook(name, url string, events ...string) {
	w.t.Helper()
	if len(events) == 0 {
		events = []string{"push"}
	}
	status := w.call("POST", "/api/v1/repos/platform/"+name+"/hooks", asAdmin, map[string]any{
		"type": "gitea", "active": true, "events": events,
		"config": map[string]string{"url": url, "content_type": "json", "secret": hookSecret},
	}, nil)
	require.Equal(w.t, http.StatusCreated, status)
}

// idle waits until nothing is due.
func (w *world) idle() {
	w.t.Helper()
	ctx, cancel := context.WithTimeout(w.t.Context(), 20*time.Second)
	defer cancel()
	require.NoError(w.t, w.srv.Idle(ctx))
}

// testLog writes into the test's output.
func testLog(t *testing.T) *slog.Logger {
	t.Helper()
	return slog.New(slog.NewTextHandler(t.Output(), nil))
}

// open opens the server's file beside it.
func (w *world) open() *sql.DB {
	w.t.Helper()
	db, err := sql.Open("sqlite", "file:"+w.cfg.Path+"?_pragma=busy_timeout(10000)")
	require.NoError(w.t, err)
	return db
}

// exec changes the file behind the server's back.
func (w *world) exec(query string, args ...any) {
	w.t.Helper()
	db := w.open()
	defer db.Close()
	_, err := db.ExecContext(w.t.Context(), query, args...)
	require.NoError(w.t, err)
}

// dump is every row of the tables that requests write, as text.
func (w *world) dump() string {
	w.t.Helper()
	db := w.open()
	defer db.Close()
	var out strings.Builder
	for _, table := range []string{"owners", "repositories", "refs", "hooks", "deliveries", "statuses", "tokens", "pulls", "merges", "labels", "pull_labels", "comments"} {
		dumpTable(w.t, db, table, &out)
	}
	return out.String()
}

func dumpTable(t testing.TB, db *sql.DB, table string, out io.Writer) {
	t.Helper()
	rows, err := db.QueryContext(t.Context(), "SELECT * FROM "+table)
	require.NoError(t, err)
	defer rows.Close()
	columns, err := rows.Columns()
	require.NoError(t, err)
	for rows.Next() {
		values := make([]any, len(columns))
		for i := range values {
			values[i] = new(any)
		}
		require.NoError(t, rows.Scan(values...))
		fmt.Fprint(out, table)
		for _, v := range values {
			fmt.Fprintf(out, " %v", *v.(*any))
		}
		fmt.Fprintln(out)
	}
	require.NoError(t, rows.Err())
}
