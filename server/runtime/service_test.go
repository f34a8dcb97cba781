package runtime

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"platform.dev/platform/flowclient"
)

func TestAProcessIsStartedAndReachedThroughItsRoute(t *testing.T) {
	w := newWorkshop(t)
	d := w.server("v1")
	first := w.apply(d)
	assert.False(t, first.Ready)
	assert.Equal(t, ReasonStarting, first.Reason)
	assert.Empty(t, first.Endpoints)
	status := w.runs(d)
	assert.Equal(t, ReasonServing, status.Reason)
	assert.Equal(t, "runs "+d.Workload.Container.Image, status.Message)
	require.Len(t, status.Endpoints, 1)
	assert.Equal(t, flowclient.URL{Scheme: "http", Host: "staging-shop.apps.platform.localhost", Port: 19080, Path: "/shop-web-http/"},
		status.Endpoints[0].ExternalURLs["http"])
	assert.Equal(t, "v1 /a/b", body(t, w.routes.get(route, "/a/b")))

	before := w.about().PID
	assert.Equal(t, status, w.apply(d), "applying again changes nothing")
	assert.Equal(t, before, w.about().PID)
}

func TestAProcessHasAnEnvironmentAndFilesOfItsOwn(t *testing.T) {
	w := newWorkshop(t)
	t.Setenv("SECRET_OF_THE_PLATFORM", "x")
	img := programImage(t, v1.Config{
		WorkingDir: "/app", Entrypoint: []string{"/bin/start"}, Cmd: []string{"default"},
		Env: []string{"FROM_IMAGE=1", "BOTH=image", "PATH=/bin:/usr/bin", "no-variable=1"},
	}, files{"bin/start": "#!/bin/sh\necho \"$@\" >args\nexec \"$TEST_BINARY\"\n", "app/data": "x"})
	d := w.service(w.push(img), nil)
	d.Workload.Container.Env = append(d.Workload.Container.Env, flowclient.EnvVar{Key: "BOTH", Value: "workload"}, flowclient.EnvVar{Key: "PORT", Value: "80"})
	w.runs(d)
	a := w.about()

	env := map[string]string{}
	for _, pair := range a.Env {
		key, value, _ := strings.Cut(pair, "=")
		env[key] = value
	}
	var names []string
	for key := range env {
		names = append(names, key)
	}
	assert.ElementsMatch(t, []string{
		"BOTH", "FROM_IMAGE", "HOME", "HOST", "PATH", "PORT", "PWD", "TMPDIR", markVariable,
		"TEST_BINARY", programVariable, runVariable, "GOCOVERDIR",
	}, names)
	assert.Equal(t, "workload", env["BOTH"])
	assert.Equal(t, "127.0.0.1", env["HOST"])
	assert.NotEqual(t, "80", env["PORT"])
	assert.Equal(t, "/bin:/usr/bin", env["PATH"])

	tree := filepath.Dir(a.Dir)
	assert.Equal(t, "app", filepath.Base(a.Dir))
	assert.Equal(t, filepath.Join(tree, "tmp"), env["TMPDIR"])
	args, err := os.ReadFile(filepath.Join(a.Dir, "args"))
	require.NoError(t, err)
	assert.Equal(t, "default\n", string(args))
	written, err := filepath.Glob(filepath.Join(w.imagesDir(), "*", "root", "app", "args"))
	require.NoError(t, err)
	assert.Empty(t, written, "what a process writes does not reach the image")

	require.NoError(t, w.Remove(t.Context(), d.Name))
	_, err = os.Stat(tree)
	assert.ErrorIs(t, err, os.ErrNotExist, "its files go with it")
}

