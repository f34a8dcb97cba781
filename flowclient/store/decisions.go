package store

import (
	"context"
	"database/sql"
	"fmt"
	"strings"
	"time"
)

// mostDecisions bounds what is read at a time.
const mostDecisions = 500

// Decision is what a bot decided about what somebody asked for, as it was recorded.
type Decision struct {
	Seq  int64     // increases with every decision
	Key  string    // of the message that asked, and the kind
	Kind string    // "allowed", "denied", "confirmed"
	At   time.Time // UTC
	Body []byte    // JSON, the bots' own
}

// DecisionQuery narrows what is read; empty fields narrow nothing.
type DecisionQuery struct {
	Kind   string
	Who    string // the persona, exactly
	Before int64  // only decisions with a smaller Seq: the last of the page before
	Limit  int    // 1 to 500; 0 is 100
}

// Decided records a decision; the same key again changes nothing. body is JSON,
// whose field persona is who is decided about.
func (s *Store) Decided(ctx context.Context, key, kind string, at time.Time, body []byte) error {
	err := s.file.Update(ctx, "decided", func(tx *sql.Tx) error {
		_, err := tx.ExecContext(ctx, `INSERT INTO decisions (key, kind, at, body) VALUES (?, ?, ?, ?) ON CONFLICT (key) DO NOTHING`, key, kind, at.UnixNano(), body)
		return err
	})
	if err != nil {
		return fmt.Errorf("decided %s: %w", key, err)
	}
	return nil
}

// Decisions lists what was decided, newest first.
func (s *Store) Decisions(ctx context.Context, q DecisionQuery) ([]Decision, error) {
	var where []string
	var args []any
	for _, narrowed := range []struct {
		by    string
		given bool
		value any
	}{{"kind = ?", q.Kind != "", q.Kind}, {"who = ?", q.Who != "", q.Who}, {"seq < ?", q.Before > 0, q.Before}} {
		if narrowed.given {
			where, args = append(where, narrowed.by), append(args, narrowed.value)
		}
	}
	if q.Limit <= 0 {
		q.Limit = 100
	}
	text := `SELECT seq, key, kind, at, body FROM decisions`
	if len(where) > 0 {
		text += ` WHERE ` + strings.Join(where, " AND ")
	}
	rows, err := s.file.Reader().QueryContext(ctx, text+` ORDER BY seq DESC LIMIT ?`, append(args, min(q.Limit, mostDecisions))...)
	if err != nil {
		return nil, fmt.Errorf("decisions: %w", err)
	}
	defer rows.Close()
	var all []Decision
	for rows.Next() {
		var d Decision
		var at int64
		if err := rows.Scan(&d.Seq, &d.Key, &d.Kind, &at, &d.Body); err != nil {
			return nil, fmt.Errorf("decisions: %w", err)
		}
		d.At = instant(at)
		all = append(all, d)
	}
	return all, rows.Err()
}
