package store

import (
	"context"
	"database/sql"
	"fmt"
	"time"
)

// questionsKept is how long a question is kept after it could be answered.
const questionsKept = 30 * 24 * time.Hour

// Ask records a question of a bot under an id; one that is known stays as it is.
func (s *Store) Ask(ctx context.Context, id, bot string, payload []byte, until time.Time) error {
	err := s.file.Update(ctx, "ask", func(tx *sql.Tx) error {
		_, err := tx.ExecContext(ctx, `DELETE FROM questions WHERE bot = ? AND until < ?`, bot, until.Add(-questionsKept).UnixNano())
		if err == nil {
			_, err = tx.ExecContext(ctx, `INSERT INTO questions (id, bot, payload, until) VALUES (?, ?, ?, ?) ON CONFLICT (id) DO NOTHING`,
				id, bot, payload, until.UnixNano())
		}
		return err
	})
	if err != nil {
		return fmt.Errorf("ask %s: %w", id, err)
	}
	return nil
}

// Asked visits a bot's questions that may be answered until since or later,
// oldest first: message is what shows it in the chat, by who settled it, outcome
// how; each empty before. visit may call the store; its error ends the visits and is returned.
func (s *Store) Asked(ctx context.Context, bot string, since time.Time, visit func(id string, payload []byte, message, by, outcome string) error) error {
	type question struct {
		id, message, by, outcome string
		payload                  []byte
	}
	rows, err := s.file.Reader().QueryContext(ctx,
		`SELECT id, payload, message, by, outcome FROM questions WHERE bot = ? AND until >= ? ORDER BY seq`, bot, since.UnixNano())
	if err != nil {
		return fmt.Errorf("asked by %s: %w", bot, err)
	}
	defer rows.Close()
	var all []question
	for rows.Next() {
		var q question
		if err := rows.Scan(&q.id, &q.payload, &q.message, &q.by, &q.outcome); err != nil {
			return fmt.Errorf("asked by %s: %w", bot, err)
		}
		all = append(all, q)
	}
	if err := rows.Err(); err != nil {
		return fmt.Errorf("asked by %s: %w", bot, err)
	}
	for _, q := range all {
		if err := visit(q.id, q.payload, q.message, q.by, q.outcome); err != nil {
			return err
		}
	}
	return nil
}

// Shown records the chat's id of the message that shows a question; an unknown id is let be.
func (s *Store) Shown(ctx context.Context, id, message string) error {
	err := s.file.Update(ctx, "shown", func(tx *sql.Tx) error {
		_, err := tx.ExecContext(ctx, `UPDATE questions SET message = ? WHERE id = ?`, message, id)
		return err
	})
	if err != nil {
		return fmt.Errorf("shown %s: %w", id, err)
	}
	return nil
}

// Conclude records how a question was settled, on behalf of by. ok tells that it
// stands so now: false when it was settled before, by another or otherwise.
func (s *Store) Conclude(ctx context.Context, id, by, outcome string, at time.Time) (ok bool, err error) {
	err = s.file.Update(ctx, "conclude", func(tx *sql.Tx) error {
		ok, err = inserted(tx.ExecContext(ctx, `UPDATE questions SET by = ?1, outcome = ?2, settled = coalesce(settled, ?3)
			WHERE id = ?4 AND (settled IS NULL OR (by = ?1 AND outcome = ?2))`, by, outcome, at.UnixNano(), id))
		return err
	})
	if err != nil {
		return false, fmt.Errorf("conclude %s: %w", id, err)
	}
	return ok, nil
}
