// Package workflow is the embedded build engine: durable runs in a queue, each
// in a clean directory. A run fetches a commit with the system's git, runs the
// stages that the pipeline module's pipeline.yaml names as processes with time
// limits, keeps each stage's output, and makes of the result an OCI image,
// pushed to a registry and named by digest: the same for the same commit. It
// shows runs as pages with JSON twins.
//
// It knows nothing of control-plane objects, of releases or environments, nor
// of which stages there are: their names and programs come from the module and
// the repository. Processes are no sandbox: it is for code you trust.
package workflow

import (
	"cmp"
	"context"
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"time"

	"platform.dev/platform/flowclient"
	"platform.dev/platform/flowclient/store/sqlite"
	"platform.dev/platform/server/web"
)

//go:embed migrations/*.sql
var migrations embed.FS

// DefaultConcurrent is how many runs are under way at once unless Config says otherwise.
const DefaultConcurrent = 2

// Config says where the engine works and what it reaches.
type Config struct {
	Dir  string // logs and build directories; made with mode 0700
	Path string // the SQL file

	Module   string // clone URL of the pipeline module, read without credentials
	Registry string // host:port as it stands in the names of images

	RegistryUser, RegistryToken string
	RegistryTransport           http.RoundTripper // nil: the network, where names under .localhost are this machine

	// Credentials gives the user and password that a secretRef names. They are used
	// for https:// URLs, for http:// ones where the run allows it, and for no others.
	Credentials func(secretRef string) (user, password string, ok bool)
	// Changed is told the name of a run after each durable change of it; may be nil.
	// It must not block.
	Changed func(run string)
	// Logged is told each line of output that is kept, as it comes; may be nil. It must not block.
	Logged func(b Build, l Line)

	MaxConcurrent int // runs under way at once; 0: DefaultConcurrent
	Committed     sqlite.Committed
	Now           func() time.Time
	Log           *slog.Logger
}

// Build asks for a run. Run is its name and identity: asking twice starts once.
type Build struct {
	Run, Project, Component string
	Params                  flowclient.WorkflowParameters
}

// Status is how a run stands.
type Status struct {
	Phase                  string // flowclient.BuildPending and so on
	Message                string // why it failed, naming the stage; empty otherwise
	Tasks                  []flowclient.Task
	StartedAt, CompletedAt *time.Time
	Commit                 string                   // the whole SHA, once resolved
	Image                  string                   // by digest, once pushed
	Workload               *flowclient.WorkloadSpec // from workloadPath, with the image; once succeeded
}

// Server is the engine. Ensure and the surface work from New on; runs are
// carried out while Run does.
type Server struct {
	cfg  Config
	book *book
	git  string // path of the system's git
	wake chan struct{}
}

// New opens the engine's records and checks that its parts are there.
func New(ctx context.Context, cfg Config) (*Server, error) {
	if cfg.Dir == "" || cfg.Path == "" || cfg.Module == "" || cfg.Registry == "" || cfg.Now == nil || cfg.Log == nil {
		return nil, errors.New("workflow: Dir, Path, Module, Registry, Now and Log must be set")
	}
	git, err := exec.LookPath("git")
	if err != nil {
		return nil, fmt.Errorf("workflow: builds need the program git: %w", err)
	}
	if cfg.MaxConcurrent < 0 {
		return nil, fmt.Errorf("workflow: MaxConcurrent is %d; it must not be negative", cfg.MaxConcurrent)
	}
	cfg.MaxConcurrent = cmp.Or(cfg.MaxConcurrent, DefaultConcurrent)
	if cfg.RegistryTransport == nil {
		cfg.RegistryTransport = web.Loopback(0).Transport
	}
	// Paths are compared with what the system says of processes and links, so they must be whole and free of links.
	if err := os.MkdirAll(cfg.Dir, 0o700); err != nil {
		return nil, fmt.Errorf("workflow: %w", err)
	}
	if cfg.Dir, err = canonical(cfg.Dir); err != nil {
		return nil, fmt.Errorf("workflow: %w", err)
	}
	sub, err := fs.Sub(migrations, "migrations")
	if err != nil {
		return nil, fmt.Errorf("workflow: %w", err)
	}
	file, err := sqlite.Open(ctx, "workflow", cfg.Path, sub, cfg.Committed)
	if err != nil {
		return nil, fmt.Errorf("workflow: %w", err)
	}
	return &Server{cfg: cfg, book: &book{file: file}, git: git, wake: make(chan struct{}, 1)}, nil
}

// Close closes the records. Run must have ended.
func (s *Server) Close() error { return s.book.file.Close() }

// nameShape is that of runs, projects and components: a DNS label, or labels joined by dots.
var nameShape = regexp.MustCompile(`^[a-z0-9]([-a-z0-9.]{0,198}[a-z0-9])?$`)

// Ensure starts b.Run unless it is known, and tells how it stands. What was
// asked first counts. It answers *flowclient.Invalid for a name that cannot be
// one; every other fault of b shows as a failed run, so that it is seen where
// builds are looked at.
func (s *Server) Ensure(ctx context.Context, b Build) (Status, error) {
	for _, f := range []struct{ field, value string }{
		{"run", b.Run}, {"project", b.Project}, {"component", b.Component},
	} {
		if !nameShape.MatchString(f.value) {
			return Status{}, &flowclient.Invalid{Field: f.field, Value: f.value,
				Why: "must be lower-case letters, digits, dots and dashes, and begin and end with a letter or digit"}
		}
	}
	rec, err := s.book.load(ctx, b.Run)
	if err == nil || !flowclient.IsNotFound(err) {
		return rec.status(), err
	}
	fresh, err := s.book.insert(ctx, b, s.cfg.Now())
	if err != nil {
		return Status{}, err
	}
	if fresh {
		s.changed(b.Run)
		s.nudge()
	}
	rec, err = s.book.load(ctx, b.Run)
	return rec.status(), err
}

// changed tells of a durable change.
func (s *Server) changed(run string) {
	if s.cfg.Changed != nil {
		s.cfg.Changed(run)
	}
}

// nudge wakes the queue; one nudge waiting is enough.
func (s *Server) nudge() {
	select {
	case s.wake <- struct{}{}:
	default:
	}
}

// canonical is path, absolute and without links.
func canonical(path string) (string, error) {
	abs, err := filepath.Abs(path)
	if err != nil {
		return "", err
	}
	return filepath.EvalSymlinks(abs)
}
