package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"

	"platform.dev/platform/flowclient"
)

// Remember keeps the trace context that a commit was asked for in; the first one stays.
func (s *Store) Remember(ctx context.Context, sha, traceparent string, at time.Time) error {
	known, err := s.Recall(ctx, sha)
	if err != nil || known != "" {
		return err
	}
	err = s.file.Update(ctx, "remember trace", func(tx *sql.Tx) error {
		_, err := tx.ExecContext(ctx, `INSERT INTO traces (sha, traceparent, trace_id, at) VALUES (?, ?, ?, ?) ON CONFLICT (sha) DO NOTHING`,
			sha, traceparent, flowclient.TraceID(traceparent), at.UnixNano())
		return err
	})
	if err != nil {
		return fmt.Errorf("remember the trace of %s: %w", sha, err)
	}
	return nil
}

// Recall is the trace context of a commit, "" when none is known.
func (s *Store) Recall(ctx context.Context, sha string) (traceparent string, err error) {
	err = s.file.Reader().QueryRowContext(ctx, `SELECT traceparent FROM traces WHERE sha = ?`, sha).Scan(&traceparent)
	if errors.Is(err, sql.ErrNoRows) {
		return "", nil
	}
	if err != nil {
		return "", fmt.Errorf("recall the trace of %s: %w", sha, err)
	}
	return traceparent, nil
}

// Traced lists the commits that are remembered with a context of the trace, oldest first.
func (s *Store) Traced(ctx context.Context, traceID string) ([]string, error) {
	return s.texts(ctx, `SELECT sha FROM traces WHERE trace_id = ? ORDER BY seq`, traceID)
}
