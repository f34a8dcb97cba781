package flow

import (
	"context"
	"errors"
	"net/http"
	"sync"

	"platform.dev/platform/flowclient/wire"
)

func (s *Server) delivery(r *http.Request, _ []byte) (int, any, error) {
	if _, err := wire.Query(r.URL.RawQuery); err != nil {
		return 0, nil, err
	}
	read := func(ctx context.Context) (encoded, error) {
		delivery, err := s.cfg.Flow.Delivery(ctx)
		if err != nil {
			return encoded{}, err
		}
		return encode(delivery)
	}
	if s.cfg.Generation == nil {
		whole, err := read(r.Context())
		return http.StatusOK, whole, err
	}
	whole, err := s.kept.get(r.Context(), s.cfg.Generation, read)
	return http.StatusOK, whole, err
}

// latest keeps the answer of the newest reading that went well, and lets those
// who ask at one time share a reading. The zero value keeps none.
type latest struct {
	mu    sync.Mutex
	kept  *encoded
	at    uint64   // the generation at which the reading of kept began
	under *reading // the newest that is under way, if one is
}

// reading is one that is under way. What it came to is set once done is closed.
type reading struct {
	at   uint64
	done chan struct{}
	got  encoded
	err  error
	cut  bool // whoever read went away
}

// get is an answer whose reading began at the generation that is now, or later.
// It is read by the first who needs it, under that request's context; the others
// wait, and when the first goes away before its end, one of them reads.
func (l *latest) get(ctx context.Context, generation func() uint64, read func(context.Context) (encoded, error)) (encoded, error) {
	now := generation()
	for {
		l.mu.Lock()
		if l.kept != nil && l.at >= now {
			defer l.mu.Unlock()
			return *l.kept, nil
		}
		under := l.under
		if under == nil || under.at < now {
			under = &reading{at: generation(), done: make(chan struct{}), err: errors.New("the reading of what is deployed broke off")}
			l.under = under
			l.mu.Unlock()
			l.read(ctx, under, read)
			return under.got, under.err
		}
		l.mu.Unlock()
		select {
		case <-under.done:
			if !under.cut {
				return under.got, under.err
			}
		case <-ctx.Done():
			return encoded{}, ctx.Err()
		}
	}
}

// read reads, tells those who wait, and keeps what came of it unless it failed:
// of two readings, the one that began at the later generation.
func (l *latest) read(ctx context.Context, under *reading, read func(context.Context) (encoded, error)) {
	defer func() {
		l.mu.Lock()
		defer l.mu.Unlock()
		if l.under == under {
			l.under = nil
		}
		if under.err == nil && (l.kept == nil || l.at <= under.at) {
			l.kept, l.at = &under.got, under.at
		}
		close(under.done)
	}()
	got, err := read(ctx)
	under.got, under.err, under.cut = got, err, err != nil && ctx.Err() != nil
}
