package runtime

import (
	"archive/tar"
	"bytes"
	"context"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-containerregistry/pkg/name"
	"github.com/google/go-containerregistry/pkg/registry"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/remote"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"platform.dev/platform/flowclient"
)

// TestMain runs the tests or, where a test has started this binary as a
// program of its own, that program.
func TestMain(m *testing.M) {
	if program := programs[os.Getenv(programVariable)]; program != nil {
		os.Exit(program())
	}
	goleak.VerifyTestMain(m)
}

// routing is the gateway's port, kept in a map.
type routing struct {
	mu     sync.Mutex
	routes map[string]bound
}

type bound struct {
	name    string
	handler http.Handler
}

func (r *routing) Bind(host, prefix, name string, h http.Handler) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if held, ok := r.routes[host+prefix]; ok && held.name != name {
		return fmt.Errorf("%s%s is held by %s", host, prefix, held.name)
	}
	r.routes[host+prefix] = bound{name, h}
	return nil
}

func (r *routing) Unbind(host, prefix, name string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.routes[host+prefix].name == name {
		delete(r.routes, host+prefix)
	}
}

// get asks for a path under a route; nil when nothing is bound.
func (r *routing) get(route, path string) *http.Response {
	return r.ask(httptest.NewRequest(http.MethodGet, path, nil), route)
}

func (r *routing) ask(req *http.Request, route string) *http.Response {
	r.mu.Lock()
	b, ok := r.routes[route]
	r.mu.Unlock()
	if !ok {
		return nil
	}
	_, prefix, _ := strings.Cut(route, "/")
	req.Header.Set("X-Forwarded-Prefix", "/"+prefix)
	w := httptest.NewRecorder()
	b.handler.ServeHTTP(w, req)
	return w.Result()
}

// bench is a runtime with a real registry beside it.
type bench struct {
	*Server
	t        *testing.T
	routes   *routing
	registry string // host:port
	served   func() int
	down     func(handler http.Handler) // what the registry answers from now on; nil for itself
	cfg      Config
	clock    *clock
}

type clock struct {
	mu  sync.Mutex
	now time.Time
}

func (c *clock) Now() time.Time { c.mu.Lock(); defer c.mu.Unlock(); return c.now }
func (c *clock) add(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now = c.now.Add(d)
}

func newBench(t *testing.T, change ...func(*Config)) *bench {
	t.Helper()
	var mu sync.Mutex
	var instead http.Handler
	requests := 0
	genuine := registry.New(registry.Logger(slog.NewLogLogger(slog.DiscardHandler, slog.LevelInfo)))
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		requests++
		h := instead
		mu.Unlock()
		if h == nil {
			h = genuine
		}
		h.ServeHTTP(w, r)
	}))
	transport := &http.Transport{}
	t.Cleanup(func() { srv.Close(); transport.CloseIdleConnections() })
	b := &bench{
		t: t, routes: &routing{routes: map[string]bound{}}, registry: strings.TrimPrefix(srv.URL, "http://"),
		served: func() int { mu.Lock(); defer mu.Unlock(); return requests },
		down:   func(h http.Handler) { mu.Lock(); defer mu.Unlock(); instead = h },
		clock:  &clock{now: time.Date(2026, 3, 4, 5, 6, 7, 0, time.UTC)},
	}
	b.cfg = Config{
		Dir: t.TempDir(), Domain: "apps.platform.localhost", Port: 19080, Routes: b.routes,
		RegistryTransport: transport, Now: b.clock.Now, Log: slog.New(slog.DiscardHandler),
	}
	for _, c := range change {
		c(&b.cfg)
	}
	b.restart()
	return b
}

// restart is another process on the same directory.
func (b *bench) restart() {
	b.t.Helper()
	b.routes.mu.Lock()
	clear(b.routes.routes)
	b.routes.mu.Unlock()
	var err error
	b.Server, err = New(b.t.Context(), b.cfg)
	require.NoError(b.t, err)
	opened := b.Server
	b.t.Cleanup(func() { assert.NoError(b.t, opened.Close()) })
}

// file is an entry of an image; content of the link's target for links.
type file struct {
	name, content string
	kind          byte
}

// page is a regular file.
func page(name, content string) file { return file{name, content, tar.TypeReg} }

// image makes an image with the working directory and one layer per list of files.
func image(t *testing.T, workingDir string, layers ...[]file) v1.Image {
	t.Helper()
	img, err := mutate.Config(empty.Image, v1.Config{WorkingDir: workingDir})
	require.NoError(t, err)
	for _, files := range layers {
		var buf bytes.Buffer
		w := tar.NewWriter(&buf)
		for _, f := range files {
			h := &tar.Header{Name: f.name, Typeflag: f.kind, Mode: 0o644, ModTime: time.Unix(1e9, 0)}
			switch f.kind {
			case tar.TypeReg:
				h.Size = int64(len(f.content))
			case tar.TypeSymlink, tar.TypeLink:
				h.Linkname = f.content
			}
			require.NoError(t, w.WriteHeader(h))
			if f.kind == tar.TypeReg {
				_, err := w.Write([]byte(f.content))
				require.NoError(t, err)
			}
		}
		require.NoError(t, w.Close())
		layer, err := tarball.LayerFromOpener(func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(buf.Bytes())), nil })
		require.NoError(t, err)
		img, err = mutate.AppendLayers(img, layer)
		require.NoError(t, err)
	}
	return img
}

// push puts an image into the registry and returns its reference by digest.
func (b *bench) push(img v1.Image) string {
	b.t.Helper()
	digest, err := img.Digest()
	require.NoError(b.t, err)
	ref, err := name.NewDigest(b.registry + "/shop/web@" + digest.String())
	require.NoError(b.t, err)
	require.NoError(b.t, remote.Write(ref, img, remote.WithTransport(b.cfg.RegistryTransport), remote.WithContext(b.t.Context())))
	return ref.String()
}

// site pushes a one-page site.
func (b *bench) site(text string) string {
	return b.push(image(b.t, "/site", []file{page("site/index.html", text)}))
}

// staging is shop-web in staging with the image.
func staging(image string) Deployment {
	return Deployment{
		Name: "shop-web-staging", Project: "shop", Component: "shop-web", Environment: "staging",
		Release: "shop-web-1", Type: StaticSite,
		Workload: flowclient.WorkloadSpec{
			Container: flowclient.Container{Image: image},
			Endpoints: map[string]flowclient.Endpoint{"http": {Type: "HTTP", Port: 8080}},
		},
	}
}

// route is where staging's endpoint is bound.
const route = "staging-shop.apps.platform.localhost/shop-web-http"

// apply applies d and returns how it stands.
func (b *bench) apply(d Deployment) DeploymentStatus {
	b.t.Helper()
	ctx, cancel := context.WithTimeout(b.t.Context(), 20*time.Second)
	defer cancel()
	status, err := b.Apply(ctx, d)
	require.NoError(b.t, err)
	return status
}

// text is the body of what a route answers at its root.
func (b *bench) text() string {
	b.t.Helper()
	resp := b.routes.get(route, "/")
	require.NotNil(b.t, resp, "nothing is bound")
	return body(b.t, resp)
}

func body(t *testing.T, resp *http.Response) string {
	t.Helper()
	text, err := io.ReadAll(resp.Body)
	require.NoError(t, err)
	return string(text)
}

// How long a test waits for something, and how often it looks.
const (
	waitLong  = 10 * time.Second
	waitShort = time.Millisecond
)
