package store

import (
	"context"
	"database/sql"
	"fmt"
	"time"

	"platform.dev/platform/flowclient"
)

// Put records a message under key, or, when the key is known and the payload
// differs, a new revision of it. A revision keeps its row's place in the order
// and the instant the row was put off until; the bot and place stay the first
// ones. A row that was dropped is owed again with its next revision: what the
// chat refused was the words before it, and the answer must not go with them.
func (s *Store) Put(ctx context.Context, key, bot string, place, payload []byte, at time.Time) error {
	err := s.file.Update(ctx, "put", func(tx *sql.Tx) error {
		_, err := tx.ExecContext(ctx, `INSERT INTO outbox (key, bot, place, payload, put, rev, delivered, sent_id, due, why)
			VALUES (?1, ?2, ?3, ?4, ?5, 1, 0, '', ?5, '')
			ON CONFLICT (key) DO UPDATE SET payload = excluded.payload, rev = rev + 1, due = max(due, excluded.due),
				tried = CASE WHEN dropped IS NULL THEN tried END, dropped = NULL
			WHERE payload <> excluded.payload`, key, bot, place, payload, at.UnixNano())
		return err
	})
	if err != nil {
		return fmt.Errorf("put %s: %w", key, err)
	}
	return nil
}

// Owed visits a bot's rows whose latest revision was not delivered and which
// are due at now, in id order. A row waits for the earlier rows of its place
// that were put off before they were ever delivered, so that messages of one
// place leave in order; a revision of a delivered message, which changes it in
// place, holds nothing back. tried is the first attempt at what is owed, zero
// before it. visit may call the store; its error ends the visits and is returned.
func (s *Store) Owed(ctx context.Context, bot string, now time.Time, visit func(id int64, key string, place, payload []byte, rev int64, sentID string, tried time.Time) error) error {
	type row struct {
		id, rev        int64
		key, sentID    string
		place, payload []byte
		tried          sql.NullInt64
	}
	rows, err := s.file.Reader().QueryContext(ctx, `SELECT id, key, place, payload, rev, sent_id, tried FROM outbox AS o
		WHERE bot = ?1 AND owed = 1 AND due <= ?2 AND NOT EXISTS (
			SELECT 1 FROM outbox AS e
			WHERE e.bot = ?1 AND e.owed = 1 AND e.id < o.id AND e.place = o.place AND e.due > ?2 AND e.delivered = 0 AND o.delivered = 0)
		ORDER BY id`, bot, now.UnixNano())
	if err != nil {
		return fmt.Errorf("owed by %s: %w", bot, err)
	}
	defer rows.Close()
	var owed []row
	for rows.Next() {
		var r row
		if err := rows.Scan(&r.id, &r.key, &r.place, &r.payload, &r.rev, &r.sentID, &r.tried); err != nil {
			return fmt.Errorf("owed by %s: %w", bot, err)
		}
		owed = append(owed, r)
	}
	if err := rows.Err(); err != nil {
		return fmt.Errorf("owed by %s: %w", bot, err)
	}
	for _, r := range owed {
		var tried time.Time
		if at := instantOf(r.tried); at != nil {
			tried = *at
		}
		if err := visit(r.id, r.key, r.place, r.payload, r.rev, r.sentID, tried); err != nil {
			return err
		}
	}
	return nil
}

// Try records that an attempt to deliver begins. The first attempt's instant
// is kept until a delivery is recorded: a message whose answer was lost is
// looked for since then.
func (s *Store) Try(ctx context.Context, id int64, at time.Time) error {
	return s.change(ctx, "try", id, `tried = coalesce(tried, ?)`, at.UnixNano())
}

// Sent records that revision rev was delivered as the chat's message sentID.
func (s *Store) Sent(ctx context.Context, id, rev int64, sentID string, at time.Time) error {
	return s.change(ctx, "sent", id, `delivered = max(delivered, ?), sent_id = ?, sent = ?, tried = NULL, why = ''`, rev, sentID, at.UnixNano())
}

// Later puts a row off until the instant, keeping why.
func (s *Store) Later(ctx context.Context, id int64, until time.Time, why string) error {
	return s.change(ctx, "later", id, `due = ?, why = ?`, until.UnixNano(), why)
}

// Drop gives a row up for good, keeping why.
func (s *Store) Drop(ctx context.Context, id int64, why string, at time.Time) error {
	return s.change(ctx, "drop", id, `dropped = ?, why = ?`, at.UnixNano(), why)
}

// change sets columns of one outbox row; an unknown id is *NotFound.
func (s *Store) change(ctx context.Context, op string, id int64, set string, args ...any) error {
	err := s.file.Update(ctx, op, func(tx *sql.Tx) error {
		known, err := inserted(tx.ExecContext(ctx, `UPDATE outbox SET `+set+` WHERE id = ?`, append(args, id)...))
		if err == nil && !known {
			return &flowclient.NotFound{Kind: "message", Name: fmt.Sprint(id)}
		}
		return err
	})
	if err != nil {
		return fmt.Errorf("%s message %d: %w", op, id, err)
	}
	return nil
}
