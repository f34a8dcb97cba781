package observer

import (
	"context"
	"database/sql"
	"fmt"
	"time"
)

// Dropped is what was not kept: by retention, or because it came too fast.
type Dropped struct {
	Spans, Lines       int64     // since the file was made
	SpansTo, LinesUpTo time.Time // of the newest one dropped; zero when there is none
}

// Dropped tells how much was dropped, and up to when answers may lack something.
func (s *Server) Dropped(ctx context.Context) (Dropped, error) {
	rows, err := s.file.Reader().QueryContext(ctx, `SELECT what, count, upto FROM dropped`)
	if err != nil {
		return Dropped{}, fmt.Errorf("read what was dropped: %w", err)
	}
	defer rows.Close()
	var d Dropped
	for rows.Next() {
		var what string
		var n, upto int64
		if err := rows.Scan(&what, &n, &upto); err != nil {
			return Dropped{}, fmt.Errorf("read what was dropped: %w", err)
		}
		switch what {
		case "spans":
			d.Spans, d.SpansTo = n, time.Unix(0, upto).UTC()
		case "lines":
			d.Lines, d.LinesUpTo = n, time.Unix(0, upto).UTC()
		}
	}
	return d, rows.Err()
}

// kept is a table that is bounded.
type kept struct {
	what, table, at string // at: the column of the time
	limit           int
}

// Sweep drops what is older than the limits allow, then the oldest beyond the
// limits of rows, and records how much. Run calls it.
func (s *Server) Sweep(ctx context.Context) error {
	s.written.Store(0)
	oldest := s.cfg.Now().Add(-s.cfg.Limits.Age).UnixNano()
	return s.file.Update(ctx, "sweep", func(tx *sql.Tx) error {
		for _, k := range []kept{
			{"spans", "span", "started", s.cfg.Limits.Spans},
			{"lines", "line", "at", s.cfg.Limits.Lines},
		} {
			n, upto, err := k.sweep(ctx, tx, oldest)
			if err != nil {
				return fmt.Errorf("sweep %s: %w", k.what, err)
			}
			if n == 0 {
				continue
			}
			if err := count(ctx, tx, k.what, n, upto); err != nil {
				return err
			}
			s.cfg.Log.InfoContext(ctx, "telemetry dropped, the oldest first", "what", k.what, "count", n, "upto", time.Unix(0, upto).UTC())
		}
		_, err := tx.ExecContext(ctx, `DELETE FROM stream WHERE NOT EXISTS (SELECT 1 FROM line WHERE line.stream = stream.id)`)
		if err != nil {
			return fmt.Errorf("sweep streams: %w", err)
		}
		return nil
	})
}

// sweep deletes rows of one table and tells how many, and the time of the newest of them.
func (k kept) sweep(ctx context.Context, tx *sql.Tx, oldest int64) (n int, upto int64, err error) {
	var old, all int
	if err := tx.QueryRowContext(ctx, `SELECT count(*), coalesce(sum(`+k.at+` < ?), 0) FROM `+k.table, oldest).Scan(&all, &old); err != nil {
		return 0, 0, err
	}
	if n = max(old, all-k.limit); n <= 0 {
		return 0, 0, nil
	}
	first := ` FROM ` + k.table + ` ORDER BY ` + k.at + `, id LIMIT ?`
	if err := tx.QueryRowContext(ctx, `SELECT max(at) FROM (SELECT `+k.at+` AS at`+first+`)`, n).Scan(&upto); err != nil {
		return 0, 0, err
	}
	_, err = tx.ExecContext(ctx, `DELETE FROM `+k.table+` WHERE id IN (SELECT id`+first+`)`, n)
	return n, upto, err
}

// count adds to what was dropped.
func count(ctx context.Context, tx *sql.Tx, what string, n int, upto int64) error {
	_, err := tx.ExecContext(ctx, `INSERT INTO dropped (what, count, upto) VALUES (?, ?, ?)
		ON CONFLICT (what) DO UPDATE SET count = count + excluded.count, upto = max(upto, excluded.upto)`, what, n, upto)
	if err != nil {
		return fmt.Errorf("count what was dropped: %w", err)
	}
	return nil
}
