package server

import (
	"context"
	"encoding/json"
	"fmt"

	"platform.dev/platform/bots"
	"platform.dev/platform/flowclient/store"
)

// decisions keeps what bots decide, in the store.
type decisions struct{ *store.Store }

// Decided records a decision with everything that it says.
func (s decisions) Decided(ctx context.Context, d bots.Decision) error {
	body, err := json.Marshal(d)
	if err != nil {
		return fmt.Errorf("decision %s: %w", d.Key, err)
	}
	return s.Store.Decided(ctx, d.Key, d.Kind, d.At, body)
}

// Decisions lists what bots decided, newest first; narrowed as the query says.
func (p *Platform) Decisions(ctx context.Context, q store.DecisionQuery) ([]bots.Decision, error) {
	rows, err := p.rooms.store.Decisions(ctx, q)
	if err != nil {
		return nil, err
	}
	all := make([]bots.Decision, len(rows))
	for i, row := range rows {
		if err := json.Unmarshal(row.Body, &all[i]); err != nil {
			return nil, fmt.Errorf("decision %s: %w", row.Key, err)
		}
	}
	return all, nil
}
