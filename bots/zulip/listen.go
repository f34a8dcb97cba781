package zulip

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"time"
)

const (
	firstPause   = 250 * time.Millisecond
	longestPause = 30 * time.Second
	emptyPause   = time.Second // after an answer without events: somebody else polls this queue
	freeTimeout  = 2 * time.Second
)

// Listening is what to listen to.
type Listening struct {
	Request RegisterRequest
	// Registered is called for each new queue, before its first poll: what happened
	// between two queues is fetched here. An error asks for another queue; it may be nil.
	Registered func(ctx context.Context, q Queue) error
	// Handle is called for each event, in order. An event is acknowledged to the server
	// only once Handle has returned nil; after an error the same event comes again.
	Handle func(ctx context.Context, e Event) error
	// Polled is told how each poll ended, nil for an answer with or without events; it may be nil.
	Polled func(err error)
}

// Listen follows the account's events until ctx ends, and then returns nil. It
// polls again after a lost connection, registers again when the server has
// forgotten or pruned its queue, and pauses as a rate limit asks. It returns an
// error only when nothing can mend it: a wrong key, a deactivated account.
func (c *Client) Listen(ctx context.Context, l Listening) error {
	for pause := firstPause; ; pause = min(2*pause, longestPause) {
		polled, err := c.follow(ctx, l)
		if ctx.Err() != nil {
			return nil //nolint:nilerr // being told to end is no error
		}
		if end, ok := fatal(c.site, c.email, err); ok {
			return end
		}
		if polled {
			pause = firstPause
		}
		c.log.Info("zulip event queue is made anew", "site", c.site, "account", c.email, "why", err, "pause", pause)
		sleep(ctx, max(jitter(pause), retryAfter(err)))
	}
}

// follow lives as long as one queue. polled tells whether the queue ever answered.
func (c *Client) follow(ctx context.Context, l Listening) (polled bool, err error) {
	q, err := c.Register(ctx, l.Request)
	if err != nil {
		return false, err
	}
	defer c.free(ctx, q.ID)
	if l.Registered != nil {
		if err := l.Registered(ctx, q); err != nil {
			return false, err
		}
	}
	last, pause := q.LastEventID, firstPause
	for ctx.Err() == nil {
		events, err := c.Events(ctx, q.ID, last, q.LongPoll)
		if l.Polled != nil {
			l.Polled(err)
		}
		if gone(err) {
			return polled, err
		}
		if _, end := fatal(c.site, c.email, err); end {
			return polled, err
		}
		if err != nil { // the queue outlives a lost connection and a rate limit
			sleep(ctx, max(jitter(pause), retryAfter(err)))
			pause = min(2*pause, longestPause)
			continue
		}
		polled, pause = true, firstPause
		if len(events) == 0 {
			sleep(ctx, jitter(emptyPause))
		}
		for _, e := range events {
			if !c.handle(ctx, l, e) {
				return polled, nil
			}
			last = max(last, e.ID)
		}
	}
	return polled, nil
}

// handle hands an event over until it is taken; false when ctx ended before.
func (c *Client) handle(ctx context.Context, l Listening, e Event) bool {
	if e.Type == "heartbeat" {
		return true
	}
	for pause := firstPause; ; pause = min(2*pause, longestPause) {
		err := l.Handle(ctx, e)
		if err == nil {
			return true
		}
		if ctx.Err() != nil {
			return false
		}
		c.log.Error("zulip event is not taken; trying again", "event", e.ID, "type", e.Type, "error", err)
		sleep(ctx, jitter(pause))
	}
}

// gone tells whether the queue cannot be polled on: the server forgot it
// (BAD_EVENT_QUEUE_ID), or its events were pruned or renumbered (two cases of a plain BAD_REQUEST).
func gone(err error) bool {
	var e *Error
	if !errors.As(err, &e) {
		return false
	}
	return e.Code == codeBadQueue || e.Status == http.StatusBadRequest
}

// free gives a queue back, so that the server need not keep it for minutes.
func (c *Client) free(ctx context.Context, queue string) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), freeTimeout)
	defer cancel()
	if err := c.DeleteQueue(ctx, queue); err != nil && !is(err, codeBadQueue) {
		c.log.Debug("zulip queue is left to expire", "error", fmt.Sprint(err))
	}
}

// jitter spreads a pause over its upper half, so that many clients do not come back at once.
func jitter(d time.Duration) time.Duration { return d/2 + rand.N(d/2+1) }

// sleep waits, or less when ctx ends.
func sleep(ctx context.Context, d time.Duration) {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-ctx.Done():
	case <-t.C:
	}
}
