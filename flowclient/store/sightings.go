package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"
)

// Seen records that the binding runs the release at now, unless it is the one
// seen last, and returns since when it has. A release first seen while the
// clock stands behind an earlier sighting of any binding counts from that
// sighting: a clock that goes backwards never shortens a soak.
func (s *Store) Seen(ctx context.Context, binding, release string, now time.Time) (since time.Time, err error) {
	var nanos int64
	err = s.file.Reader().QueryRowContext(ctx,
		`SELECT since FROM sightings WHERE binding = ? AND release = ?`, binding, release).Scan(&nanos)
	if err == nil {
		return instant(nanos), nil
	}
	if !errors.Is(err, sql.ErrNoRows) {
		return time.Time{}, fmt.Errorf("seen %s: %w", binding, err)
	}
	err = s.file.Update(ctx, "seen", func(tx *sql.Tx) error {
		return tx.QueryRowContext(ctx, `INSERT INTO sightings (binding, release, since)
			VALUES (?, ?, max(?, (SELECT coalesce(max(since), 0) FROM sightings)))
			ON CONFLICT (binding) DO UPDATE SET release = excluded.release,
				since = CASE WHEN release = excluded.release THEN since ELSE excluded.since END
			RETURNING since`, binding, release, now.UnixNano()).Scan(&nanos)
	})
	if err != nil {
		return time.Time{}, fmt.Errorf("seen %s: %w", binding, err)
	}
	return instant(nanos), nil
}
