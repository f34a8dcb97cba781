package controlplane_test

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"log/slog"
	"net/http"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"platform.dev/platform/flowclient"
	"platform.dev/platform/flowclient/openchoreo"
	"platform.dev/platform/server/controlplane"
	"platform.dev/platform/server/web"
)

const (
	token    = "token-of-the-test"
	secret   = "s3cret-hook"
	soon     = 10 * time.Second
	interval = 2 * time.Millisecond
)

// world is a control plane that runs, with a builder and a runtime that the test plays.
type world struct {
	t       *testing.T
	path    string
	server  *controlplane.Server
	builder *builder
	runtime *runtime
	http    http.RoundTripper // validates every answer
	client  *openchoreo.Client
	changes *changes
	stop    func()
}

// newWorld starts one in a new directory and seeds what every project needs.
func newWorld(t *testing.T, adjust ...func(*controlplane.Config)) *world {
	t.Helper()
	w := &world{t: t, path: filepath.Join(t.TempDir(), "controlplane.db"), builder: newBuilder(), runtime: newRuntime(), changes: &changes{}}
	w.start(adjust...)
	t.Cleanup(func() { w.stop() })
	w.create(flowclient.KindEnvironment, "staging", `{"isProduction":false}`)
	w.create(flowclient.KindEnvironment, "production", `{"isProduction":true}`)
	w.create(flowclient.KindDeploymentPipeline, "default", `{"promotionPaths":[{"sourceEnvironmentRef":{"kind":"Environment","name":"staging"},"targetEnvironmentRefs":[{"kind":"Environment","name":"production"}]}]}`)
	w.create(flowclient.KindClusterComponentType, "static-site", `{"workloadType":"deployment","resources":[{"id":"site","template":{"kind":"Site"}}]}`)
	w.create(flowclient.KindClusterComponentType, "service", `{"workloadType":"deployment","resources":[{"id":"pod","template":{"kind":"Pod"}}]}`)
	w.create(flowclient.KindClusterWorkflow, "build", `{"runTemplate":{"kind":"Workflow"},"parameters":{"openAPIV3Schema":{"type":"object","properties":{"module-ref":{"type":"string","default":"#main"}}}}}`)
	return w
}

// start opens the file and serves until stop.
func (w *world) start(adjust ...func(*controlplane.Config)) {
	w.t.Helper()
	cfg := controlplane.Config{
		Path: w.path, Token: token, WebhookSecret: secret, Builder: w.builder, Runtime: w.runtime,
		Changed: w.changes.note, Log: slog.New(slog.DiscardHandler),
	}
	for _, a := range adjust {
		a(&cfg)
	}
	ctx, cancel := context.WithCancel(context.Background())
	server, err := controlplane.New(ctx, cfg)
	require.NoError(w.t, err)
	memory := web.NewMemory()
	var group sync.WaitGroup
	errs := make(chan error, 2)
	group.Go(func() { errs <- server.Run(ctx) })
	group.Go(func() { errs <- web.Serve(ctx, memory, server.Handler(), cfg.Log) })
	transport := memory.Transport()
	w.server, w.http = server, validating(w.t, transport)
	w.client = w.open(w.http, "http://controlplane")
	w.builder.changed = func(run string) { server.Wake(flowclient.KindWorkflowRun, run) }
	var once sync.Once
	w.stop = func() {
		once.Do(func() {
			cancel()
			transport.CloseIdleConnections()
			group.Wait()
			close(errs)
			for err := range errs {
				require.NoError(w.t, err)
			}
			require.NoError(w.t, server.Close())
		})
	}
	synced, done := context.WithTimeout(ctx, soon)
	defer done()
	require.NoError(w.t, server.Synced(synced))
}

func (w *world) open(transport http.RoundTripper, base string) *openchoreo.Client {
	w.t.Helper()
	client, err := openchoreo.New(openchoreo.Config{BaseURL: base, Namespace: "default", Token: token, Transport: transport})
	require.NoError(w.t, err)
	return client
}

// create makes an object that must be accepted.
func (w *world) create(kind flowclient.Kind, name, spec string) flowclient.Object {
	w.t.Helper()
	o, err := w.client.Create(w.t.Context(), flowclient.Object{Kind: kind, Metadata: flowclient.Metadata{Name: name}, Spec: json.RawMessage(spec)})
	require.NoError(w.t, err)
	return o
}

