package store

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"platform.dev/platform/flowclient"
)

const lockColumns = `id, component, sha, environment, reason, who, at, releases`

// SetLock records a lock with its event. The same component, commit and
// environment again, or the same event key again (a request heard twice, also
// after the lock was cleared), changes nothing and returns the first.
func (s *Store) SetLock(ctx context.Context, l flowclient.Lock, e flowclient.Event) (recorded flowclient.Lock, fresh bool, err error) {
	err = s.file.Update(ctx, "set lock", func(tx *sql.Tx) error {
		recorded, err = scanLock(tx.QueryRowContext(ctx, `SELECT `+lockColumns+` FROM locks
			WHERE set_key = ? OR (component = ? AND sha = ? AND environment = ? AND cleared_at IS NULL)
			ORDER BY set_key = ? DESC LIMIT 1`, e.Key, l.Component, l.Commit, l.Environment, e.Key))
		if !errors.Is(err, sql.ErrNoRows) {
			return err
		}
		releases, err := json.Marshal(l.Releases)
		if err != nil {
			return err
		}
		result, err := tx.ExecContext(ctx, `INSERT INTO locks (component, sha, environment, reason, who, at, releases, set_key)
			VALUES (?, ?, ?, ?, ?, ?, ?, ?)`,
			l.Component, l.Commit, l.Environment, l.Reason, l.Who, l.At.UnixNano(), releases, e.Key)
		if err != nil {
			return err
		}
		recorded, fresh = l, true
		recorded.At = l.At.UTC()
		if recorded.ID, err = result.LastInsertId(); err != nil {
			return err
		}
		return insertEvents(ctx, tx, []flowclient.Event{e})
	})
	if err != nil {
		return flowclient.Lock{}, false, fmt.Errorf("lock %s %s: %w", l.Component, l.Commit, err)
	}
	return recorded, fresh, nil
}

// ClearLocks clears the locks of component and commit; environment "" clears
// every entry of the pair. It returns what was cleared. The event made of it
// is recorded when something was; an event key that cleared locks before
// clears nothing more and returns those.
func (s *Store) ClearLocks(ctx context.Context, component, commit, environment, who string, at time.Time, event func([]flowclient.Lock) flowclient.Event) (cleared []flowclient.Lock, err error) {
	err = s.file.Update(ctx, "clear locks", func(tx *sql.Tx) error {
		held, err := queryLocks(ctx, tx, `WHERE component = ? AND sha = ? AND cleared_at IS NULL AND (? = '' OR environment = ?)`,
			component, commit, environment, environment)
		if err != nil {
			return err
		}
		e := event(held)
		if cleared, err = queryLocks(ctx, tx, `WHERE clear_key = ?`, e.Key); err != nil || len(cleared) > 0 {
			return err
		}
		if len(held) == 0 {
			return nil
		}
		for _, l := range held {
			if _, err := tx.ExecContext(ctx, `UPDATE locks SET cleared_at = ?, cleared_by = ?, clear_key = ? WHERE id = ?`,
				at.UnixNano(), who, e.Key, l.ID); err != nil {
				return err
			}
		}
		cleared = held
		return insertEvents(ctx, tx, []flowclient.Event{e})
	})
	if err != nil {
		return nil, fmt.Errorf("unlock %s %s: %w", component, commit, err)
	}
	return cleared, nil
}

// Locks lists the locks that hold, oldest first.
func (s *Store) Locks(ctx context.Context) ([]flowclient.Lock, error) {
	locks, err := queryLocks(ctx, s.file.Reader(), `WHERE cleared_at IS NULL`)
	if err != nil {
		return nil, fmt.Errorf("locks: %w", err)
	}
	return locks, nil
}

// querier is a transaction or a pool.
type querier interface {
	QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error)
}

func queryLocks(ctx context.Context, q querier, where string, args ...any) (locks []flowclient.Lock, err error) {
	rows, err := q.QueryContext(ctx, `SELECT `+lockColumns+` FROM locks `+where+` ORDER BY id`, args...)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	for rows.Next() {
		l, err := scanLock(rows)
		if err != nil {
			return nil, err
		}
		locks = append(locks, l)
	}
	return locks, rows.Err()
}

func scanLock(row scanner) (l flowclient.Lock, err error) {
	var at int64
	var releases []byte
	if err := row.Scan(&l.ID, &l.Component, &l.Commit, &l.Environment, &l.Reason, &l.Who, &at, &releases); err != nil {
		return flowclient.Lock{}, err
	}
	l.At = instant(at)
	return l, json.Unmarshal(releases, &l.Releases)
}
