package store

import (
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"time"

	"platform.dev/platform/flowclient"
)

// MarkPull records that a pull request has to be looked at; touched, unless
// zero, is activity on it, of which the newest is kept.
func (s *Store) MarkPull(ctx context.Context, repo string, number int, touched time.Time) error {
	at := sql.NullInt64{}
	if !touched.IsZero() {
		at = nanosOf(&touched)
	}
	err := s.file.Update(ctx, "mark pull", func(tx *sql.Tx) error {
		_, err := tx.ExecContext(ctx, `INSERT INTO pulls (repo, number, marks, touched, body) VALUES (?, ?, 1, ?, CAST('{}' AS BLOB))
			ON CONFLICT (repo, number) DO UPDATE SET marks = marks + 1,
				touched = CASE WHEN coalesce(excluded.touched, 0) > coalesce(touched, 0) THEN excluded.touched ELSE touched END`,
			repo, number, at)
		return err
	})
	if err != nil {
		return fmt.Errorf("mark %s#%d: %w", repo, number, err)
	}
	return nil
}

// BusyPulls lists the records that something may follow from, in the order in which they were made.
func (s *Store) BusyPulls(ctx context.Context) (records []flowclient.PullRecord, err error) {
	rows, err := s.file.Reader().QueryContext(ctx, `SELECT id, repo, number, marks, seen, touched, body FROM pulls WHERE due ORDER BY id`)
	if err != nil {
		return nil, fmt.Errorf("pull requests: %w", err)
	}
	defer rows.Close()
	for rows.Next() {
		var r flowclient.PullRecord
		var touched sql.NullInt64
		var body []byte
		var id, marks, seen int64
		var number int
		var repo string
		if err := rows.Scan(&id, &repo, &number, &marks, &seen, &touched, &body); err != nil {
			return nil, fmt.Errorf("pull requests: %w", err)
		}
		if err := json.Unmarshal(body, &r); err != nil {
			return nil, fmt.Errorf("pull request %s#%d: %w", repo, number, err)
		}
		r.ID, r.Repo, r.Number, r.Marks, r.Seen = id, repo, number, marks, seen
		if at := instantOf(touched); at != nil {
			r.Touched = *at
		}
		records = append(records, r)
	}
	return records, rows.Err()
}

// PullRepositories lists the repositories that records are of, by name.
func (s *Store) PullRepositories(ctx context.Context) (repositories []string, err error) {
	return s.texts(ctx, `SELECT DISTINCT repo FROM pulls ORDER BY repo`)
}

// PutPull stores what a look came to, with its events in one transaction; a
// record that was forgotten is *NotFound.
func (s *Store) PutPull(ctx context.Context, r flowclient.PullRecord, events ...flowclient.Event) error {
	body, err := json.Marshal(r)
	if err != nil {
		return fmt.Errorf("put %s#%d: %w", r.Repo, r.Number, err)
	}
	err = s.file.Update(ctx, "put pull", func(tx *sql.Tx) error {
		known, err := inserted(tx.ExecContext(ctx, `UPDATE pulls SET seen = ?, busy = ?, body = ? WHERE id = ?`, r.Seen, r.Busy(), body, r.ID))
		if err == nil && !known {
			err = &flowclient.NotFound{Kind: "pull request", Name: fmt.Sprintf("%s#%d", r.Repo, r.Number)}
		}
		if err != nil {
			return err
		}
		return insertEvents(ctx, tx, events)
	})
	if err != nil {
		return fmt.Errorf("put %s#%d: %w", r.Repo, r.Number, err)
	}
	return nil
}

// ForgetPulls removes the records of a repository.
func (s *Store) ForgetPulls(ctx context.Context, repo string) error {
	err := s.file.Update(ctx, "forget pulls", func(tx *sql.Tx) error {
		_, err := tx.ExecContext(ctx, `DELETE FROM pulls WHERE repo = ?`, repo)
		return err
	})
	if err != nil {
		return fmt.Errorf("forget the pull requests of %s: %w", repo, err)
	}
	return nil
}

// texts is a query of one column of text.
func (s *Store) texts(ctx context.Context, query string, args ...any) (texts []string, err error) {
	rows, err := s.file.Reader().QueryContext(ctx, query, args...)
	if err != nil {
		return nil, fmt.Errorf("query: %w", err)
	}
	defer rows.Close()
	for rows.Next() {
		var text string
		if err := rows.Scan(&text); err != nil {
			return nil, fmt.Errorf("query: %w", err)
		}
		texts = append(texts, text)
	}
	return texts, rows.Err()
}
