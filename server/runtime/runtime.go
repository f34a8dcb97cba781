// Package runtime runs what is bound to environments. A static site's image is
// pulled by digest, unpacked once, served in process and routed at the
// environment's host name. Every other component's image is unpacked whole and
// its command run as a child process, which listens on 127.0.0.1:$PORT and is
// reached through the same routes. What is unpacked outlives a restart, so that
// a page answers again without the registry.
//
// Processes are no sandbox: they run as the platform's own user, see its file
// system and its network, and are for code that you trust. What is theirs is a
// copy of the image's files to write to, a cleared environment and a process
// group that ends with them.
//
// Of cells, the places of projects in environments, it tells what a cluster
// tells: their quotas, with the sum of what its deployments declare.
//
// It knows nothing of bindings, releases' contents, or who routes to it.
package runtime

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"os"
	"path/filepath"
	"sync"
	"time"

	"platform.dev/platform/flowclient"
)

// Deployment is what should run under a name. Applying it again changes nothing.
type Deployment struct {
	Name        string // of the binding, "<component>-<environment>": unique
	Project     string
	Component   string
	Environment string
	Release     string
	Route       string // what the path is made of: the component, or the one that it is a fork of
	Type        string // component type: StaticSite, or "deployment/..." for a process
	Workload    flowclient.WorkloadSpec
	Memory      int64                 // bytes that its process may use; 0 for no limit; see Server.Limits
	Cell        string                // namespace of the project's cell in the environment
	Declared    flowclient.Quantities // what its replicas declare together: it counts against the cell's quotas
}

// DeploymentStatus is how a deployment stands. Reason is one word of the table
// in status.go; Message is a sentence for people.
type DeploymentStatus struct {
	Ready     bool
	Reason    string
	Message   string
	Endpoints []flowclient.EndpointURL // where the name answers now
}

// Routes is the gateway as the runtime needs it. Bind replaces the handler of
// a name atomically and fails when another name holds the prefix.
type Routes interface {
	// Bind hands what is asked of host below prefix to h.
	Bind(host, prefix, name string, h http.Handler) error
	// Unbind takes the handler away when name holds the prefix.
	Unbind(host, prefix, name string)
}

// Config says where the runtime keeps images, how it reaches the registry, and
// whom it tells. Zero values of the optional fields mean the default given.
type Config struct {
	Dir               string            // images and records; made with 0700
	Domain            string            // "apps.platform.localhost": applications answer under it
	Port              int               // of the gateway, for URLs; 0 leaves it out
	Routes            Routes            // where handlers are bound
	RegistryTransport http.RoundTripper // optional: http.DefaultTransport
	PullTimeout       time.Duration     // optional: 1 minute for the whole image
	Limits            Limits            // optional: see Limits
	Keep              time.Duration     // optional: 1 hour; how long an image that nothing runs is kept for a rollback
	Changed           func(name string) // optional: Apply of the name is worth asking again; must return at once

	Times    Times                           // optional: of processes; see Times
	Logged   func(name string, line LogLine) // optional: each line that a process writes, in order; the process waits for it
	LogBytes int64                           // optional: 1 MiB; how much of its output is kept for each name
	KeepLogs time.Duration                   // optional: 7 days; how long the log of a name that does not run is kept
	Cgroup   string                          // optional: directory of the control group to make groups in; found by itself

	Now func() time.Time // optional: time.Now
	Log *slog.Logger     // optional: slog.Default
}

// Times are those of a process. Zero values mean the default given.
type Times struct {
	Start   time.Duration // 1 minute: until it must be ready
	Drain   time.Duration // 30 s: for the requests that a replaced process is answering
	Stop    time.Duration // 10 s: between SIGTERM and SIGKILL
	Restart time.Duration // 1 s: before the first restart; it doubles each time, to at most 1 minute
}

// Limits bound an image.
type Limits struct {
	Bytes int64 // unpacked, all files together; default 512 MiB
	Files int   // files and directories; default 20,000
}

// Server is the runtime. New makes one.
type Server struct {
	cfg   Config
	names *locks // one Apply or Remove of a name at a time
	pulls *locks // one pull of a digest at a time
	wake  chan struct{}

	logs    *logs
	cells   *cells
	control control
	life    context.Context    // of the processes: New to Close
	end     context.CancelFunc // of life
	all     sync.WaitGroup     // every goroutine of a process

	mu       sync.Mutex
	sites    map[string]*site     // by digest: opened in this process
	running  map[string]running   // by name: bound in this process
	records  map[string]string    // name to digest, as on disk: what Collect spares
	wanted   map[string]int       // digest to Applies under way that need it
	released map[string]time.Time // digest to when the last name left it
	retries  map[string]retry     // by name
	services map[string]*service  // by name
	alive    map[*process]struct{}
	ports    map[int]bool // given to processes
}

