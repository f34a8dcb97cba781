package store

import (
	"context"
	"database/sql"
	"fmt"
	"time"
)

// Hear records a message under its key; fresh is false when the key was known.
func (s *Store) Hear(ctx context.Context, key string, at time.Time, payload []byte) (fresh bool, err error) {
	err = s.file.Update(ctx, "hear", func(tx *sql.Tx) error {
		fresh, err = inserted(tx.ExecContext(ctx,
			`INSERT INTO heard (key, at, payload) VALUES (?, ?, ?) ON CONFLICT (key) DO NOTHING`, key, at.UnixNano(), payload))
		return err
	})
	if err != nil {
		return false, fmt.Errorf("hear %s: %w", key, err)
	}
	return fresh, nil
}

// Finish closes a heard message with the reaction that tells its outcome. The
// first outcome stays; a message that was never recorded (reads are not) is let be.
func (s *Store) Finish(ctx context.Context, key, outcome string, at time.Time) error {
	err := s.file.Update(ctx, "finish", func(tx *sql.Tx) error { return finishRow(ctx, tx, key, outcome, at) })
	if err != nil {
		return fmt.Errorf("finish %s: %w", key, err)
	}
	return nil
}

// finishRow is Finish within a transaction.
func finishRow(ctx context.Context, tx *sql.Tx, key, outcome string, at time.Time) error {
	_, err := tx.ExecContext(ctx,
		`UPDATE heard SET outcome = ?, finished = ? WHERE key = ? AND finished IS NULL`, outcome, at.UnixNano(), key)
	return err
}

// Unfinished visits heard messages not finished, oldest first. visit may call
// the store; its error ends the visits and is returned.
func (s *Store) Unfinished(ctx context.Context, visit func(key string, at time.Time, payload []byte) error) error {
	type message struct {
		key     string
		at      int64
		payload []byte
	}
	rows, err := s.file.Reader().QueryContext(ctx, `SELECT key, at, payload FROM heard WHERE finished IS NULL ORDER BY seq`)
	if err != nil {
		return fmt.Errorf("unfinished: %w", err)
	}
	defer rows.Close()
	var messages []message
	for rows.Next() {
		var m message
		if err := rows.Scan(&m.key, &m.at, &m.payload); err != nil {
			return fmt.Errorf("unfinished: %w", err)
		}
		messages = append(messages, m)
	}
	if err := rows.Err(); err != nil {
		return fmt.Errorf("unfinished: %w", err)
	}
	for _, m := range messages {
		if err := visit(m.key, instant(m.at), m.payload); err != nil {
			return err
		}
	}
	return nil
}
