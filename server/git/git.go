// Package git is the embedded git server: bare repositories on disk, smart
// HTTP through the system's git, Gitea's API on the paths that its Go SDK
// calls, pull requests with their labels, comments and merges, signed hook
// deliveries with Gitea's headers and payloads, and pages for people.
//
// Every push event comes from comparing the refs recorded in SQL with those on
// disk, after each receive-pack and at start, and is recorded together with
// its outgoing deliveries in one transaction: a kill at any line loses no
// event and tells none twice under another id. What a push makes of pull
// requests follows from the same comparison, and is in the same transaction.
//
// It knows nothing of who listens to the hooks: projects, builds and releases
// are foreign to it.
package git

import (
	"context"
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"platform.dev/platform/flowclient/gitea/gitcmd"
	"platform.dev/platform/flowclient/store/sqlite"
	"platform.dev/platform/server/web"
)

//go:embed migrations/*.sql
var migrations embed.FS

// DefaultMaxPush is the most that one push may send, in bytes.
const DefaultMaxPush = 64 << 20

// The number of git processes at one time, and how long a hook's receiver may take.
const (
	readers     = 16
	transfers   = 16
	hookTimeout = 30 * time.Second
)

// Config is what a Server needs. Dir, Path, BaseURL, AdminUser, AdminToken,
// Now and Log are required.
type Config struct {
	Dir          string // the repositories, <owner>/<name>.git; made with mode 0700
	Path         string // the SQL file
	BaseURL      string // where clients reach the server: "http://127.0.0.1:3001"
	AdminUser    string // the one account; named unlike every organisation, since they share a namespace
	Organization string // made at start when not empty
	AdminToken   string // may do everything; also the account's password, with which tokens are minted
	ReadToken    string // scope read:repository; none when empty
	// OpenPages shows the pages of private repositories to who has no token
	// (a surface on loopback); otherwise they ask for one.
	OpenPages      bool
	HookDelivery   bool     // send deliveries; without it they wait as rows
	AllowHookHosts []string // host names that hooks may call beside loopback
	MaxPush        int64    // bytes of one push; DefaultMaxPush when 0
	Committed      sqlite.Committed
	Now            func() time.Time
	Log            *slog.Logger
}

// Server is the git server. New makes it, Run sends its deliveries, Close ends it.
type Server struct {
	cfg      Config
	file     *sqlite.File
	reads    *gitcmd.Runner // short processes: log, rev-parse
	transfer *gitcmd.Runner // processes that clients wait at: upload-pack, receive-pack
	client   *http.Client   // calls hooks
	handler  http.Handler
	spool    string
	news     *news  // told when a delivery may be due, or was attempted
	pairs    *pairs // what comparing commits has given

	making sync.Mutex // one creation at a time

	mu    sync.Mutex
	locks map[int64]*sync.Mutex // per repository: from a change of refs to its recording
}

// New opens the registry, ends what a crash interrupted, and records the
// events of refs that moved while nobody looked.
func New(ctx context.Context, cfg Config) (*Server, error) {
	if err := cfg.check(); err != nil {
		return nil, fmt.Errorf("git server: %w", err)
	}
	s := &Server{cfg: cfg, client: web.Loopback(hookTimeout), news: newNews(), pairs: newPairs(), locks: map[int64]*sync.Mutex{}}
	s.spool = filepath.Join(cfg.Dir, ".spool")
	if err := os.RemoveAll(s.spool); err != nil {
		return nil, fmt.Errorf("git server: clear spool: %w", err)
	}
	if err := os.MkdirAll(s.spool, 0o700); err != nil {
		return nil, fmt.Errorf("git server: %w", err)
	}
	var err error
	home := filepath.Join(cfg.Dir, ".home")
	if s.reads, err = gitcmd.New(home, readers); err != nil {
		return nil, err
	}
	if s.transfer, err = gitcmd.New(home, transfers); err != nil {
		return nil, err
	}
	sub, err := fs.Sub(migrations, "migrations")
	if err != nil {
		return nil, err
	}
	if s.file, err = sqlite.Open(ctx, "git", cfg.Path, sub, cfg.Committed); err != nil {
		return nil, err
	}
	if s.handler, err = s.routes(); err == nil {
		err = s.recover(ctx)
	}
	if err != nil {
		return nil, errors.Join(err, s.file.Close())
	}
	return s, nil
}