// running is a deployment that is bound.
type running struct {
	key     string // of its image, as Collect knows it
	plan    plan
	image   string
	handler func(planned) http.Handler
}

// New opens the runtime's directory, forgets what an interrupted pull left
// behind, and kills the processes that an earlier runtime did not live to stop.
func New(ctx context.Context, cfg Config) (*Server, error) {
	if err := cfg.check(); err != nil {
		return nil, err
	}
	s := &Server{
		cfg: cfg, names: newLocks(), pulls: newLocks(), wake: make(chan struct{}, 1),
		sites: map[string]*site{}, running: map[string]running{}, wanted: map[string]int{},
		released: map[string]time.Time{}, retries: map[string]retry{},
		services: map[string]*service{}, alive: map[*process]struct{}{}, ports: map[int]bool{},
		logs:    &logs{dir: filepath.Join(cfg.Dir, "logs"), limit: cfg.LogBytes, open: map[string]*logFile{}},
		cells:   newCells(),
		control: findControl(cfg.Cgroup),
	}
	for _, dir := range []string{cfg.Dir, s.imagesDir(), s.recordsDir(), s.processesDir(), s.workDir(), s.logs.dir} {
		if err := os.MkdirAll(dir, 0o700); err != nil {
			return nil, fmt.Errorf("runtime directory: %w", err)
		}
	}
	if err := s.sweep(); err != nil {
		return nil, fmt.Errorf("sweep %s: %w", s.imagesDir(), err)
	}
	var err error
	if s.records, err = readRecords(s.recordsDir()); err != nil {
		return nil, err
	}
	if err := s.clearLeftovers(ctx); err != nil {
		return nil, err
	}
	if err := s.releaseLeftovers(); err != nil {
		return nil, err
	}
	s.life, s.end = context.WithCancel(context.WithoutCancel(ctx))
	return s, nil
}

// check fills in the defaults and names what is missing.
func (c *Config) check() error {
	switch {
	case c.Dir == "":
		return errors.New("runtime: Dir is not set")
	case c.Domain == "":
		return errors.New("runtime: Domain is not set")
	case c.Routes == nil:
		return errors.New("runtime: Routes is not set")
	}
	if c.RegistryTransport == nil {
		c.RegistryTransport = http.DefaultTransport
	}
	if c.PullTimeout == 0 {
		c.PullTimeout = time.Minute
	}
	if c.Limits.Bytes == 0 {
		c.Limits.Bytes = 512 << 20
	}
	if c.Limits.Files == 0 {
		c.Limits.Files = 20_000
	}
	if c.Keep == 0 {
		c.Keep = time.Hour
	}
	if c.Changed == nil {
		c.Changed = func(string) {}
	}
	if c.Logged == nil {
		c.Logged = func(string, LogLine) {}
	}
	if c.LogBytes == 0 {
		c.LogBytes = 1 << 20
	}
	if c.KeepLogs == 0 {
		c.KeepLogs = 7 * 24 * time.Hour
	}
	c.Times.check()
	if c.Now == nil {
		c.Now = time.Now
	}
	if c.Log == nil {
		c.Log = slog.Default()
	}
	return nil
}

// check fills in the defaults.
func (t *Times) check() {
	for _, d := range []struct {
		set   *time.Duration
		usual time.Duration
	}{{&t.Start, time.Minute}, {&t.Drain, 30 * time.Second}, {&t.Stop, 10 * time.Second}, {&t.Restart, time.Second}} {
		if *d.set == 0 {
			*d.set = d.usual
		}
	}
}

func (s *Server) imagesDir() string  { return filepath.Join(s.cfg.Dir, "images") }
func (s *Server) recordsDir() string { return filepath.Join(s.cfg.Dir, "deployments") }

// Close waits for the Applies and Removes under way and refuses later ones,
// then stops every process and waits until none is left. It unbinds nothing:
// the gateway ends with the process.
func (s *Server) Close() error {
	s.names.drain()
	s.end()
	s.all.Wait()
	return s.logs.closeAll()
}
