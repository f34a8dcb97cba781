package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"

	"platform.dev/platform/flowclient"
)

var _ flowclient.Standings = (*Store)(nil)

// Holds lists the holds, by component.
func (s *Store) Holds(ctx context.Context) (holds []flowclient.Hold, err error) {
	rows, err := s.file.Reader().QueryContext(ctx, `SELECT component, project, release, who, at FROM holds ORDER BY component`)
	if err != nil {
		return nil, fmt.Errorf("holds: %w", err)
	}
	defer rows.Close()
	for rows.Next() {
		var h flowclient.Hold
		var at int64
		if err := rows.Scan(&h.Component, &h.Project, &h.Release, &h.Who, &at); err != nil {
			return nil, fmt.Errorf("holds: %w", err)
		}
		h.At = instant(at)
		holds = append(holds, h)
	}
	return holds, rows.Err()
}

// LiftHold removes a component's hold for the release, if it has that one.
func (s *Store) LiftHold(ctx context.Context, component, release string) error {
	err := s.file.Update(ctx, "lift hold", func(tx *sql.Tx) error {
		_, err := tx.ExecContext(ctx, `DELETE FROM holds WHERE component = ? AND release = ?`, component, release)
		return err
	})
	if err != nil {
		return fmt.Errorf("lift the hold of %s: %w", component, err)
	}
	return nil
}

// changeHolds lifts holds and ends backoffs, and records other holds, in the transaction of what caused it.
func changeHolds(ctx context.Context, tx *sql.Tx, hold []flowclient.Hold, lift []string) error {
	for _, component := range lift {
		if _, err := tx.ExecContext(ctx, `DELETE FROM holds WHERE component = ?`, component); err != nil {
			return fmt.Errorf("lift the hold of %s: %w", component, err)
		}
		if _, err := tx.ExecContext(ctx, `DELETE FROM backoffs WHERE component = ?`, component); err != nil {
			return fmt.Errorf("end the backoff of %s: %w", component, err)
		}
	}
	for _, h := range hold {
		if _, err := tx.ExecContext(ctx, `INSERT OR REPLACE INTO holds (component, project, release, who, at) VALUES (?, ?, ?, ?, ?)`,
			h.Component, h.Project, h.Release, h.Who, h.At.UnixNano()); err != nil {
			return fmt.Errorf("hold %s: %w", h.Component, err)
		}
	}
	return nil
}

// Backoffs lists the backoffs that end after now, by component.
func (s *Store) Backoffs(ctx context.Context, now time.Time) (backoffs []flowclient.Backoff, err error) {
	rows, err := s.file.Reader().QueryContext(ctx, `SELECT component, until FROM backoffs WHERE until > ? ORDER BY component`, now.UnixNano())
	if err != nil {
		return nil, fmt.Errorf("backoffs: %w", err)
	}
	defer rows.Close()
	for rows.Next() {
		var b flowclient.Backoff
		var until int64
		if err := rows.Scan(&b.Component, &until); err != nil {
			return nil, fmt.Errorf("backoffs: %w", err)
		}
		b.Until = instant(until)
		backoffs = append(backoffs, b)
	}
	return backoffs, rows.Err()
}

// Stand makes the episodes those that last in a project, and records the
// backoffs, in one transaction; see flowclient.Standings.
func (s *Store) Stand(ctx context.Context, project string, episodes []flowclient.Episode, backoffs []flowclient.Backoff, at time.Time, ended ...flowclient.Event) (last []flowclient.Episode, err error) {
	err = s.file.Update(ctx, "stand", func(tx *sql.Tx) error {
		last = nil
		known, err := episodesOf(ctx, tx, project)
		if err != nil {
			return err
		}
		if _, err := tx.ExecContext(ctx, `DELETE FROM episodes WHERE project = ?`, project); err != nil {
			return err
		}
		if err := insertEvents(ctx, tx, ended); err != nil {
			return err
		}
		for _, e := range episodes {
			if e.Since = known.since(e); e.Since.IsZero() {
				if e.Since = at.UTC(); e.Event != nil {
					err = insertEvents(ctx, tx, []flowclient.Event{*e.Event})
				}
			}
			if err != nil {
				return err
			}
			if _, err = tx.ExecContext(ctx, `INSERT INTO episodes (project, subject, cause, fingerprint, since) VALUES (?, ?, ?, ?, ?)`,
				project, e.Subject, e.Cause, e.Fingerprint, e.Since.UnixNano()); err != nil {
				return err
			}
			e.Project, e.Event = project, nil
			last = append(last, e)
		}
		for _, b := range backoffs {
			if _, err := tx.ExecContext(ctx, `INSERT OR REPLACE INTO backoffs (component, until) VALUES (?, ?)`, b.Component, b.Until.UnixNano()); err != nil {
				return err
			}
		}
		_, err = tx.ExecContext(ctx, `DELETE FROM backoffs WHERE until <= ?`, at.UnixNano())
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("stand of %s: %w", project, err)
	}
	return last, nil
}

// Episodes lists those that last, of one project or ("") of all, by project and subject.
func (s *Store) Episodes(ctx context.Context, project string) ([]flowclient.Episode, error) {
	last, err := episodesOf(ctx, s.file.Reader(), project)
	if err != nil {
		return nil, fmt.Errorf("episodes: %w", err)
	}
	return last, nil
}

type lasting []flowclient.Episode

// since is since when an episode lasts, zero when it is new.
func (l lasting) since(e flowclient.Episode) time.Time {
	for _, k := range l {
		if k.Subject == e.Subject && k.Cause == e.Cause && k.Fingerprint == e.Fingerprint {
			return k.Since
		}
	}
	return time.Time{}
}

func episodesOf(ctx context.Context, q querier, project string) (last lasting, err error) {
	rows, err := q.QueryContext(ctx, `SELECT project, subject, cause, fingerprint, since FROM episodes
		WHERE ? = '' OR project = ? ORDER BY project, subject, cause`, project, project)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, rows.Close()) }()
	for rows.Next() {
		var e flowclient.Episode
		var since int64
		if err := rows.Scan(&e.Project, &e.Subject, &e.Cause, &e.Fingerprint, &since); err != nil {
			return nil, err
		}
		e.Since = instant(since)
		last = append(last, e)
	}
	return last, rows.Err()
}
