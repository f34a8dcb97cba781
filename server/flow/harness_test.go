package flow

import (
	"bytes"
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"platform.dev/platform/fixtures/goldenfile"
	"platform.dev/platform/flowclient"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

var noon = time.Date(2026, 3, 4, 12, 0, 0, 0, time.UTC)

const sha = "1a2b3c4d5e6f708192a3b4c5d6e7f8091a2b3c4d"

// recorder is the controller's port: it writes down what it was asked and
// answers what it was told to.
type recorder struct {
	calls   []string
	err     error
	outcome flowclient.Outcome
	synced  *flowclient.Synced // nil: some objects of each result
}

// note writes a call down as "Method {arguments}".
func (f *recorder) note(method string, args ...any) error {
	line := method
	for _, a := range args {
		text, err := json.Marshal(a)
		if err != nil {
			return err
		}
		line += " " + string(text)
	}
	f.calls = append(f.calls, line)
	return f.err
}

func (f *recorder) Delivery(context.Context) (flowclient.Delivery, error) {
	return flowclient.Delivery{Components: []flowclient.ComponentDelivery{{Project: "shop", Component: "shop-web"}}}, f.note("Delivery")
}

func (f *recorder) Builds(context.Context) ([]flowclient.Build, error) {
	return []flowclient.Build{{Run: "shop-web-run-1", Project: "shop", Component: "shop-web", Commit: sha, Phase: flowclient.BuildRunning, CreatedAt: noon}}, f.note("Builds")
}

func (f *recorder) Build(_ context.Context, run string) (flowclient.Build, error) {
	return flowclient.Build{}, f.note("Build", run)
}

func (f *recorder) BuildLog(_ context.Context, run, stage string, last int) ([]string, error) {
	return nil, f.note("BuildLog", run, stage, last)
}

func (f *recorder) State(context.Context) (flowclient.State, error) {
	return flowclient.State{Projects: []flowclient.ProjectState{{Project: "shop", Promotion: "auto", Soak: "5m0s"}}, OpenIntents: 1}, f.note("State")
}

func (f *recorder) Window(_ context.Context, project string) (flowclient.Window, error) {
	return flowclient.Window{Project: project, Open: true, Sentence: "no window: production changes are allowed at any time"}, f.note("Window", project)
}

func (f *recorder) Host(context.Context) (flowclient.Host, error) {
	return flowclient.Host{AvailableBytes: 3 << 30}, f.note("Host")
}

func (f *recorder) Promote(_ context.Context, r flowclient.Promotion) (flowclient.Outcome, error) {
	return f.outcome, f.note("Promote", r)
}

func (f *recorder) Rollback(_ context.Context, r flowclient.Promotion) (flowclient.Outcome, error) {
	return f.outcome, f.note("Rollback", r)
}

func (f *recorder) Locks(context.Context) ([]flowclient.Lock, error) { return nil, f.note("Locks") }

func (f *recorder) SetLock(_ context.Context, r flowclient.LockRequest) (flowclient.Lock, error) {
	return flowclient.Lock{ID: 1, Component: r.Component, Commit: sha, Reason: r.Reason, Who: r.Origin.Who, At: noon, Releases: []string{"shop-web-1"}}, f.note("SetLock", r)
}

func (f *recorder) ClearLock(_ context.Context, r flowclient.LockRequest) ([]flowclient.Lock, error) {
	return []flowclient.Lock{{ID: 1, Component: r.Component, Commit: sha, Reason: "x", Who: "sre", At: noon, Releases: []string{}}}, f.note("ClearLock", r)
}

func (f *recorder) Scaffold(_ context.Context, r flowclient.ScaffoldRequest) (flowclient.Scaffolded, error) {
	return flowclient.Scaffolded{Project: r.Project, Components: []string{r.Project + "-web"}, Commit: flowclient.Commit{SHA: sha, At: noon}}, f.note("Scaffold", r)
}

func (f *recorder) Teardown(_ context.Context, r flowclient.TeardownRequest) (flowclient.Removed, error) {
	return flowclient.Removed{Projects: []string{"static-1"}, Objects: 7, Repositories: []string{"platform/static-1"}}, f.note("Teardown", r)
}

func (f *recorder) Commit(_ context.Context, r flowclient.CommitRequest) (flowclient.Commit, error) {
	return flowclient.Commit{SHA: sha, Subject: r.Message, Author: r.Origin.Who, At: noon}, f.note("Commit", r)
}

func (f *recorder) BeginWalkthrough(_ context.Context, key, template, who string) (flowclient.Walkthrough, error) {
	return flowclient.Walkthrough{}, f.note("BeginWalkthrough", key, template, who)
}

func (f *recorder) UpdateWalkthrough(_ context.Context, w flowclient.Walkthrough) error {
	return f.note("UpdateWalkthrough", w)
}

func (f *recorder) Walkthroughs(context.Context) ([]flowclient.Walkthrough, error) {
	return nil, f.note("Walkthroughs")
}

// inbox is the port that remembers deliveries.
type inbox struct {
	mu   sync.Mutex
	seen map[string]bool
	err  error
}

func (i *inbox) Record(_ context.Context, id, kind string, _ time.Time) (bool, error) {
	i.mu.Lock()
	defer i.mu.Unlock()
	if i.err != nil {
		return false, i.err
	}
	fresh := !i.seen[kind+"/"+id]
	i.seen[kind+"/"+id] = true
	return fresh, nil
}

// surface is a server under test.
type surface struct {
	*Server
	t          *testing.T
	flow       *recorder
	deliveries *inbox
	pushes     []string
	pushedErr  error
	log        bytes.Buffer
}

const (
	testToken  = "the-token"
	testSecret = "s3cret-hook"
)

func newSurface(t *testing.T) *surface {
	t.Helper()
	s := &surface{t: t, flow: &recorder{}, deliveries: &inbox{seen: map[string]bool{}}}
	var err error
	s.Server, err = New(Config{
		Flow: s.flow, Token: testToken, WebhookSecret: testSecret, Deliveries: s.deliveries,
		Pushed: func(_ context.Context, repo, ref, sha string) error {
			s.pushes = append(s.pushes, strings.Join([]string{repo, ref, sha}, " "))
			return s.pushedErr
		},
		Now: func() time.Time { return noon },
		Log: slog.New(slog.NewTextHandler(&s.log, nil)),
	})
	require.NoError(t, err)
	return s
}

// call is a request in a test.
type call struct {
	method, target, body string
	header               http.Header
}

// write is a request with the token and a known origin.
func write(method, target, body string) call {
	return call{method, target, body, http.Header{
		"Authorization": {"Bearer " + testToken}, "Idempotency-Key": {"zulip:31"}, "X-Platform-Actor": {"developer"},
	}}
}

// with adds a header.
func (c call) with(name, value string) call {
	c.header = c.header.Clone()
	c.header[http.CanonicalHeaderKey(name)] = []string{value}
	return c
}

// do sends a request; what comes back is as the surface describes itself.
func (s *surface) do(c call) *http.Response {
	r := httptest.NewRequest(c.method, c.target, strings.NewReader(c.body))
	for name, values := range c.header {
		r.Header[name] = values
	}
	w := httptest.NewRecorder()
	s.Handler().ServeHTTP(w, r)
	resp := w.Result()
	asDescribed(s.t, c, resp)
	return resp
}

// text is an answer as a golden shows it.
func text(t *testing.T, resp *http.Response) string {
	t.Helper()
	var b bytes.Buffer
	fmt.Fprintf(&b, "%d\n", resp.StatusCode)
	for _, name := range []string{"Content-Type", "Allow", "Www-Authenticate"} {
		if v := resp.Header.Get(name); v != "" {
			fmt.Fprintf(&b, "%s: %s\n", name, v)
		}
	}
	var body any
	require.NoError(t, json.NewDecoder(resp.Body).Decode(&body))
	b.WriteString("\n")
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	require.NoError(t, enc.Encode(body))
	return b.String()
}

// golden compares got with a file of fixtures/golden/flow.
func golden(t *testing.T, name, got string) {
	t.Helper()
	goldenFile(t, strings.ReplaceAll(name, " ", "-")+".txt", got)
}

// goldenFile compares got with the file of that name.
func goldenFile(t *testing.T, name, got string) {
	t.Helper()
	goldenfile.Compare(t, filepath.Join("..", "..", "fixtures", "golden", "flow", name), got)
}

// sign is the hex of a body's HMAC under the secret.
func sign(body, secret string) string {
	m := hmac.New(sha256.New, []byte(secret))
	m.Write([]byte(body))
	return hex.EncodeToString(m.Sum(nil))
}

// hook is a signed request to /sync.
func hook(body string, headers ...string) call {
	c := call{http.MethodPost, "/sync", body, http.Header{"X-Signature-256": {"sha256=" + sign(body, testSecret)}}}
	for i := 0; i < len(headers); i += 2 {
		c = c.with(headers[i], headers[i+1])
	}
	return c
}

var errDisk = errors.New("disk /var/lib/secret-path is full")