func TestRequestsReachTheProcessAsTheyAre(t *testing.T) {
	w := newWorkshop(t)
	d := w.server("v1")
	d.Workload.Endpoints = map[string]flowclient.Endpoint{"http": {Type: "HTTP", Port: 8080}, "api": {Type: "HTTP", Port: 8080, BasePath: "/api/v2"}}
	w.runs(d)
	a := w.about("X-Forwarded-For: 10.0.0.1", "X-Forwarded-Host: evil.example", "X-Own: kept")
	assert.Equal(t, "staging-shop.apps.platform.localhost:19080", a.Host)
	assert.Equal(t, "192.0.2.7", a.Headers.Get("X-Forwarded-For"), "what a client claims is replaced")
	assert.Equal(t, "staging-shop.apps.platform.localhost:19080", a.Headers.Get("X-Forwarded-Host"))
	assert.Equal(t, "http", a.Headers.Get("X-Forwarded-Proto"))
	assert.Equal(t, "/shop-web-http", a.Headers.Get("X-Forwarded-Prefix"))
	assert.Equal(t, "kept", a.Headers.Get("X-Own"))
	const api = "staging-shop.apps.platform.localhost/shop-web-api"
	assert.Equal(t, "v1 /api/v2/users", body(t, w.routes.get(api, "/users")))
	assert.Equal(t, "v1 /api/v2/", body(t, w.routes.get(api, "/")))

	large := strings.Repeat("body ", 1<<18)
	req := httptest.NewRequest(http.MethodPost, "/echo", strings.NewReader(large))
	assert.Equal(t, large+" v1", body(t, w.routes.ask(req, route)))
}

// front is a server in front of the routes, as the gateway is.
func (w *workshop) front() *httptest.Server {
	srv := httptest.NewServer(http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		w.routes.mu.Lock()
		b, ok := w.routes.routes[route]
		w.routes.mu.Unlock()
		if !ok {
			http.NotFound(rw, r)
			return
		}
		b.handler.ServeHTTP(rw, r)
	}))
	w.t.Cleanup(srv.Close)
	return srv
}

func TestAnUpgradedConnectionIsPassedOn(t *testing.T) {
	w := newWorkshop(t)
	w.runs(w.server("v1"))
	srv := w.front()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, srv.URL+"/shout", nil)
	require.NoError(t, err)
	req.Header.Set("Connection", "Upgrade")
	req.Header.Set("Upgrade", "shouting")
	resp, err := srv.Client().Do(req)
	require.NoError(t, err)
	require.Equal(t, http.StatusSwitchingProtocols, resp.StatusCode)
	conn, ok := resp.Body.(interface {
		Read([]byte) (int, error)
		Write([]byte) (int, error)
		Close() error
	})
	require.True(t, ok)
	defer conn.Close()
	for _, word := range []string{"hello", "again"} {
		_, err = fmt.Fprintln(conn, word)
		require.NoError(t, err)
		answer := make([]byte, len(word)+1)
		_, err = conn.Read(answer)
		require.NoError(t, err)
		assert.Equal(t, strings.ToUpper(word)+"\n", string(answer))
	}
}

func TestWhatAProcessCannotBeSaysWhy(t *testing.T) {
	w := newWorkshop(t)
	image := w.push(programImage(t, v1.Config{WorkingDir: "/app"}, files{"app/run": "#!/bin/sh\n"}))
	with := func(change func(*Deployment)) Deployment {
		d := w.service(image, []string{"./run"})
		d.Workload.Endpoints = map[string]flowclient.Endpoint{"http": {Type: "HTTP", Port: 8080}}
		change(&d)
		return d
	}
	for _, tc := range []struct {
		name   string
		d      Deployment
		reason string
		says   []string
	}{
		{"no command at all", with(func(d *Deployment) { d.Workload.Container.Command = nil }), ReasonCommandInvalid, []string{"no command", "shop-web"}},
		{"a command that is not there", with(func(d *Deployment) { d.Workload.Container.Command = []string{"./walk"} }), ReasonCommandInvalid, []string{`"./walk"`, `"/app"`}},
		{"a command with a zero byte", with(func(d *Deployment) { d.Workload.Container.Args = []string{"a\x00"} }), ReasonCommandInvalid, []string{"zero byte"}},
		{"a variable that is none", with(func(d *Deployment) {
			d.Workload.Container.Env = append(d.Workload.Container.Env, flowclient.EnvVar{Key: "a=b"})
		}), ReasonEnvironmentInvalid, []string{`"a=b"`}},
		{"two ports", with(func(d *Deployment) { d.Workload.Endpoints["admin"] = flowclient.Endpoint{Type: "HTTP", Port: 9090} }), ReasonUnsupportedEndpoint, []string{"9090", "8080", "PORT"}},
		{"a type of another family", with(func(d *Deployment) { d.Type = "deployment/" }), ReasonUnsupportedType, []string{`"deployment/"`}},
		{"an image by tag", with(func(d *Deployment) { d.Workload.Container.Image = w.registry + "/shop/web:latest" }), ReasonImageInvalid, []string{"by digest"}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			status := w.apply(tc.d)
			assert.False(t, status.Ready)
			assert.Equal(t, tc.reason, status.Reason, status.Message)
			for _, text := range tc.says {
				assert.Contains(t, status.Message, text)
			}
		})
	}
	assert.Empty(t, w.left())
}

