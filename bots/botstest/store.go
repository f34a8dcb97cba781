// Package botstest is the kit for testing bots and what they stand on: an
// in-memory Store, a Chat with faults to inject, a Slack over HTTP and
// websockets with faults of its own, a Conversation to hold with a bot's
// commands, Recordings to replay, and the contract suites that every store and
// every transport passes.
//
// It knows nothing of any transport's code, nor of any database.
package botstest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"platform.dev/platform/bots"
)

// Store is an Inbox, an Outbox, Questions and an Auditor in memory. It keeps the promises of the
// interfaces, passes the suite Stores, and outlives any Runtime that is run over it.
type Store struct {
	mu      sync.Mutex
	heard   []*heard
	cursors map[string]string
	threads map[[2]string]string // channel and topic -> root
	rows    []*Row

	asked   []*asked
	decided []bots.Decision
}

var (
	_ bots.Inbox     = (*Store)(nil)
	_ bots.Outbox    = (*Store)(nil)
	_ bots.Questions = (*Store)(nil)
	_ bots.Auditor   = (*Store)(nil)
)

type heard struct {
	key      string
	at       time.Time
	payload  []byte
	outcome  string
	finished bool
}

// Row is a row of the outbox as it stands.
type Row struct {
	ID             int64
	Key, Bot       string
	Place, Payload []byte
	Rev, Delivered int64 // the newest revision, and the newest one delivered
	SentID         string
	Due, Tried     time.Time
	Why            string
	Dropped        bool
}

// NewStore makes an empty store.
func NewStore() *Store { return &Store{cursors: map[string]string{}, threads: map[[2]string]string{}} }

// Hear is Inbox.Hear.
func (s *Store) Hear(_ context.Context, key string, at time.Time, payload []byte) (bool, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, h := range s.heard {
		if h.key == key {
			return false, nil
		}
	}
	s.heard = append(s.heard, &heard{key: key, at: at, payload: bytes.Clone(payload)})
	return true, nil
}

// Finish is Inbox.Finish.
func (s *Store) Finish(_ context.Context, key, outcome string, _ time.Time) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, h := range s.heard {
		if h.key == key && !h.finished {
			h.outcome, h.finished = outcome, true
		}
	}
	return nil
}

// Unfinished is Inbox.Unfinished.
func (s *Store) Unfinished(_ context.Context, visit func(key string, at time.Time, payload []byte) error) error {
	s.mu.Lock()
	var open []heard
	for _, h := range s.heard {
		if !h.finished {
			open = append(open, *h)
		}
	}
	s.mu.Unlock()
	for _, h := range open {
		if err := visit(h.key, h.at, bytes.Clone(h.payload)); err != nil {
			return err
		}
	}
	return nil
}

// Cursor is Inbox.Cursor.
func (s *Store) Cursor(_ context.Context, name string) (string, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.cursors[name], nil
}

// SetCursor is Inbox.SetCursor.
func (s *Store) SetCursor(_ context.Context, name, value string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.cursors[name] = value
	return nil
}

// Put is Outbox.Put.
func (s *Store) Put(_ context.Context, key, bot string, place, payload []byte, at time.Time) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.put(key, bot, place, payload, at)
	return nil
}

// Offer is Outbox.Offer.
func (s *Store) Offer(_ context.Context, key, bot string, place, payload []byte, at time.Time) (int64, bool, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	waits := slices.ContainsFunc(s.rows, func(r *Row) bool {
		return r.Bot == bot && r.owed() && r.Delivered == 0 && bytes.Equal(r.Place, place)
	})
	r := s.put(key, bot, place, payload, at)
	if r == nil || waits {
		return 0, false, nil
	}
	r.Tried = at
	return r.ID, true, nil
}

// put puts a row, and returns it when it is new; the lock is held.
func (s *Store) put(key, bot string, place, payload []byte, at time.Time) *Row {
	for _, r := range s.rows {
		if r.Key != key {
			continue
		}
		if !bytes.Equal(r.Payload, payload) {
			if r.Dropped {
				r.Tried = time.Time{} // it was refused: there is nothing to look for
			}
			r.Payload, r.Rev, r.Dropped = bytes.Clone(payload), r.Rev+1, false
		}
		return nil
	}
	r := &Row{
		ID: int64(len(s.rows) + 1), Key: key, Bot: bot, Place: bytes.Clone(place), Payload: bytes.Clone(payload), Rev: 1, Due: at,
	}
	s.rows = append(s.rows, r)
	return r
}

// owed tells whether the newest revision is neither delivered nor given up.
func (r *Row) owed() bool { return !r.Dropped && r.Delivered < r.Rev }

// Try is Outbox.Try: the first attempt since the last delivery counts.
func (s *Store) Try(_ context.Context, id int64, at time.Time) error {
	return s.change(id, func(r *Row) {
		if r.Tried.IsZero() {
			r.Tried = at
		}
	})
}

// Sent is Outbox.Sent.
func (s *Store) Sent(_ context.Context, id, rev int64, sentID string, _ time.Time) error {
	return s.change(id, func(r *Row) {
		r.Delivered, r.SentID, r.Tried, r.Why = max(r.Delivered, rev), sentID, time.Time{}, ""
	})
}

// Answered is Outbox.Answered.
func (s *Store) Answered(ctx context.Context, id, rev int64, sentID, heard, outcome string, at time.Time) error {
	if err := s.Sent(ctx, id, rev, sentID, at); err != nil {
		return err
	}
	return s.Finish(ctx, heard, outcome, at)
}

// Later is Outbox.Later.
func (s *Store) Later(_ context.Context, id int64, until time.Time, why string) error {
	return s.change(id, func(r *Row) { r.Due, r.Why = until, why })
}

// Drop is Outbox.Drop.
func (s *Store) Drop(_ context.Context, id int64, why string, _ time.Time) error {
	return s.change(id, func(r *Row) { r.Dropped, r.Why = true, why })
}

// Rows are the rows of the outbox, in the order of their ids.
func (s *Store) Rows() []Row {
	s.mu.Lock()
	defer s.mu.Unlock()
	rows := make([]Row, len(s.rows))
	for i, r := range s.rows {
		rows[i] = r.copy()
	}
	return rows
}

// Outcomes are the outcomes of the heard messages by key; "" for one unfinished.
func (s *Store) Outcomes() map[string]string {
	s.mu.Lock()
	defer s.mu.Unlock()
	all := map[string]string{}
	for _, h := range s.heard {
		all[h.key] = h.outcome
	}
	return all
}

// Settled tells whether nothing is unfinished and nothing is owed.
func (s *Store) Settled() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, h := range s.heard {
		if !h.finished {
			return false
		}
	}
	return !slices.ContainsFunc(s.rows, (*Row).owed)
}

// change changes a row.
func (s *Store) change(id int64, f func(*Row)) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if id < 1 || id > int64(len(s.rows)) {
		return fmt.Errorf("outbox row %d: %w", id, errNoRow)
	}
	f(s.rows[id-1])
	return nil
}

var errNoRow = errors.New("no such row")

// copy is a row that shares no bytes.
func (r *Row) copy() Row {
	c := *r
	c.Place, c.Payload = bytes.Clone(r.Place), bytes.Clone(r.Payload)
	return c
}
