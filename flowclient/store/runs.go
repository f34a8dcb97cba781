package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"

	"platform.dev/platform/flowclient"
)

const runColumns = `id, key, template, project, topic, who, step, started, ended, result, message, state`

// BeginRun records a walkthrough; when another is under way it returns that
// one and fresh false. The same key returns its run and fresh true. The store
// gives the id, the project "<template>-<id>" and, where none is given, the
// project's name as topic.
func (s *Store) BeginRun(ctx context.Context, w flowclient.Walkthrough) (recorded flowclient.Walkthrough, fresh bool, err error) {
	err = s.file.Update(ctx, "begin run", func(tx *sql.Tx) error {
		recorded, err = scanRun(tx.QueryRowContext(ctx, `SELECT `+runColumns+` FROM runs
			WHERE key = ? OR ended IS NULL ORDER BY key = ? DESC LIMIT 1`, w.Key, w.Key))
		if !errors.Is(err, sql.ErrNoRows) {
			fresh = recorded.Key == w.Key
			return err
		}
		recorded, err = scanRun(tx.QueryRowContext(ctx, `INSERT INTO runs (key, template, project, topic, who, step, started, result, message, state)
			SELECT ?1, ?2, ?2 || '-' || n, CASE WHEN ?3 = '' THEN ?2 || '-' || n ELSE ?3 END, ?4, ?5, ?6, '', '', ?7
			FROM (SELECT coalesce((SELECT seq FROM sqlite_sequence WHERE name = 'runs'), 0) + 1 AS n)
			RETURNING `+runColumns, w.Key, w.Template, w.Topic, w.Who, w.Step, w.Started.UnixNano(), w.State))
		fresh = true
		return err
	})
	if err != nil {
		return flowclient.Walkthrough{}, false, fmt.Errorf("begin walkthrough %s: %w", w.Key, err)
	}
	return recorded, fresh, nil
}

// UpdateRun records a run's topic, step, message and state, and its end when
// w.Ended is set. A run that has ended does not change any more; an unknown
// one is *NotFound.
func (s *Store) UpdateRun(ctx context.Context, w flowclient.Walkthrough) error {
	err := s.file.Update(ctx, "update run", func(tx *sql.Tx) error {
		known, err := inserted(tx.ExecContext(ctx, `UPDATE runs SET topic = ?, step = ?, result = ?, message = ?, state = ?, ended = ?
			WHERE id = ? AND ended IS NULL`, w.Topic, w.Step, w.Result, w.Message, w.State, nanosOf(w.Ended), w.ID))
		if err != nil || known {
			return err
		}
		err = tx.QueryRowContext(ctx, `SELECT id FROM runs WHERE id = ?`, w.ID).Scan(&w.ID)
		if errors.Is(err, sql.ErrNoRows) {
			return &flowclient.NotFound{Kind: "walkthrough", Name: fmt.Sprint(w.ID)}
		}
		return err
	})
	if err != nil {
		return fmt.Errorf("update walkthrough %d: %w", w.ID, err)
	}
	return nil
}

// LastRuns lists runs, newest first, at most limit.
func (s *Store) LastRuns(ctx context.Context, limit int) (runs []flowclient.Walkthrough, err error) {
	rows, err := s.file.Reader().QueryContext(ctx, `SELECT `+runColumns+` FROM runs ORDER BY id DESC LIMIT ?`, limit)
	if err != nil {
		return nil, fmt.Errorf("walkthroughs: %w", err)
	}
	defer rows.Close()
	for rows.Next() {
		w, err := scanRun(rows)
		if err != nil {
			return nil, fmt.Errorf("walkthroughs: %w", err)
		}
		runs = append(runs, w)
	}
	return runs, rows.Err()
}

func scanRun(row scanner) (w flowclient.Walkthrough, err error) {
	var started int64
	var ended sql.NullInt64
	if err := row.Scan(&w.ID, &w.Key, &w.Template, &w.Project, &w.Topic, &w.Who, &w.Step, &started, &ended,
		&w.Result, &w.Message, &w.State); err != nil {
		return flowclient.Walkthrough{}, err
	}
	w.Started, w.Ended = instant(started), instantOf(ended)
	return w, nil
}
