package store

import (
	"context"
	"database/sql"
	"fmt"
	"time"
)

// owedPage is how many owed rows are held in memory at a time.
const owedPage = 256

// owedRow is a row of the outbox that is owed.
type owedRow struct {
	id, rev, delivered, due int64
	key, sentID             string
	place, payload          []byte
	tried                   sql.NullInt64
}

// owedColumns are what scanOwed reads, of a table named o.
const owedColumns = `o.id, o.key, o.place, o.payload, o.rev, o.sent_id, o.tried, o.delivered, o.due`

// Owed visits a bot's rows whose latest revision was not delivered and which
// are due at now, in id order. A row waits for the earlier rows of its place
// that were put off before they were ever delivered, so that messages of one
// place leave in order; a revision of a delivered message, which changes it in
// place, holds nothing back. tried is the first attempt at what is owed, zero
// before it. visit may call the store; its error ends the visits and is returned.
func (s *Store) Owed(ctx context.Context, bot string, now time.Time, visit func(id int64, key string, place, payload []byte, rev int64, sentID string, tried time.Time) error) error {
	for after := int64(0); ; {
		rows, err := s.owedRows(ctx, `SELECT `+owedColumns+` FROM outbox AS o
			WHERE bot = ?1 AND owed = 1 AND id > ?3 AND due <= ?2 AND NOT EXISTS (
				SELECT 1 FROM outbox AS e
				WHERE e.bot = ?1 AND e.owed = 1 AND e.place = o.place AND e.id < o.id AND e.due > ?2 AND e.delivered = 0 AND o.delivered = 0)
			ORDER BY id LIMIT ?4`, bot, now.UnixNano(), after, owedPage)
		if err != nil {
			return fmt.Errorf("owed by %s: %w", bot, err)
		}
		for _, r := range rows {
			if err := r.visited(visit); err != nil {
				return err
			}
			after = r.id
		}
		if len(rows) < owedPage {
			return nil
		}
	}
}

// dueRows finds the places beyond ?2 one by one, each by one look at the index,
// and of each its first rows: what lies behind them is not read.
const dueRows = `WITH RECURSIVE next (place, n) AS (
		SELECT min(place), 1 FROM outbox WHERE bot = ?1 AND owed = 1 AND place > ?2
		UNION ALL
		SELECT (SELECT min(place) FROM outbox WHERE bot = ?1 AND owed = 1 AND place > next.place), n + 1
		FROM next WHERE place IS NOT NULL AND n < ?3)
	SELECT ` + owedColumns + ` FROM next CROSS JOIN outbox AS o ON o.id IN (
		SELECT id FROM outbox WHERE bot = ?1 AND owed = 1 AND place = next.place ORDER BY id LIMIT ?4)
	WHERE next.place IS NOT NULL ORDER BY next.n, o.id`

// Due visits what Owed does, but looks at little: at so many places, in the order
// of their bytes and the first beyond after, and in each at so many rows, the
// first that are owed; of these it visits what is due. last is the place to go
// on after, nil when none is left.
func (s *Store) Due(ctx context.Context, bot string, now time.Time, after []byte, places, rows int,
	visit func(id int64, key string, place, payload []byte, rev int64, sentID string, tried time.Time) error,
) (last []byte, err error) {
	if after == nil {
		after = []byte{}
	}
	found, err := s.owedRows(ctx, dueRows, bot, after, places+1, rows)
	if err != nil {
		return nil, fmt.Errorf("due by %s: %w", bot, err)
	}
	at, held := "", false
	for _, r := range found {
		if place := string(r.place); place != at {
			if places--; places < 0 {
				return []byte(at), nil
			}
			at, held = place, false
		}
		switch fresh := r.delivered == 0; {
		case r.due > now.UnixNano():
			held = held || fresh
		case !fresh || !held:
			if err := r.visited(visit); err != nil {
				return nil, err
			}
		}
	}
	return nil, nil //nolint:nilnil // no place is left
}

// Owes tells whether a bot owes a place anything that was never delivered.
func (s *Store) Owes(ctx context.Context, bot string, place []byte) (owes bool, err error) {
	err = s.file.Reader().QueryRowContext(ctx, `SELECT EXISTS (SELECT 1 FROM outbox WHERE bot = ? AND owed = 1 AND place = ? AND delivered = 0)`,
		bot, place).Scan(&owes)
	if err != nil {
		return false, fmt.Errorf("owed by %s to %s: %w", bot, place, err)
	}
	return owes, nil
}

// visited shows a row to a visitor.
func (r owedRow) visited(visit func(id int64, key string, place, payload []byte, rev int64, sentID string, tried time.Time) error) error {
	var tried time.Time
	if at := instantOf(r.tried); at != nil {
		tried = *at
	}
	return visit(r.id, r.key, r.place, r.payload, r.rev, r.sentID, tried)
}

// owedRows reads rows of owedColumns.
func (s *Store) owedRows(ctx context.Context, query string, args ...any) ([]owedRow, error) {
	rows, err := s.file.Reader().QueryContext(ctx, query, args...)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	var owed []owedRow
	for rows.Next() {
		var r owedRow
		if err := rows.Scan(&r.id, &r.key, &r.place, &r.payload, &r.rev, &r.sentID, &r.tried, &r.delivered, &r.due); err != nil {
			return nil, err
		}
		owed = append(owed, r)
	}
	return owed, rows.Err()
}