func (w *world) get(kind flowclient.Kind, name string) flowclient.Object {
	w.t.Helper()
	o, err := w.client.Get(w.t.Context(), kind, name)
	require.NoError(w.t, err)
	return o
}

func (w *world) list(kind flowclient.Kind) []flowclient.Object {
	w.t.Helper()
	all, err := w.client.List(w.t.Context(), kind, flowclient.Filter{})
	require.NoError(w.t, err)
	return all
}

const repository = "http://127.0.0.1:3001/platform/shop.git"

// shop makes project shop and component shop-web, with what more spec it should have ("" for nothing).
func (w *world) shop(more string) {
	w.t.Helper()
	w.create(flowclient.KindProject, "shop", `{}`)
	w.component("shop-web", more)
}

func (w *world) component(name, more string) {
	w.t.Helper()
	w.create(flowclient.KindComponent, name, `{"owner":{"projectName":"shop"},
		"componentType":{"kind":"ClusterComponentType","name":"deployment/static-site"},"autoBuild":true,"autoDeploy":true,
		"repository":{"url":"`+repository+`","revision":{"branch":"main"}},"workloadPath":"workload.yaml","imageName":"web"`+more+`}`)
}

// eventually waits until an object is as the test wants it.
func (w *world) eventually(kind flowclient.Kind, name string, holds func(o flowclient.Object) bool) flowclient.Object {
	w.t.Helper()
	var seen flowclient.Object
	require.Eventually(w.t, func() bool {
		o, err := w.client.Get(w.t.Context(), kind, name)
		if err == nil {
			seen = o
		}
		return err == nil && holds(o)
	}, soon, interval, "%s %s: last seen %s %s", kind, name, seen.Spec, seen.Status)
	return seen
}

func (w *world) gone(kind flowclient.Kind, name string) {
	w.t.Helper()
	require.Eventually(w.t, func() bool {
		_, err := w.client.Get(w.t.Context(), kind, name)
		return flowclient.IsNotFound(err)
	}, soon, interval, "%s %s is still there", kind, name)
}

// condition finds a condition of an object.
func condition(o flowclient.Object, kind string) flowclient.Condition {
	var st struct {
		Conditions []flowclient.Condition `json:"conditions"`
	}
	_ = o.Decode(nil, &st) // no status yet: no condition
	for _, c := range st.Conditions {
		if c.Type == kind {
			return c
		}
	}
	return flowclient.Condition{}
}

func ready(o flowclient.Object) bool { return condition(o, "Ready").Status == "True" }

// answer is an answer with its body read.
type answer struct {
	status int
	header http.Header
	body   string
}

// request sends one request with the token; headers are name, value, name, value.
func (w *world) request(method, path, body string, headers ...string) answer {
	w.t.Helper()
	req, err := http.NewRequestWithContext(w.t.Context(), method, "http://controlplane"+path, bytes.NewReader([]byte(body)))
	require.NoError(w.t, err)
	req.Header.Set("Authorization", "Bearer "+token)
	for i := 0; i < len(headers); i += 2 {
		if headers[i+1] == "" {
			req.Header.Del(headers[i])
			continue
		}
		req.Header.Set(headers[i], headers[i+1])
	}
	return w.send(req)
}

func (w *world) send(req *http.Request) answer {
	w.t.Helper()
	resp, err := w.http.RoundTrip(req)
	require.NoError(w.t, err)
	raw, err := io.ReadAll(resp.Body)
	require.NoError(w.t, err)
	require.NoError(w.t, resp.Body.Close())
	return answer{resp.StatusCode, resp.Header, string(raw)}
}

// builder is a Builder whose runs stand as the test says.
type builder struct {
	mu      sync.Mutex
	started map[string]controlplane.Build
	stands  map[string]controlplane.BuildStatus
	lines   []flowclient.LogLine
	fail    error
	changed func(run string)
}

func newBuilder() *builder {
	return &builder{started: map[string]controlplane.Build{}, stands: map[string]controlplane.BuildStatus{}}
}

