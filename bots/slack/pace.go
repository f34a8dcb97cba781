package slack

import (
	"cmp"
	"context"
	"sync"
	"time"
)

// defaultPace is how often Slack lets a bot post to one channel.
const defaultPace = time.Second

// pace keeps messages to one channel apart, across its threads. Whoever would
// wait long is told for how long instead, so that a busy channel holds up at
// most two deliveries at a time.
type pace struct {
	every time.Duration // below 0: none

	mu   sync.Mutex
	next map[string]time.Time // channel -> when its next message may be posted
}

func newPace(every time.Duration) *pace {
	return &pace{every: cmp.Or(every, defaultPace), next: map[string]time.Time{}}
}

// wait waits for the channel's turn. A *LimitedError tells when to come again, when that is long.
func (p *pace) wait(ctx context.Context, channel string, now time.Time) error {
	turn, err := p.take(channel, now)
	if err != nil || turn <= 0 {
		return err
	}
	sleep(ctx, turn)
	return ctx.Err()
}

// take takes the channel's next turn and tells how far off it is.
func (p *pace) take(channel string, now time.Time) (time.Duration, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.forget(now)
	turn := p.next[channel].Sub(now)
	switch {
	case turn > max(p.every, 0):
		return 0, &LimitedError{Method: methodPost, After: turn - max(p.every, 0)} // when there is room to wait
	case p.every > 0:
		p.next[channel] = now.Add(max(turn, 0) + p.every)
	}
	return turn, nil
}

// hold keeps a channel silent: Slack has asked for it.
func (p *pace) hold(channel string, until time.Time) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if until.After(p.next[channel]) {
		p.next[channel] = until
	}
}

// forget drops the turns that have passed, when there are many.
func (p *pace) forget(now time.Time) {
	if len(p.next) < remembered {
		return
	}
	for channel, at := range p.next {
		if at.Before(now) {
			delete(p.next, channel)
		}
	}
}

// sleep waits, or less when ctx ends.
func sleep(ctx context.Context, d time.Duration) {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-ctx.Done():
	case <-t.C:
	}
}
