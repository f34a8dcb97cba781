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
	// Handled is called once after each batch of events that were taken, before it is
	// acknowledged, also when ctx ended within the batch; it is repeated until it returns nil. It may be nil.
	Handled func(ctx context.Context) error
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
		if ctx.Err() != nil {
			break
		}
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
			if pause == firstPause {
				c.log.Warn("zulip does not answer the poll; asking on", "site", c.site, "account", c.email, "error", err)
			}
			sleep(ctx, max(jitter(pause), retryAfter(err)))
			pause = min(2*pause, longestPause)
			continue
		}
		polled, pause = true, firstPause
		if len(events) == 0 {
			sleep(ctx, jitter(emptyPause))
		}
		if !c.batch(ctx, l, events) {
			return polled, nil
		}
		for _, e := range events {
			last = max(last, e.ID)
		}
	}
	return polled, nil
}

// batch hands the events of one poll over; false when ctx ended before all were taken.
func (c *Client) batch(ctx context.Context, l Listening, events []Event) bool {
	taken := 0
	for _, e := range events {
		if e.Type != "heartbeat" && !c.until(ctx, e, func() error { return l.Handle(ctx, e) }) {
			break
		}
		taken++
	}
	if taken > 0 && l.Handled != nil && !c.until(ctx, events[taken-1], func() error { return l.Handled(ctx) }) {
		return false
	}
	return taken == len(events)
}

// until does what an event asks for until it succeeds; false when ctx ended before.
func (c *Client) until(ctx context.Context, e Event, do func() error) bool {
	for pause := firstPause; ; pause = min(2*pause, longestPause) {
		err := do()
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
// (BAD_EVENT_QUEUE_ID), its events were pruned or renumbered (two cases of a plain
// BAD_REQUEST), or it refuses the poll otherwise. What stands in front of a server
// may answer anything for a while, and says nothing about the queue.
func gone(err error) bool {
	var e *Error
	if !errors.As(err, &e) || e.Code == codeNotZulip {
		return false
	}
	return e.Status >= http.StatusBadRequest && e.Status < http.StatusInternalServerError && e.Status != http.StatusTooManyRequests
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
