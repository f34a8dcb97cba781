// Package chat is a chat server that speaks Zulip's REST and event API at
// feature level 339: accounts, channels, messages, edits, reactions, event
// queues with long polls, and pages to read and write on. What it accepted is in
// one SQL file before it answers; event queues live in memory, as Zulip's do, so
// that after a restart clients get BAD_EVENT_QUEUE_ID and register again.
//
// It knows nothing of bots, commands, projects or deliveries.
package chat

import (
	"context"
	"database/sql"
	"embed"
	"errors"
	"fmt"
	"html/template"
	"io/fs"
	"log/slog"
	"net/url"
	"strings"
	"sync"
	"time"

	"platform.dev/platform/flowclient/store/sqlite"
)

// The limits of the server, as /register announces them where Zulip does.
const (
	MaxContent     = 10_000 // code points of a message, unless Config.MaxContent says fewer; the rest is cut off
	MaxTopic       = 60     // code points of a topic; the rest is cut off
	MaxStreamName  = 60     // code points of a channel's name
	MaxDescription = 1024   // code points of a channel's description

	// DefaultRateLimit is the requests a minute that one user may make. Zulip's
	// own is 200; a loopback server has no strangers to defend itself from.
	DefaultRateLimit = 2000

	editLimit     = 600 * time.Second // how long a message's content may be edited
	editGrace     = 20 * time.Second  // and how much later an edit may arrive
	moveLimit     = 7 * 24 * time.Hour
	wildcardLimit = 15 // subscribers above which @**all** is for moderators and up
	sweepEvery    = time.Minute
)

// Config is what a server needs. Path and URL are required.
type Config struct {
	Path      string // the SQL file; made with mode 0600 when absent, since it holds API keys
	URL       string // the address clients use, "http://127.0.0.1:9991": realm_uri
	Realm     string // the organisation's name; "Platform" when empty
	OpenPages bool   // whoever reaches the server may read channels, and see who has an account
	RateLimit int    // requests a minute and user; 0 means DefaultRateLimit
	// MaxContent is the most code points of a message, as max_message_length tells;
	// 0 means the constant of that name, which is Zulip's and the most.
	MaxContent int
	Committed  sqlite.Committed // told of each durable write; may be nil
	Now        func() time.Time // time.Now when nil
	Log        *slog.Logger     // discards when nil
}

// Server is the chat. Make it with New, serve its Handler, run its Run.
type Server struct {
	cfg    Config
	file   *sqlite.File
	people *directory
	queues *queues
	limits *limiter
	mill   *mill         // Markdown to HTML and mentions
	writer chan struct{} // holds one token: whoever has it writes and publishes
	done   chan struct{} // closed by Close: long polls end
	pages  *template.Template
	codes  codes
	wrong  *guesses // failed sign-ins

	closing sync.Once
}

//go:embed migrations/*.sql
var migrations embed.FS

// New opens the file, brings its schema up to date and reads the accounts.
func New(ctx context.Context, cfg Config) (*Server, error) {
	if err := cfg.complete(); err != nil {
		return nil, err
	}
	steps, err := fs.Sub(migrations, "migrations")
	if err != nil {
		return nil, fmt.Errorf("read migrations: %w", err)
	}
	file, err := sqlite.Open(ctx, "chat", cfg.Path, steps, cfg.Committed)
	if err != nil {
		return nil, err
	}
	s := &Server{
		cfg: cfg, file: file,
		mill:   newMill(),
		queues: newQueues(cfg.Now),
		limits: newLimiter(cfg.RateLimit),
		writer: make(chan struct{}, 1),
		done:   make(chan struct{}),
		pages:  newTemplates(),
		wrong:  newGuesses(),
	}
	if s.people, err = loadDirectory(ctx, file.Reader()); err != nil {
		return nil, errors.Join(err, file.Close())
	}
	return s, nil
}

// complete checks the required fields and fills the others.
func (c *Config) complete() error {
	if c.Path == "" {
		return errors.New("chat: Path is empty")
	}
	u, err := url.Parse(c.URL)
	if err != nil || (u.Scheme != "http" && u.Scheme != "https") || u.Host == "" {
		return fmt.Errorf("chat: URL %q is not an http address", c.URL)
	}
	c.URL = strings.TrimSuffix(c.URL, "/")
	if c.Realm == "" {
		c.Realm = "Platform"
	}
	if c.RateLimit < 0 {
		return fmt.Errorf("chat: RateLimit %d is negative", c.RateLimit)
	}
	if c.RateLimit == 0 {
		c.RateLimit = DefaultRateLimit
	}
	if c.MaxContent == 0 {
		c.MaxContent = MaxContent
	}
	if least := len([]rune(truncatedMark)) + 1; c.MaxContent < least || c.MaxContent > MaxContent {
		return fmt.Errorf("chat: MaxContent %d is not between %d and %d", c.MaxContent, least, MaxContent)
	}
	if c.Now == nil {
		c.Now = time.Now
	}
	if c.Log == nil {
		c.Log = slog.New(slog.DiscardHandler)
	}
	return nil
}

// Run drops event queues that nobody polled for their lifespan, until ctx ends.
func (s *Server) Run(ctx context.Context) error {
	tick := time.NewTicker(sweepEvery)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
			if n := s.queues.sweep(); n > 0 {
				s.cfg.Log.Debug("event queues expired", "count", n)
			}
		}
	}
}

// Close ends long polls, waits for the write under way and closes the file.
// Call it after serving has ended; a second call does nothing.
func (s *Server) Close() error {
	var err error
	s.closing.Do(func() {
		close(s.done)
		s.writer <- struct{}{} // kept: nothing is written from here on
		err = s.file.Close()
	})
	return err
}

// errClosed is the error of a write after Close.
var errClosed = errors.New("chat is closed")

// querier reads: the reader pool or a transaction.
type querier interface {
	QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error)
	QueryRowContext(ctx context.Context, query string, args ...any) *sql.Row
}

// write runs fn in a write transaction and publishes the notices it returns
// before the next write begins, so that every queue has its events in the
// order of their commits. ctx bounds the wait; a write once begun is finished.
func (s *Server) write(ctx context.Context, op string, fn func(ctx context.Context, tx *sql.Tx) ([]*notice, error)) error {
	select {
	case s.writer <- struct{}{}:
	case <-ctx.Done():
		return ctx.Err()
	case <-s.done:
		return errClosed
	}
	defer func() { <-s.writer }()
	ctx = context.WithoutCancel(ctx)
	var notices []*notice
	err := s.file.Update(ctx, op, func(tx *sql.Tx) error {
		var err error
		notices, err = fn(ctx, tx)
		return err
	})
	if err != nil {
		return err
	}
	for _, n := range notices {
		s.queues.publish(n)
	}
	return nil
}

// unix is now in whole seconds, as the API and the tables have it.
func (s *Server) unix() int64 { return s.cfg.Now().Unix() }
