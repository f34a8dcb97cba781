// Package controlplane is the embedded control plane: durable objects behind
// OpenChoreo's REST API, the webhook that starts builds, and the controllers
// that turn pushes into runs, runs into workloads and releases, and bindings
// into what the runtime serves.
//
// It knows nothing of how a build is made, of what serves an application, of
// git servers beyond their webhooks, or of promotion.
package controlplane

import (
	"context"
	"embed"
	"fmt"
	"io/fs"
	"log/slog"
	"net/http"
	"time"

	"platform.dev/platform/flowclient"
	"platform.dev/platform/flowclient/store/sqlite"
)

//go:embed migrations/*.sql
var migrations embed.FS

// DefaultResync is how often what depends on the world outside the file is looked at, besides when it changes.
const DefaultResync = 30 * time.Second

// Config is what a Server needs.
type Config struct {
	Path          string // of the SQL file
	Namespace     string // the one namespace that is served; "" is default
	Token         string // bearer token of every path but the public ones and autobuild
	WebhookSecret string // shared secret of webhook signatures
	Builder       Builder
	Runtime       Runtime
	// Changed is told of each object that a commit changed, after the commit; it must not block. May be nil.
	Changed func(kind flowclient.Kind, name string)
	// Touched lists the files that differ between two commits, for a push that
	// names only some of its commits. nil: such a push builds every component.
	Touched   func(ctx context.Context, repoURL, before, after string) ([]string, error)
	Committed sqlite.Committed // may be nil
	Resync    time.Duration    // 0: DefaultResync
	Now       func() time.Time // nil: time.Now
	Log       *slog.Logger     // nil: silent
}

// Server is the control plane. Handler answers at once; objects are reconciled while Run runs.
type Server struct {
	db        *sqlite.File
	namespace string
	token     string
	secret    string
	builder   Builder
	runtime   Runtime
	changed   func(flowclient.Kind, string)
	touched   func(ctx context.Context, repoURL, before, after string) ([]string, error)
	resync    time.Duration
	now       func() time.Time
	log       *slog.Logger

	table       []kind
	kinds       map[flowclient.Kind]kind
	watches     map[flowclient.Kind][]watch
	controllers map[flowclient.Kind]reconcile
	queue       *queue
	synced      chan struct{} // closed after the first reconcile of everything
	handler     http.Handler
}

// New opens the file and prepares the API. A missing field is an error naming it.
func New(ctx context.Context, cfg Config) (*Server, error) {
	for _, need := range []struct {
		field string
		given bool
	}{
		{"Path", cfg.Path != ""}, {"Token", cfg.Token != ""}, {"WebhookSecret", cfg.WebhookSecret != ""},
		{"Builder", cfg.Builder != nil}, {"Runtime", cfg.Runtime != nil},
	} {
		if !need.given {
			return nil, fmt.Errorf("control plane: Config.%s is missing", need.field)
		}
	}
	sub, err := fs.Sub(migrations, "migrations")
	if err != nil {
		return nil, fmt.Errorf("control plane: %w", err)
	}
	s := &Server{
		namespace: cfg.Namespace, token: cfg.Token, secret: cfg.WebhookSecret,
		builder: cfg.Builder, runtime: cfg.Runtime, changed: cfg.Changed, touched: cfg.Touched,
		resync: cfg.Resync, now: cfg.Now, log: cfg.Log,
		table: kinds(), kinds: map[flowclient.Kind]kind{}, queue: newQueue(), synced: make(chan struct{}),
	}
	s.defaults()
	for _, k := range s.table {
		s.kinds[k.name] = k
	}
	s.watches, s.controllers = watches(), s.reconcilers()
	if s.handler, err = s.routes(); err != nil {
		return nil, err
	}
	if s.db, err = sqlite.Open(ctx, "controlplane", cfg.Path, sub, cfg.Committed); err != nil {
		return nil, fmt.Errorf("control plane: %w", err)
	}
	return s, nil
}

func (s *Server) defaults() {
	if s.namespace == "" {
		s.namespace = "default"
	}
	if s.resync <= 0 {
		s.resync = DefaultResync
	}
	if s.now == nil {
		s.now = time.Now
	}
	if s.log == nil {
		s.log = slog.New(slog.DiscardHandler)
	}
	if s.changed == nil {
		s.changed = func(flowclient.Kind, string) {}
	}
}

// Handler answers the API.
func (s *Server) Handler() http.Handler { return s.handler }

// Wake has an object reconciled soon because something outside changed: a run
// went on, a deployment became ready. A kind without a controller is ignored.
func (s *Server) Wake(kind flowclient.Kind, name string) {
	if s.controllers[kind] != nil {
		s.queue.add(key{kind, name})
	}
}

// Synced waits until every object that existed when Run began has been reconciled once, or ctx ends.
func (s *Server) Synced(ctx context.Context) error {
	select {
	case <-s.synced:
		return nil
	case <-ctx.Done():
		return fmt.Errorf("control plane: first reconcile: %w", ctx.Err())
	}
}

// Close closes the file. Run must have returned.
func (s *Server) Close() error {
	if err := s.db.Close(); err != nil {
		return fmt.Errorf("control plane: %w", err)
	}
	return nil
}
