// Package runtime runs what is bound to environments: it pulls a static
// site's image by digest, unpacks it once, serves it in process and routes it
// at the environment's host name. What it has unpacked outlives a restart, so
// that a page answers again without the registry.
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
	Type        string // component type, "deployment/static-site"
	Workload    flowclient.WorkloadSpec
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
	Bind(host, prefix, name string, h http.Handler) error
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
	Now               func() time.Time  // optional: time.Now
	Log               *slog.Logger      // optional: slog.Default
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

	mu       sync.Mutex
	sites    map[string]*site     // by digest: opened in this process
	running  map[string]running   // by name: bound in this process
	records  map[string]string    // name to digest, as on disk: what Collect spares
	wanted   map[string]int       // digest to Applies under way that need it
	released map[string]time.Time // digest to when the last name left it
	retries  map[string]retry     // by name
}

// running is a deployment that is bound.
type running struct {
	site  *site
	plan  plan
	image string
}

// New opens the runtime's directory and forgets what an interrupted pull left behind.
func New(_ context.Context, cfg Config) (*Server, error) {
	if err := cfg.check(); err != nil {
		return nil, err
	}
	s := &Server{
		cfg: cfg, names: newLocks(), pulls: newLocks(), wake: make(chan struct{}, 1),
		sites: map[string]*site{}, running: map[string]running{}, wanted: map[string]int{},
		released: map[string]time.Time{}, retries: map[string]retry{},
	}
	for _, dir := range []string{cfg.Dir, s.imagesDir(), s.recordsDir()} {
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
	return s, s.releaseLeftovers()
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
	if c.Now == nil {
		c.Now = time.Now
	}
	if c.Log == nil {
		c.Log = slog.Default()
	}
	return nil
}

func (s *Server) imagesDir() string  { return filepath.Join(s.cfg.Dir, "images") }
func (s *Server) recordsDir() string { return filepath.Join(s.cfg.Dir, "deployments") }

// Close waits for the Applies and Removes under way and refuses later ones. It
// unbinds nothing: the gateway ends with the process.
func (s *Server) Close() error {
	s.names.drain()
	return nil
}