func TestWhatRunsIsMeasured(t *testing.T) {
	w := newWorkshop(t)
	d := w.script(`i=0; while [ $i -lt 100000 ]; do i=$((i+1)); done; tail -f /dev/null & exec "$TEST_BINARY"`)
	used, err := w.Usage(t.Context())
	require.NoError(t, err)
	assert.Empty(t, used)
	w.runs(d)
	require.Eventually(t, func() bool {
		used, err = w.Usage(t.Context())
		u := used[d.Name]
		return err == nil && u.Processes == 2 && u.MemoryBytes > 1<<20 && u.CPUSeconds > 0
	}, waitLong, waitShort, "%+v", used)
	assert.Less(t, used[d.Name].MemoryBytes, int64(1<<30))
	require.NoError(t, w.Remove(t.Context(), d.Name))
	used, err = w.Usage(t.Context())
	require.NoError(t, err)
	assert.Empty(t, used)
}

func TestWhatAProcessWritesIsKeptLineByLine(t *testing.T) {
	var mu sync.Mutex
	var handed []LogLine
	w := newWorkshop(t, func(c *Config) {
		c.Logged = func(name string, line LogLine) {
			mu.Lock()
			defer mu.Unlock()
			assert.Equal(t, "shop-web-staging", name)
			handed = append(handed, line)
		}
	})
	d := w.server("v1")
	before := time.Now()
	w.runs(d)
	w.routes.get(route, "/crash")
	w.until(d, func(s DeploymentStatus) bool { return s.Ready && strings.Contains(s.Message, "restarted") })
	lines, err := w.Log(t.Context(), d.Name, 100)
	require.NoError(t, err)
	var texts []string
	for _, l := range lines {
		texts = append(texts, l.Stream+": "+l.Text)
		assert.WithinRange(t, l.At, before, time.Now())
	}
	assert.Equal(t, []string{"stdout: v1 listens", "stderr: asked to crash", "stdout: v1 listens"}, texts)
	last, err := w.Log(t.Context(), d.Name, 2)
	require.NoError(t, err)
	assert.Equal(t, lines[1:], last)
	require.NoError(t, w.Remove(t.Context(), d.Name))
	w.restart()
	kept, err := w.Log(t.Context(), d.Name, 100)
	require.NoError(t, err)
	assert.Equal(t, []string{"stdout: v1 listens", "stdout: v1 ends"}, []string{kept[0].Stream + ": " + kept[0].Text, kept[3].Stream + ": " + kept[3].Text}, "it outlives Remove and a restart")
	mu.Lock()
	defer mu.Unlock()
	assert.True(t, slices.EqualFunc(kept, handed, func(a, b LogLine) bool { return a.Text == b.Text && a.Stream == b.Stream && a.At.Equal(b.At) }))
	none, err := w.Log(t.Context(), "never-was", 5)
	require.NoError(t, err)
	assert.Empty(t, none)
	_, err = w.Log(t.Context(), d.Name, -1)
	require.ErrorContains(t, err, "last -1")
}
