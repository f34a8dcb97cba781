package store

import (
	"context"
	"fmt"
)

// Backlog is what one bot has still to do.
type Backlog struct {
	Said  int // rows of the outbox that are owed, also those that are put off
	Heard int // messages that were heard and are not finished
}

// Backlogs counts, by bot, what is still to be done; a bot with nothing to do is not among them.
func (s *Store) Backlogs(ctx context.Context) (map[string]Backlog, error) {
	rows, err := s.file.Reader().QueryContext(ctx, `SELECT bot, count(*), 0 FROM outbox WHERE owed = 1 GROUP BY bot
		UNION ALL SELECT coalesce(json_extract(CAST(payload AS TEXT), '$.bot'), ''), 0, count(*) FROM heard WHERE finished IS NULL GROUP BY 1`)
	if err != nil {
		return nil, fmt.Errorf("backlogs: %w", err)
	}
	defer rows.Close()
	all := map[string]Backlog{}
	for rows.Next() {
		var bot string
		var said, heard int
		if err := rows.Scan(&bot, &said, &heard); err != nil {
			return nil, fmt.Errorf("backlogs: %w", err)
		}
		b := all[bot]
		b.Said += said
		b.Heard += heard
		all[bot] = b
	}
	return all, rows.Err()
}