// check completes the configuration and names the first field that is wrong.
func (c *Config) check() error {
	dir, err := filepath.Abs(c.Dir)
	base, baseErr := url.Parse(c.BaseURL)
	switch {
	case c.Dir == "" || err != nil:
		return fmt.Errorf("field Dir %q: the directory of the repositories is needed", c.Dir)
	case c.Path == "":
		return errors.New("field Path is empty: the SQL file is needed")
	case baseErr != nil || base.Host == "" || (base.Scheme != "http" && base.Scheme != "https"):
		return fmt.Errorf("field BaseURL %q: want http://host:port", c.BaseURL)
	case !ownerName.MatchString(c.AdminUser):
		return fmt.Errorf("field AdminUser %q: want letters, digits, '-', '_' and '.'", c.AdminUser)
	case strings.EqualFold(c.AdminUser, c.Organization):
		return fmt.Errorf("field Organization %q: the account has that name", c.Organization)
	case c.AdminToken == "":
		return errors.New("field AdminToken is empty: without it nothing can be written")
	case c.Now == nil || c.Log == nil:
		return errors.New("fields Now and Log are needed")
	}
	c.Dir, c.BaseURL = dir, strings.TrimRight(c.BaseURL, "/")
	if c.MaxPush == 0 {
		c.MaxPush = DefaultMaxPush
	}
	return nil
}

// Handler serves smart HTTP, the API under /api/v1 and the pages.
func (s *Server) Handler() http.Handler { return s.handler }

// Close closes the registry. Run must have returned.
func (s *Server) Close() error {
	s.client.CloseIdleConnections()
	return s.file.Close()
}

// lock is the repository's mutex: held from before its refs change until the change is recorded.
func (s *Server) lock(id int64) *sync.Mutex {
	s.mu.Lock()
	defer s.mu.Unlock()
	m, ok := s.locks[id]
	if !ok {
		m = new(sync.Mutex)
		s.locks[id] = m
	}
	return m
}

// recover makes the account and the organisation, ends interrupted creations
// and deletions, and records what moved while the server was down. A
// repository that cannot be read is reported and left alone.
func (s *Server) recover(ctx context.Context) error {
	if _, err := s.ensureOwner(ctx, s.cfg.AdminUser, kindUser); err != nil {
		return err
	}
	if s.cfg.Organization != "" {
		if _, err := s.ensureOwner(ctx, s.cfg.Organization, kindOrganization); err != nil {
			return err
		}
	}
	if err := s.endInterrupted(ctx); err != nil {
		return err
	}
	if err := s.eachRepository(ctx, s.resumeMerges); err != nil {
		return err
	}
	return s.recordAll(ctx)
}

// recordAll records the events of every repository whose refs moved unseen.
func (s *Server) recordAll(ctx context.Context) error {
	return s.eachRepository(ctx, func(ctx context.Context, repo repository) error {
		return s.Record(ctx, repo.full(), s.cfg.AdminUser)
	})
}

// eachRepository looks after every repository. One that cannot be read is
// reported, and does not keep the others from it.
func (s *Server) eachRepository(ctx context.Context, look func(context.Context, repository) error) error {
	all, err := s.repositories(ctx, "")
	if err != nil {
		return err
	}
	for _, repo := range all {
		if err := look(ctx, repo); err != nil && !isUnknown(err) {
			if ctx.Err() != nil {
				return err
			}
			s.cfg.Log.ErrorContext(ctx, "repository cannot be read", "repository", repo.full(), "error", err)
		}
	}
	return nil
}
