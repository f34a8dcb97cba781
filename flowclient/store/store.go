// Package store is the SQL memory of one platform: the controller's journal,
// locks, freezes, sightings and walkthrough runs, the bots' inbox and outbox,
// their questions and decisions, the announcer's cursor, which thread is which
// topic, the ids of hook deliveries, pull requests with their review
// environments, applied manifests and trace contexts, all in the one file
// flow.db, because a commit is atomic within one file only. A method returns
// after its commit.
//
// It knows nothing of what an intent does, of any chat, or of HTTP.
package store

import (
	"context"
	"database/sql"
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"time"

	"platform.dev/platform/flowclient"
	"platform.dev/platform/flowclient/store/sqlite"
)

//go:embed migrations/*.sql
var migrations embed.FS

// Store is an open flow.db. It is safe for concurrent use.
type Store struct {
	file *sqlite.File
}

var (
	_ flowclient.Journal   = (*Store)(nil)
	_ flowclient.LockStore = (*Store)(nil)
	_ flowclient.Sightings = (*Store)(nil)
	_ flowclient.Runs      = (*Store)(nil)

	_ flowclient.PullStore    = (*Store)(nil)
	_ flowclient.AppliedStore = (*Store)(nil)
	_ flowclient.Traces       = (*Store)(nil)
	_ flowclient.History      = (*Store)(nil)
	_ flowclient.FreezeStore  = (*Store)(nil)
)

// Open opens the file at path, creating it where there is none, and migrates
// it. committed is told of every durable write under the file name "flow"; it
// may be nil.
func Open(ctx context.Context, path string, committed sqlite.Committed) (*Store, error) {
	sub, err := fs.Sub(migrations, "migrations")
	if err != nil {
		return nil, fmt.Errorf("migrations: %w", err)
	}
	file, err := sqlite.Open(ctx, "flow", path, sub, committed)
	if err != nil {
		return nil, err
	}
	return &Store{file: file}, nil
}

// Close closes the file after the writes under way.
func (s *Store) Close() error { return s.file.Close() }

// deliveriesKept is how long a delivery is remembered. No git server repeats one later by itself.
const deliveriesKept = 30 * 24 * time.Hour

// forgetEvery is how many deliveries are recorded between two times that old ones are removed.
const forgetEvery = 64

// Record remembers a hook delivery by its id and the kind of hook it came to;
// fresh is false when that pair was recorded within the last thirty days.
func (s *Store) Record(ctx context.Context, id, kind string, at time.Time) (fresh bool, err error) {
	oldest := at.Add(-deliveriesKept).UnixNano()
	err = s.file.Update(ctx, "record delivery", func(tx *sql.Tx) error {
		result, err := tx.ExecContext(ctx, `INSERT INTO deliveries (kind, id, at) VALUES (?, ?, ?)
			ON CONFLICT (kind, id) DO UPDATE SET at = excluded.at WHERE deliveries.at < ?`, kind, id, at.UnixNano(), oldest)
		if fresh, err = inserted(result, err); err != nil || !fresh {
			return err
		}
		if row, err := result.LastInsertId(); err != nil || row%forgetEvery != 0 {
			return err
		}
		_, err = tx.ExecContext(ctx, `DELETE FROM deliveries WHERE at < ?`, oldest)
		return err
	})
	if err != nil {
		return false, fmt.Errorf("record delivery %s: %w", id, err)
	}
	return fresh, nil
}

// Cursor is the value kept under the name, "" when none was.
func (s *Store) Cursor(ctx context.Context, name string) (value string, err error) {
	err = s.file.Reader().QueryRowContext(ctx, `SELECT value FROM cursors WHERE name = ?`, name).Scan(&value)
	if errors.Is(err, sql.ErrNoRows) {
		return "", nil
	}
	if err != nil {
		return "", fmt.Errorf("cursor %s: %w", name, err)
	}
	return value, nil
}

// SetCursor keeps value under the name.
func (s *Store) SetCursor(ctx context.Context, name, value string) error {
	err := s.file.Update(ctx, "set cursor", func(tx *sql.Tx) error {
		_, err := tx.ExecContext(ctx,
			`INSERT INTO cursors (name, value) VALUES (?, ?) ON CONFLICT (name) DO UPDATE SET value = excluded.value`, name, value)
		return err
	})
	if err != nil {
		return fmt.Errorf("set cursor %s: %w", name, err)
	}
	return nil
}

// inserted tells whether a statement changed a row.
func inserted(r sql.Result, err error) (bool, error) {
	if err != nil {
		return false, err
	}
	n, err := r.RowsAffected()
	return n > 0, err
}

// instant is a stored instant.
func instant(nanos int64) time.Time { return time.Unix(0, nanos).UTC() }

// instantOf is a stored instant that may be absent.
func instantOf(n sql.NullInt64) *time.Time {
	if !n.Valid {
		return nil
	}
	at := instant(n.Int64)
	return &at
}

// nanosOf stores an instant that may be absent.
func nanosOf(t *time.Time) sql.NullInt64 {
	if t == nil {
		return sql.NullInt64{}
	}
	return sql.NullInt64{Int64: t.UnixNano(), Valid: true}
}
