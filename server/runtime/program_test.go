package runtime

import (
	"archive/tar"
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"testing"
	"time"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"platform.dev/platform/flowclient"
)

// programVariable makes this test binary one of the programs below.
const programVariable = "RUNTIME_TEST_PROGRAM"

// runVariable marks every process that a test's deployments start.
const runVariable = "RUNTIME_TEST_RUN"

// programs are what the test binary can be. Each returns its exit status.
var programs = map[string]func() int{"serve": serve, "host": host}

// serve is a web server as anyone would write it: it listens on HOST:PORT, and
// on SIGTERM finishes what it has begun; or does not, when ABRUPT is set.
func serve() int {
	mux := http.NewServeMux()
	version := os.Getenv("VERSION")
	status := http.StatusOK
	if text := os.Getenv("STATUS"); text != "" {
		if _, err := fmt.Sscan(text, &status); err != nil {
			return 2
		}
	}
	mux.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) {
		w.WriteHeader(status)
		fmt.Fprintf(w, "%s %s", version, r.URL.Path)
	})
	mux.HandleFunc("/echo", func(w http.ResponseWriter, r *http.Request) {
		sent, err := io.ReadAll(r.Body) // all of it first: HTTP/1 does not talk both ways at once
		if err != nil {
			panic(http.ErrAbortHandler)
		}
		fmt.Fprintf(w, "%s %s", sent, version)
	})
	mux.HandleFunc("/about", func(w http.ResponseWriter, r *http.Request) {
		dir, _ := os.Getwd()
		_ = json.NewEncoder(w).Encode(about{os.Environ(), dir, os.Getpid(), r.Host, r.Header})
	})
	mux.HandleFunc("/hold", func(w http.ResponseWriter, r *http.Request) {
		f, err := os.Open(r.URL.Query().Get("pipe")) // blocks until somebody writes
		if err != nil {
			http.Error(w, err.Error(), http.StatusInternalServerError)
			return
		}
		defer f.Close()
		_, _ = io.Copy(w, f)
		fmt.Fprint(w, " "+version)
	})
	mux.HandleFunc("/crash", func(http.ResponseWriter, *http.Request) {
		fmt.Fprintln(os.Stderr, "asked to crash")
		os.Exit(7)
	})
	mux.HandleFunc("/shout", shout)
	srv := &http.Server{Handler: mux}
	l, err := net.Listen("tcp", net.JoinHostPort(os.Getenv("HOST"), os.Getenv("PORT")))
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	fmt.Println(version, "listens")
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM)
	defer stop()
	go func() {
		<-ctx.Done()
		fmt.Println(version, "ends")
		if os.Getenv("ABRUPT") != "" {
			os.Exit(0)
		}
		_ = srv.Shutdown(context.Background())
	}()
	if err := srv.Serve(l); !errors.Is(err, http.ErrServerClosed) {
		return 1
	}
	return 0
}

// about is what a served process tells of itself and of a request.
type about struct {
	Env     []string
	Dir     string
	PID     int
	Host    string
	Headers http.Header
}

// shout upgrades the connection and answers each line in capitals.
func shout(w http.ResponseWriter, r *http.Request) {
	if r.Header.Get("Upgrade") != "shouting" {
		http.Error(w, "no upgrade", http.StatusBadRequest)
		return
	}
	conn, rw, err := http.NewResponseController(w).Hijack()
	if err != nil {
		return
	}
	defer conn.Close()
	fmt.Fprint(rw, "HTTP/1.1 101 Switching Protocols\r\nUpgrade: shouting\r\nConnection: Upgrade\r\n\r\n")
	_ = rw.Flush()
	in := bufio.NewScanner(rw)
	for in.Scan() {
		fmt.Fprintln(rw, strings.ToUpper(in.Text()))
		_ = rw.Flush()
	}
}

// files are an image's, by name; all can be executed.
type files map[string]string

// programImage makes an image of one layer.
func programImage(t *testing.T, cfg v1.Config, all files) v1.Image {
	t.Helper()
	var buf bytes.Buffer
	w := tar.NewWriter(&buf)
	for name, content := range all {
		require.NoError(t, w.WriteHeader(&tar.Header{Name: name, Typeflag: tar.TypeReg, Mode: 0o755, Size: int64(len(content)), ModTime: time.Unix(1e9, 0)}))
		_, err := w.Write([]byte(content))
		require.NoError(t, err)
	}
	require.NoError(t, w.Close())
	layer, err := tarball.LayerFromOpener(func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(buf.Bytes())), nil })
	require.NoError(t, err)
	img, err := mutate.Config(empty.Image, cfg)
	require.NoError(t, err)
	img, err = mutate.AppendLayers(img, layer)
	require.NoError(t, err)
	return img
}

