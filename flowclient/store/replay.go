package store

import (
	"context"

	"platform.dev/platform/flowclient"
)

// Intent is the intent with the id; *flowclient.NotFound.
func (s *Store) Intent(ctx context.Context, id string) (flowclient.Intent, error) {
	intents, err := s.intents(ctx, `WHERE id = ?`, id)
	if err == nil && len(intents) == 0 {
		err = &flowclient.NotFound{Kind: "intent", Name: id}
	}
	if err != nil {
		return flowclient.Intent{}, err
	}
	return intents[0], nil
}

// Event is the event recorded under the key; *flowclient.NotFound.
func (s *Store) Event(ctx context.Context, key string) (flowclient.Event, error) {
	events, err := s.events(ctx, `WHERE key = ?`, key)
	if err == nil && len(events) == 0 {
		err = &flowclient.NotFound{Kind: "event", Name: key}
	}
	if err != nil {
		return flowclient.Event{}, err
	}
	return events[0], nil
}
