package main

import (
	"context"
	"sync"

	"platform.dev/platform/bots/zulip"
)

// followed are the events that matter to somebody who reads along.
var followed = zulip.RegisterRequest{Events: []string{"message", "update_message", "reaction"}, Fetch: []string{"realm"}}

// following is an account's events as a channel, for loops that wait for other things besides.
type following struct {
	events chan zulip.Event
	failed chan error // what ended it, at most one
	stop   context.CancelFunc
	wg     sync.WaitGroup
}

// follow listens until close. begin runs once, when the first queue is there:
// what happens from then on is not missed.
func follow(ctx context.Context, client *zulip.Client, begin func(context.Context) error) *following {
	ctx, cancel := context.WithCancel(ctx)
	f := &following{events: make(chan zulip.Event, 100), failed: make(chan error, 1), stop: cancel}
	begun := false
	f.wg.Go(func() {
		err := client.Listen(ctx, zulip.Listening{
			Request: followed,
			Registered: func(ctx context.Context, _ zulip.Queue) error {
				if begun {
					return nil
				}
				begun = true
				if err := begin(ctx); err != nil {
					f.failed <- err
					cancel()
				}
				return nil
			},
			Handle: func(ctx context.Context, e zulip.Event) error {
				select {
				case f.events <- e:
					return nil
				case <-ctx.Done():
					return ctx.Err()
				}
			},
		})
		if err != nil {
			f.failed <- err
		}
	})
	return f
}

// close ends it and waits.
func (f *following) close() {
	f.stop()
	f.wg.Wait()
}
