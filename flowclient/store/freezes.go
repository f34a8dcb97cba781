package store

import (
	"context"
	"database/sql"
	"fmt"
	"time"

	"platform.dev/platform/flowclient"
)

// SetFreeze records a freeze under a key, with the event made of it. The same
// key again (a request heard twice, also after the freeze was cleared) changes
// nothing and returns the first.
func (s *Store) SetFreeze(ctx context.Context, key string, f flowclient.Freeze, event func(flowclient.Freeze) flowclient.Event) (recorded flowclient.Freeze, fresh bool, err error) {
	err = s.file.Update(ctx, "set freeze", func(tx *sql.Tx) error {
		var known bool
		if recorded, known, err = oneFreeze(ctx, tx, `WHERE set_key = ?`, key); err != nil || known {
			return err
		}
		result, err := tx.ExecContext(ctx, `INSERT INTO freezes (project, begins, ends, reason, who, at, set_key) VALUES (?, ?, ?, ?, ?, ?, ?)`,
			f.Project, f.From.UnixNano(), f.Until.UnixNano(), f.Reason, f.Who, f.At.UnixNano(), key)
		if err != nil {
			return err
		}
		recorded, fresh = f, true
		recorded.From, recorded.Until, recorded.At = f.From.UTC(), f.Until.UTC(), f.At.UTC()
		if recorded.ID, err = result.LastInsertId(); err != nil {
			return err
		}
		return insertEvents(ctx, tx, []flowclient.Event{event(recorded)})
	})
	if err != nil {
		return flowclient.Freeze{}, false, fmt.Errorf("freeze %s: %w", f.Project, err)
	}
	return recorded, fresh, nil
}

// FreezeSet is the freeze that was recorded under the key, cleared or not; found is false when there is none.
func (s *Store) FreezeSet(ctx context.Context, key string) (f flowclient.Freeze, found bool, err error) {
	f, found, err = oneFreeze(ctx, s.file.Reader(), `WHERE set_key = ?`, key)
	if err != nil {
		return flowclient.Freeze{}, false, fmt.Errorf("freeze set by %s: %w", key, err)
	}
	return f, found, nil
}

// ClearFreeze clears a freeze that ends after at, with the event made of it. A
// key that cleared one before clears nothing more and returns that one. found
// is false when there is nothing to clear.
func (s *Store) ClearFreeze(ctx context.Context, key string, id int64, who string, at time.Time, event func(flowclient.Freeze) flowclient.Event) (cleared flowclient.Freeze, found bool, err error) {
	err = s.file.Update(ctx, "clear freeze", func(tx *sql.Tx) error {
		if cleared, found, err = oneFreeze(ctx, tx, `WHERE clear_key = ?`, key); err != nil || found {
			return err
		}
		if cleared, found, err = oneFreeze(ctx, tx, `WHERE id = ? AND cleared_at IS NULL AND ends > ?`, id, at.UnixNano()); err != nil || !found {
			return err
		}
		if _, err := tx.ExecContext(ctx, `UPDATE freezes SET cleared_at = ?, cleared_by = ?, clear_key = ? WHERE id = ?`,
			at.UnixNano(), who, key, id); err != nil {
			return err
		}
		return insertEvents(ctx, tx, []flowclient.Event{event(cleared)})
	})
	if err != nil {
		return flowclient.Freeze{}, false, fmt.Errorf("clear freeze %d: %w", id, err)
	}
	return cleared, found, nil
}

// Freezes lists those that end after now and were not cleared, by when they begin.
func (s *Store) Freezes(ctx context.Context, now time.Time) ([]flowclient.Freeze, error) {
	freezes, err := queryFreezes(ctx, s.file.Reader(), `WHERE cleared_at IS NULL AND ends > ? ORDER BY begins, id`, now.UnixNano())
	if err != nil {
		return nil, fmt.Errorf("freezes: %w", err)
	}
	return freezes, nil
}

// oneFreeze is the freeze that a condition finds; there is at most one.
func oneFreeze(ctx context.Context, q querier, where string, args ...any) (f flowclient.Freeze, found bool, err error) {
	freezes, err := queryFreezes(ctx, q, where, args...)
	if err != nil || len(freezes) == 0 {
		return flowclient.Freeze{}, false, err
	}
	return freezes[0], true, nil
}

func queryFreezes(ctx context.Context, q querier, which string, args ...any) (freezes []flowclient.Freeze, err error) {
	rows, err := q.QueryContext(ctx, `SELECT id, project, begins, ends, reason, who, at FROM freezes `+which, args...)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	for rows.Next() {
		var f flowclient.Freeze
		var from, until, at int64
		if err := rows.Scan(&f.ID, &f.Project, &from, &until, &f.Reason, &f.Who, &at); err != nil {
			return nil, err
		}
		f.From, f.Until, f.At = instant(from), instant(until), instant(at)
		freezes = append(freezes, f)
	}
	return freezes, rows.Err()
}
