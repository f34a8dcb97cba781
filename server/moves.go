package server

import (
	"context"
	"encoding/json"
	"fmt"

	"platform.dev/platform/flowclient"
)

// skipEvents passes over what happened before this start: counters begin at nothing.
func (r *recorder) skipEvents(ctx context.Context) error {
	for {
		events, err := r.journal.Events(ctx, r.after, eventPage)
		if err != nil || len(events) == 0 {
			return err
		}
		r.after = events[len(events)-1].Seq
	}
}

// countEvents counts promotions and rollbacks by what became of each component.
func (r *recorder) countEvents(ctx context.Context) error {
	for {
		events, err := r.journal.Events(ctx, r.after, eventPage)
		if err != nil || len(events) == 0 {
			return err
		}
		for _, e := range events {
			r.after = e.Seq
			if err := r.countMove(e); err != nil {
				return fmt.Errorf("event %d: %w", e.Seq, err)
			}
		}
	}
}

// moves are the events of promotions, and what each is called.
var moves = map[string]string{
	flowclient.EventPromoted: "promote", flowclient.EventPromoteRefuse: "promote", flowclient.EventRolledBack: "rollback",
}

func (r *recorder) countMove(e flowclient.Event) error {
	kind, ok := moves[e.Kind]
	if !ok {
		return nil
	}
	var body flowclient.MoveEvent
	if err := json.Unmarshal(e.Body, &body); err != nil {
		return err
	}
	if body.Refusal == nil {
		for _, c := range body.Outcome.Components {
			r.promoted.WithLabelValues(kind, c.Result).Inc()
		}
		return nil
	}
	r.promoted.WithLabelValues(kind, "refused").Inc()
	return nil
}