func (b *builder) Ensure(_ context.Context, build controlplane.Build) (controlplane.BuildStatus, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.fail != nil {
		return controlplane.BuildStatus{}, b.fail
	}
	b.started[build.Run] = build
	if st, known := b.stands[build.Run]; known {
		return st, nil
	}
	return controlplane.BuildStatus{Phase: flowclient.BuildRunning, Tasks: []flowclient.Task{{Name: "checkout", Phase: "Running"}}}, nil
}

func (b *builder) Log(_ context.Context, _, stage string) ([]flowclient.LogLine, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if stage == "" {
		return b.lines, nil
	}
	return b.lines[:1], nil
}

// stand sets how a run stands and says so.
func (b *builder) stand(run string, st controlplane.BuildStatus) {
	b.mu.Lock()
	b.stands[run] = st
	b.mu.Unlock()
	b.changed(run)
}

func (b *builder) builds() map[string]controlplane.Build {
	b.mu.Lock()
	defer b.mu.Unlock()
	started := map[string]controlplane.Build{}
	for k, v := range b.started {
		started[k] = v
	}
	return started
}

// runtime is a Runtime that remembers what it serves.
type runtime struct {
	mu      sync.Mutex
	serves  map[string]controlplane.Deployment
	cells   map[string]controlplane.Cell
	removed []string
	status  controlplane.DeploymentStatus
	fail    error
}

func newRuntime() *runtime {
	return &runtime{serves: map[string]controlplane.Deployment{}, cells: map[string]controlplane.Cell{}, status: controlplane.DeploymentStatus{Ready: true}}
}

func (r *runtime) Apply(_ context.Context, d controlplane.Deployment) (controlplane.DeploymentStatus, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.fail != nil {
		return controlplane.DeploymentStatus{}, r.fail
	}
	r.serves[d.Name] = d
	st := r.status
	st.Endpoints = []flowclient.EndpointURL{{Name: "http", Type: "HTTP", ExternalURLs: map[string]flowclient.URL{
		"http": {Scheme: "http", Host: d.Environment + "-" + d.Project + ".apps.platform.localhost", Port: 19080, Path: "/" + d.Component + "-http"},
	}}}
	return st, nil
}

func (r *runtime) Remove(_ context.Context, name string) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.serves, name)
	r.removed = append(r.removed, name)
	return r.fail
}

func (r *runtime) ApplyCell(_ context.Context, c controlplane.Cell) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.cells[c.Name] = c
	return r.fail
}

func (r *runtime) RemoveCell(_ context.Context, name string) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.cells, name)
	return r.fail
}

// forget is another process of the runtime: it knows no cell.
func (r *runtime) forget() {
	r.mu.Lock()
	defer r.mu.Unlock()
	clear(r.cells)
}

// cell is what the runtime was told of a cell.
func (r *runtime) cell(name string) (controlplane.Cell, bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	c, ok := r.cells[name]
	return c, ok
}

func (r *runtime) set(st controlplane.DeploymentStatus, fail error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.status, r.fail = st, fail
}

func (r *runtime) serving(name string) (controlplane.Deployment, bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	d, ok := r.serves[name]
	return d, ok
}

// changes notes what Config.Changed was told.
type changes struct {
	mu   sync.Mutex
	seen map[string]int
}

func (c *changes) note(kind flowclient.Kind, name string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.seen == nil {
		c.seen = map[string]int{}
	}
	c.seen[string(kind)+"/"+name]++
}

func (c *changes) count(kind flowclient.Kind, name string) int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.seen[string(kind)+"/"+name]
}

const digest = "@sha256:0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"

// built is a build that succeeded.
func built(commit, image string) controlplane.BuildStatus {
	at := time.Date(2026, 11, 20, 6, 0, 0, 0, time.UTC)
	return controlplane.BuildStatus{
		Phase: flowclient.BuildSucceeded, Commit: commit, Image: image, StartedAt: &at, CompletedAt: &at,
		Tasks:    []flowclient.Task{{Name: "checkout", Phase: "Succeeded", StartedAt: &at, CompletedAt: &at}, {Name: "publish", Phase: "Succeeded"}},
		Workload: &flowclient.WorkloadSpec{Endpoints: map[string]flowclient.Endpoint{"http": {Type: "HTTP", Port: 8080, Visibility: []string{"external"}}}},
	}
}
