package store

import (
	"context"
	"crypto/rand"
	"database/sql"
	"errors"
	"fmt"
	"strings"

	"platform.dev/platform/flowclient"
)

// idLength is how many base-32 characters an intent's id has: 65 random bits,
// so that annotations left by an earlier flow.db are never taken for ours.
const idLength = 13

const intentColumns = `id, key, kind, asked, who, at, body, outcome`

// Begin records an intent under its origin key; when the key is known it
// returns the recorded one and fresh false.
func (s *Store) Begin(ctx context.Context, in flowclient.Intent) (recorded flowclient.Intent, fresh bool, err error) {
	err = s.file.Update(ctx, "begin", func(tx *sql.Tx) error {
		recorded, err = scanIntent(tx.QueryRowContext(ctx, `SELECT `+intentColumns+` FROM intents WHERE key = ?`, in.Key))
		if !errors.Is(err, sql.ErrNoRows) {
			return err
		}
		recorded, fresh = in, true
		recorded.ID = strings.ToLower(rand.Text()[:idLength])
		recorded.At = in.At.UTC()
		recorded.Outcome = nil
		_, err = tx.ExecContext(ctx, `INSERT INTO intents (id, key, kind, asked, who, at, body) VALUES (?, ?, ?, ?, ?, ?, ?)`,
			recorded.ID, in.Key, in.Kind, in.Asked, in.Who, in.At.UnixNano(), []byte(in.Body))
		return err
	})
	if err != nil {
		return flowclient.Intent{}, false, fmt.Errorf("begin %s: %w", in.Key, err)
	}
	return recorded, fresh, nil
}

// Find is the intent recorded under an origin key; found is false when there is none.
func (s *Store) Find(ctx context.Context, key string) (in flowclient.Intent, found bool, err error) {
	in, err = scanIntent(s.file.Reader().QueryRowContext(ctx, `SELECT `+intentColumns+` FROM intents WHERE key = ?`, key))
	if errors.Is(err, sql.ErrNoRows) {
		return flowclient.Intent{}, false, nil
	}
	if err != nil {
		return flowclient.Intent{}, false, fmt.Errorf("find %s: %w", key, err)
	}
	return in, true, nil
}

// Settle records what an intent came to, with its events and holds, in one
// transaction. Settling twice changes nothing; an unknown id is *NotFound.
func (s *Store) Settle(ctx context.Context, id string, to flowclient.Settlement) error {
	err := s.file.Update(ctx, "settle", func(tx *sql.Tx) error {
		fresh, err := inserted(tx.ExecContext(ctx,
			`UPDATE intents SET outcome = ?, settled = ? WHERE id = ? AND settled IS NULL`, []byte(to.Outcome), to.At.UnixNano(), id))
		if err != nil {
			return err
		}
		if fresh {
			return errors.Join(insertEvents(ctx, tx, to.Events), changeHolds(ctx, tx, to.Hold, to.Lift))
		}
		err = tx.QueryRowContext(ctx, `SELECT id FROM intents WHERE id = ?`, id).Scan(&id)
		if errors.Is(err, sql.ErrNoRows) {
			return &flowclient.NotFound{Kind: "intent", Name: id}
		}
		return err
	})
	if err != nil {
		return fmt.Errorf("settle %s: %w", id, err)
	}
	return nil
}

// Open lists intents without an outcome, oldest first.
func (s *Store) Open(ctx context.Context) (open []flowclient.Intent, err error) {
	rows, err := s.file.Reader().QueryContext(ctx, `SELECT `+intentColumns+` FROM intents WHERE settled IS NULL ORDER BY seq`)
	if err != nil {
		return nil, fmt.Errorf("open intents: %w", err)
	}
	defer rows.Close()
	for rows.Next() {
		in, err := scanIntent(rows)
		if err != nil {
			return nil, fmt.Errorf("open intents: %w", err)
		}
		open = append(open, in)
	}
	return open, rows.Err()
}

// Note records events; one whose key is known is left out. When all are known nothing is written.
func (s *Store) Note(ctx context.Context, events ...flowclient.Event) error {
	fresh := make([]flowclient.Event, 0, len(events))
	for _, e := range events {
		var seq int64
		err := s.file.Reader().QueryRowContext(ctx, `SELECT seq FROM events WHERE key = ?`, e.Key).Scan(&seq)
		switch {
		case errors.Is(err, sql.ErrNoRows):
			fresh = append(fresh, e)
		case err != nil:
			return fmt.Errorf("note %s: %w", e.Key, err)
		}
	}
	if len(fresh) == 0 {
		return nil
	}
	err := s.file.Update(ctx, "note", func(tx *sql.Tx) error { return insertEvents(ctx, tx, fresh) })
	if err != nil {
		return fmt.Errorf("note %s: %w", fresh[0].Key, err)
	}
	return nil
}

// Events lists events after seq, at most limit, oldest first.
func (s *Store) Events(ctx context.Context, after int64, limit int) ([]flowclient.Event, error) {
	return s.events(ctx, `WHERE seq > ? ORDER BY seq LIMIT ?`, after, limit)
}

func (s *Store) events(ctx context.Context, which string, args ...any) (events []flowclient.Event, err error) {
	rows, err := s.file.Reader().QueryContext(ctx, `SELECT seq, key, kind, at, project, component, walkthrough, body FROM events `+which, args...)
	if err != nil {
		return nil, fmt.Errorf("events: %w", err)
	}
	defer rows.Close()
	for rows.Next() {
		var e flowclient.Event
		var at int64
		var body []byte
		if err := rows.Scan(&e.Seq, &e.Key, &e.Kind, &at, &e.Project, &e.Component, &e.Walkthrough, &body); err != nil {
			return nil, fmt.Errorf("events: %w", err)
		}
		e.At, e.Body = instant(at), body
		events = append(events, e)
	}
	return events, rows.Err()
}

// insertEvents records events. One whose key is known is left out, and one of
// before what is kept: whether it was known cannot be told any more.
func insertEvents(ctx context.Context, tx *sql.Tx, events []flowclient.Event) error {
	for _, e := range events {
		_, err := tx.ExecContext(ctx, `INSERT INTO events (key, kind, at, project, component, walkthrough, body)
			SELECT ?1, ?2, ?3, ?4, ?5, ?6, ?7 WHERE ?3 >= coalesce((SELECT before FROM compacted WHERE trail = 'events'), ?3)
			ON CONFLICT (key) DO NOTHING`,
			e.Key, e.Kind, e.At.UnixNano(), e.Project, e.Component, e.Walkthrough, []byte(e.Body))
		if err != nil {
			return fmt.Errorf("event %s: %w", e.Key, err)
		}
	}
	return nil
}

// scanner is a row of either kind.
type scanner interface{ Scan(dest ...any) error }

func scanIntent(row scanner) (in flowclient.Intent, err error) {
	var at int64
	var body, outcome []byte
	if err := row.Scan(&in.ID, &in.Key, &in.Kind, &in.Asked, &in.Who, &at, &body, &outcome); err != nil {
		return flowclient.Intent{}, err
	}
	in.At, in.Body, in.Outcome = instant(at), body, outcome
	return in, nil
}
