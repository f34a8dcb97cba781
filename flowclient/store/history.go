package store

import (
	"context"
	"fmt"
	"slices"

	"platform.dev/platform/flowclient"
)

// IntentsOf lists the newest intents about a project, oldest first, at most limit.
func (s *Store) IntentsOf(ctx context.Context, project string, limit int) ([]flowclient.Intent, error) {
	intents, err := s.intents(ctx, `WHERE project = ? ORDER BY seq DESC LIMIT ?`, project, limit)
	slices.Reverse(intents)
	return intents, err
}

// IntentsTraced lists the intents that were asked for in a trace, oldest first.
func (s *Store) IntentsTraced(ctx context.Context, traceID string) ([]flowclient.Intent, error) {
	return s.intents(ctx, `WHERE trace_id <> '' AND trace_id = ? ORDER BY seq`, traceID)
}

func (s *Store) intents(ctx context.Context, which string, args ...any) (intents []flowclient.Intent, err error) {
	rows, err := s.file.Reader().QueryContext(ctx, `SELECT `+intentColumns+` FROM intents `+which, args...)
	if err != nil {
		return nil, fmt.Errorf("intents: %w", err)
	}
	defer rows.Close()
	for rows.Next() {
		in, err := scanIntent(rows)
		if err != nil {
			return nil, fmt.Errorf("intents: %w", err)
		}
		intents = append(intents, in)
	}
	return intents, rows.Err()
}

// EventsTraced lists the newest events whose request came in a trace, oldest first, at most limit.
func (s *Store) EventsTraced(ctx context.Context, traceID string, limit int) ([]flowclient.Event, error) {
	events, err := s.events(ctx, `WHERE trace_id <> '' AND trace_id = ? ORDER BY seq DESC LIMIT ?`, traceID, limit)
	slices.Reverse(events)
	return events, err
}

// EventsOf lists the newest events about a project, oldest first, at most limit.
func (s *Store) EventsOf(ctx context.Context, project string, limit int) ([]flowclient.Event, error) {
	events, err := s.events(ctx, `WHERE project = ? ORDER BY seq DESC LIMIT ?`, project, limit)
	slices.Reverse(events)
	return events, err
}
