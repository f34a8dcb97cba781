package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"platform.dev/platform/bots/zulip"
)

// watch follows the events that an account sees. When the server has lost the
// queue it registers anew and says so by an empty batch: whoever watches then
// looks at the messages themselves.
type watch struct {
	client *zulip.Client
	queue  zulip.Queue
	last   int64
}

// watched are the events that matter to somebody who reads along.
var watched = zulip.RegisterRequest{Events: []string{"message", "update_message", "reaction"}, Fetch: []string{"realm"}}

func newWatch(ctx context.Context, client *zulip.Client) (*watch, error) {
	w := &watch{client: client}
	return w, w.register(ctx)
}

func (w *watch) register(ctx context.Context) error {
	queue, err := w.client.Register(ctx, watched)
	if err != nil {
		return fmt.Errorf("chat: %w", err)
	}
	w.queue, w.last = queue, queue.LastEventID
	return nil
}

// next waits for events.
func (w *watch) next(ctx context.Context) ([]zulip.Event, error) {
	events, err := w.client.Events(ctx, w.queue.ID, w.last, w.queue.LongPoll)
	var refused *zulip.Error
	switch {
	case ctx.Err() != nil:
		return nil, ctx.Err()
	case errors.As(err, &refused) && !refused.Fatal():
		return nil, w.register(ctx)
	case err != nil:
		return nil, fmt.Errorf("chat: %w", err)
	}
	for _, e := range events {
		w.last = max(w.last, e.ID)
	}
	return events, nil
}

// close frees the queue, also when ctx has ended.
func (w *watch) close(ctx context.Context) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 2*time.Second)
	defer cancel()
	_ = w.client.DeleteQueue(ctx, w.queue.ID) // the server drops it in time by itself
}
