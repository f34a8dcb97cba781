package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
)

// Thread is the root of the thread that is a channel's topic, "" when it has none.
func (s *Store) Thread(ctx context.Context, channel, topic string) (root string, err error) {
	return s.thread(ctx, `SELECT root FROM threads WHERE channel = ? AND topic = ?`, channel, topic)
}

// Topic is the name of the thread with the root, "" when it has none.
func (s *Store) Topic(ctx context.Context, channel, root string) (topic string, err error) {
	return s.thread(ctx, `SELECT topic FROM threads WHERE channel = ? AND root = ?`, channel, root)
}

// thread reads one column of one row.
func (s *Store) thread(ctx context.Context, query, channel, name string) (found string, err error) {
	err = s.file.Reader().QueryRowContext(ctx, query, channel, name).Scan(&found)
	if errors.Is(err, sql.ErrNoRows) {
		return "", nil
	}
	if err != nil {
		return "", fmt.Errorf("thread %s of channel %s: %w", name, channel, err)
	}
	return found, nil
}

// SetThread makes a thread a topic and returns the topic's root: the one that
// was set first. A thread that is another topic already is an error.
func (s *Store) SetThread(ctx context.Context, channel, topic, root string) (kept string, err error) {
	err = s.file.Update(ctx, "set thread", func(tx *sql.Tx) error {
		if _, err := tx.ExecContext(ctx, `INSERT INTO threads (channel, topic, root) VALUES (?, ?, ?)
			ON CONFLICT (channel, topic) DO NOTHING`, channel, topic, root); err != nil {
			return err
		}
		return tx.QueryRowContext(ctx, `SELECT root FROM threads WHERE channel = ? AND topic = ?`, channel, topic).Scan(&kept)
	})
	if err != nil {
		return "", fmt.Errorf("thread %s of channel %s: %w", topic, channel, err)
	}
	return kept, nil
}
