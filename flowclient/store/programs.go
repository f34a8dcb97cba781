package store

import (
	"context"
	"database/sql"
	"fmt"
	"time"
)

// programsKept is how long a run that has ended is remembered: a message is
// answered again only at the start after the one in which it was answered.
const programsKept = 90 * 24 * time.Hour

// BeginProgram records that a program's run under key begins. fresh is false when it
// began before: answer is then what EndProgram was given, nil when it was not.
func (s *Store) BeginProgram(ctx context.Context, key string, at time.Time) (answer []byte, fresh bool, err error) {
	err = s.file.Update(ctx, "begin program", func(tx *sql.Tx) error {
		fresh, err = inserted(tx.ExecContext(ctx, `INSERT INTO programs (key, at) VALUES (?, ?) ON CONFLICT (key) DO NOTHING`, key, at.UnixNano()))
		if err != nil {
			return err
		}
		if fresh {
			_, err = tx.ExecContext(ctx, `DELETE FROM programs WHERE ended < ?`, at.Add(-programsKept).UnixNano())
			return err
		}
		return tx.QueryRowContext(ctx, `SELECT answer FROM programs WHERE key = ?`, key).Scan(&answer)
	})
	if err != nil {
		return nil, false, fmt.Errorf("begin program of %s: %w", key, err)
	}
	return answer, fresh, nil
}

// EndProgram records what a program's run under key answers; the first answer stays.
func (s *Store) EndProgram(ctx context.Context, key string, answer []byte, at time.Time) error {
	err := s.file.Update(ctx, "end program", func(tx *sql.Tx) error {
		_, err := tx.ExecContext(ctx, `UPDATE programs SET answer = ?, ended = ? WHERE key = ? AND ended IS NULL`, answer, at.UnixNano(), key)
		return err
	})
	if err != nil {
		return fmt.Errorf("end program of %s: %w", key, err)
	}
	return nil
}