// workshop is a bench whose deployments are processes.
type workshop struct {
	*bench
	mark    string
	changed chan struct{} // holds one when Changed was called since it was last taken
}

// quick are the times of tests, where nothing is waited for that does not happen.
var quick = Times{Start: waitLong, Drain: waitLong, Stop: waitLong, Restart: time.Millisecond}

// newWorkshop makes a workshop. When the test ends, no process of it may be left.
func newWorkshop(t *testing.T, change ...func(*Config)) *workshop {
	t.Helper()
	w := &workshop{mark: t.TempDir(), changed: make(chan struct{}, 1)}
	t.Cleanup(func() { assert.Empty(t, w.left(), "processes left behind") })
	w.bench = newBench(t, append([]func(*Config){func(c *Config) {
		c.Times = quick
		c.Now = time.Now
		c.Changed = func(string) {
			select {
			case w.changed <- struct{}{}:
			default:
			}
		}
	}}, change...)...)
	return w
}

// left are the processes of this test that live.
func (w *workshop) left() []int {
	all, err := processes()
	require.NoError(w.t, err)
	var left []int
	for _, st := range all {
		if carries(st.pid, runVariable+"="+w.mark) {
			left = append(left, st.pid)
		}
	}
	return left
}

// script is a deployment of a shell script.
func (w *workshop) script(text string) Deployment {
	w.t.Helper()
	return w.service(w.push(programImage(w.t, v1.Config{WorkingDir: "/app", Entrypoint: []string{"./run"}}, files{"app/run": "#!/bin/sh\n" + text + "\n"})), nil)
}

// server is a deployment of serve, with more variables.
func (w *workshop) server(version string, env ...flowclient.EnvVar) Deployment {
	w.t.Helper()
	d := w.script(`exec "$TEST_BINARY"`)
	d.Workload.Container.Env = append(d.Workload.Container.Env, append(env, flowclient.EnvVar{Key: "VERSION", Value: version})...)
	return d
}

// service is a deployment that runs an image.
func (w *workshop) service(image string, command []string) Deployment {
	binary, err := os.Executable()
	require.NoError(w.t, err)
	d := staging(image)
	d.Type = "deployment/service"
	d.Workload.Container.Command = command
	d.Workload.Container.Env = []flowclient.EnvVar{
		{Key: "TEST_BINARY", Value: binary}, {Key: programVariable, Value: "serve"}, {Key: runVariable, Value: w.mark},
		{Key: "GOCOVERDIR", Value: w.mark}, // else a test binary that counts coverage complains
	}
	return d
}

// until applies d, and again at each change, until it stands as wanted.
func (w *workshop) until(d Deployment, wanted func(DeploymentStatus) bool) DeploymentStatus {
	w.t.Helper()
	end := time.After(2 * waitLong)
	for {
		status := w.apply(d)
		if wanted(status) {
			return status
		}
		select {
		case <-w.changed:
		case <-end:
			require.Fail(w.t, "it does not come to stand as wanted", "%+v", status)
		}
	}
}

// runs applies d until it is Ready.
func (w *workshop) runs(d Deployment) DeploymentStatus {
	w.t.Helper()
	return w.until(d, func(s DeploymentStatus) bool { return s.Ready })
}

// stands applies d until the reason is the one given.
func (w *workshop) stands(d Deployment, reason string) DeploymentStatus {
	w.t.Helper()
	return w.until(d, func(s DeploymentStatus) bool { return s.Reason == reason })
}

// about asks the served process about itself.
func (w *workshop) about(headers ...string) about {
	w.t.Helper()
	req, err := http.NewRequestWithContext(w.t.Context(), http.MethodGet, "http://staging-shop.apps.platform.localhost:19080/about", nil)
	require.NoError(w.t, err)
	req.RemoteAddr = "192.0.2.7:4711"
	for _, h := range headers {
		key, value, _ := strings.Cut(h, ": ")
		req.Header.Set(key, value)
	}
	var a about
	resp := w.routes.ask(req, route)
	require.NotNil(w.t, resp, "nothing is bound")
	text := body(w.t, resp)
	require.NoError(w.t, json.Unmarshal([]byte(text), &a), text)
	return a
}

// pipe makes a named pipe: /hold answers once something is written to it.
func pipe(t *testing.T) (path string, write func(text string)) {
	t.Helper()
	path = t.TempDir() + "/pipe"
	require.NoError(t, syscall.Mkfifo(path, 0o600))
	return path, func(text string) {
		f, err := os.OpenFile(path, os.O_RDWR, 0) // which does not wait for a reader
		require.NoError(t, err)
		_, err = f.WriteString(text)
		require.NoError(t, errors.Join(err, f.Close()))
	}
}
