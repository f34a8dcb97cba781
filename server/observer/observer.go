// Package observer is the embedded store of traces and logs: one SQL file,
// bounded by rows and age. It takes spans from the OpenTelemetry SDK in this
// process and as OTLP over HTTP, log lines from this process and as Loki's
// pushes, and answers the queries of Tempo and Loki in their shapes, so that
// whatever reads those reads this.
//
// It knows nothing of builds, deployments or who asks: labels and attributes
// are what their senders say.
package observer

import (
	"context"
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"net/http"
	"sync/atomic"
	"time"

	"platform.dev/platform/flowclient/store/sqlite"
)

//go:embed migrations/*.sql
var migrations embed.FS

// Limits bound what is kept. Beyond them the oldest goes first; rows are
// counted once a minute and after each twentieth part of them, so that there
// are at most five in a hundred more for as long.
type Limits struct {
	Spans int           // default 200,000
	Lines int           // default 1,000,000
	Age   time.Duration // default 7 days
}

// DefaultLimits are used where Config.Limits says nothing.
var DefaultLimits = Limits{Spans: 200_000, Lines: 1_000_000, Age: 7 * 24 * time.Hour}

// Config says where the store is and who may write to it over HTTP.
type Config struct {
	Path   string // the SQL file, telemetry.db: its own, so that logs delay no other plane's writes
	Token  string // bearer token of POST /v1/traces and POST /loki/api/v1/push
	Limits Limits // zero fields: DefaultLimits
	// Pending hands over spans that are still on their way here, before a question
	// about traces is answered: what was answered before can be asked about. May be nil.
	Pending   func(context.Context) error
	Committed sqlite.Committed
	Now       func() time.Time // nil: time.Now
	Log       *slog.Logger     // nil: silent
}

// Server is the store and its surface. It takes and answers from New on; Run
// writes buffered lines soon and keeps the limits.
type Server struct {
	cfg     Config
	file    *sqlite.File
	buffer  *buffer
	written atomic.Int64  // rows since the last sweep
	full    chan struct{} // asks Run for a sweep
	handler http.Handler
}

// New opens the file and brings its schema up to date.
func New(ctx context.Context, cfg Config) (*Server, error) {
	if err := cfg.complete(); err != nil {
		return nil, err
	}
	sub, err := fs.Sub(migrations, "migrations")
	if err != nil {
		return nil, fmt.Errorf("observer: %w", err)
	}
	file, err := sqlite.Open(ctx, "telemetry", cfg.Path, sub, cfg.Committed)
	if err != nil {
		return nil, fmt.Errorf("observer: %w", err)
	}
	s := &Server{cfg: cfg, file: file, buffer: newBuffer(), full: make(chan struct{}, 1)}
	s.handler = s.routes()
	return s, nil
}

// complete checks the required fields and fills the others.
func (c *Config) complete() error {
	switch {
	case c.Path == "":
		return errors.New("observer: Config.Path is missing")
	case c.Token == "":
		return errors.New("observer: Config.Token is missing: everyone could write")
	case c.Limits.Spans < 0 || c.Limits.Lines < 0 || c.Limits.Age < 0:
		return fmt.Errorf("observer: Config.Limits %+v: none may be negative", c.Limits)
	}
	if c.Limits.Spans == 0 {
		c.Limits.Spans = DefaultLimits.Spans
	}
	if c.Limits.Lines == 0 {
		c.Limits.Lines = DefaultLimits.Lines
	}
	if c.Limits.Age == 0 {
		c.Limits.Age = DefaultLimits.Age
	}
	if c.Now == nil {
		c.Now = time.Now
	}
	if c.Log == nil {
		c.Log = slog.New(slog.DiscardHandler)
	}
	return nil
}

// Handler answers OTLP, Loki's and Tempo's paths; routes.go lists them.
func (s *Server) Handler() http.Handler { return s.handler }

// Close writes what is buffered and closes the file. Run must have ended; what
// is told after Close is lost.
func (s *Server) Close() error {
	return errors.Join(s.flush(context.Background()), s.file.Close())
}

const (
	flushEvery = 250 * time.Millisecond // what a kill may lose of buffered lines
	sweepEvery = time.Minute
)

// Run writes buffered lines a quarter of a second after the first of them, and
// sweeps once a minute, until ctx ends. A write that fails is logged: telemetry
// is no reason to end the platform.
func (s *Server) Run(ctx context.Context) error {
	sweep := time.NewTicker(sweepEvery)
	defer sweep.Stop()
	soon := time.NewTimer(flushEvery)
	defer soon.Stop()
	for {
		var err error
		select {
		case <-ctx.Done():
			return nil // Close writes the rest
		case <-s.buffer.begun:
			soon.Reset(flushEvery)
		case <-s.buffer.half:
			err = s.flush(ctx)
		case <-soon.C:
			err = s.flush(ctx)
		case <-s.full:
			err = s.Sweep(ctx)
		case <-sweep.C:
			err = s.Sweep(ctx)
		}
		if err != nil && ctx.Err() == nil {
			s.cfg.Log.ErrorContext(ctx, "telemetry cannot be kept", "error", err)
		}
	}
}

// wrote counts rows, and asks for a sweep after each twentieth part of a limit.
func (s *Server) wrote(rows, limit int) {
	if s.written.Add(int64(rows)) < int64(limit/20)+1 {
		return
	}
	select {
	case s.full <- struct{}{}:
	default:
	}
}
