package store

import (
	"context"
	"database/sql"
	"errors"
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
	err := s.file.Update(ctx, "put", func(tx *sql.Tx) error { return putRow(ctx, tx, key, bot, place, payload, at) })
	if err != nil {
		return fmt.Errorf("put %s: %w", key, err)
	}
	return nil
}

// putRow is Put within a transaction.
func putRow(ctx context.Context, tx *sql.Tx, key, bot string, place, payload []byte, at time.Time) error {
	_, err := tx.ExecContext(ctx, `INSERT INTO outbox (key, bot, place, payload, put, rev, delivered, sent_id, due, why)
		VALUES (?1, ?2, ?3, ?4, ?5, 1, 0, '', ?5, '')
		ON CONFLICT (key) DO UPDATE SET payload = excluded.payload, rev = rev + 1, due = max(due, excluded.due),
			tried = CASE WHEN dropped IS NULL THEN tried END, dropped = NULL
		WHERE payload <> excluded.payload`, key, bot, place, payload, at.UnixNano())
	return err
}

// Offer is Put of a message that is new, and Try at once, unless something that
// was never delivered is owed to its place by its bot and so leaves before it:
// opened is then false, as it is under a key that is known.
func (s *Store) Offer(ctx context.Context, key, bot string, place, payload []byte, at time.Time) (id int64, opened bool, err error) {
	err = s.file.Update(ctx, "offer", func(tx *sql.Tx) error {
		result, err := tx.ExecContext(ctx, `INSERT INTO outbox (key, bot, place, payload, put, rev, delivered, sent_id, due, why)
			VALUES (?1, ?2, ?3, ?4, ?5, 1, 0, '', ?5, '') ON CONFLICT (key) DO NOTHING`, key, bot, place, payload, at.UnixNano())
		fresh, err := inserted(result, err)
		if err != nil {
			return err
		}
		if !fresh {
			return putRow(ctx, tx, key, bot, place, payload, at)
		}
		if id, err = result.LastInsertId(); err != nil {
			return err
		}
		opened, err = inserted(tx.ExecContext(ctx, `UPDATE outbox SET tried = ?1 WHERE id = ?2 AND NOT EXISTS (
			SELECT 1 FROM outbox WHERE bot = ?3 AND owed = 1 AND place = ?4 AND id < ?2 AND delivered = 0)`, at.UnixNano(), id, bot, place))
		return err
	})
	if err != nil {
		return 0, false, fmt.Errorf("offer %s: %w", key, err)
	}
	return id, opened, nil
}

// Try records that an attempt to deliver begins. The first attempt's instant
// is kept until a delivery is recorded: a message whose answer was lost is
// looked for since then.
func (s *Store) Try(ctx context.Context, id int64, at time.Time) error {
	return s.change(ctx, "try", id, `tried = coalesce(tried, ?)`, at.UnixNano())
}

// Sent records that revision rev was delivered as the chat's message sentID.
func (s *Store) Sent(ctx context.Context, id, rev int64, sentID string, at time.Time) error {
	err := s.file.Update(ctx, "sent", func(tx *sql.Tx) error { return sentRow(ctx, tx, id, rev, sentID, at) })
	if err != nil {
		return fmt.Errorf("sent message %d: %w", id, err)
	}
	return nil
}

// sentRow is Sent within a transaction.
func sentRow(ctx context.Context, tx *sql.Tx, id, rev int64, sentID string, at time.Time) error {
	return changeRow(ctx, tx, id, `delivered = max(delivered, ?), sent_id = ?, sent = ?, tried = NULL, why = ''`, rev, sentID, at.UnixNano())
}

// Answered records, in one transaction, that revision rev of an answer was
// delivered as the chat's message sentID, and the outcome of the heard message
// that it answers.
func (s *Store) Answered(ctx context.Context, id, rev int64, sentID, heard, outcome string, at time.Time) error {
	err := s.file.Update(ctx, "answered", func(tx *sql.Tx) error {
		return errors.Join(sentRow(ctx, tx, id, rev, sentID, at), finishRow(ctx, tx, heard, outcome, at))
	})
	if err != nil {
		return fmt.Errorf("answered %s with message %d: %w", heard, id, err)
	}
	return nil
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
	err := s.file.Update(ctx, op, func(tx *sql.Tx) error { return changeRow(ctx, tx, id, set, args...) })
	if err != nil {
		return fmt.Errorf("%s message %d: %w", op, id, err)
	}
	return nil
}

// changeRow is change within a transaction.
func changeRow(ctx context.Context, tx *sql.Tx, id int64, set string, args ...any) error {
	known, err := inserted(tx.ExecContext(ctx, `UPDATE outbox SET `+set+` WHERE id = ?`, append(args, id)...))
	if err == nil && !known {
		return &flowclient.NotFound{Kind: "message", Name: fmt.Sprint(id)}
	}
	return err
}
