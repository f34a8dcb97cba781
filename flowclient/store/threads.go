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

// Roots are the roots of a channel's topics, at most so many, the newest first:
// a root is the timestamp of its message.
func (s *Store) Roots(ctx context.Context, channel string, most int) (roots []string, err error) {
	rows, err := s.file.Reader().QueryContext(ctx, `SELECT root FROM threads WHERE channel = ? ORDER BY root DESC LIMIT ?`, channel, most)
	if err != nil {
		return nil, fmt.Errorf("threads of channel %s: %w", channel, err)
	}
	defer rows.Close()
	for rows.Next() {
		var root string
		if err := rows.Scan(&root); err != nil {
			return nil, fmt.Errorf("threads of channel %s: %w", channel, err)
		}
		roots = append(roots, root)
	}
	if err := rows.Err(); err != nil {
		return nil, fmt.Errorf("threads of channel %s: %w", channel, err)
	}
	return roots, nil
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
