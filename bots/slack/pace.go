package slack

import (
	"cmp"
	"context"
	"errors"
	"sync"
	"time"
)

const (
	// defaultPace is how often Slack lets a bot post to one channel.
	defaultPace = time.Second
	// room is how many messages wait for their turn in one channel, beside the one that
	// has it: enough that a channel is never idle while whoever was turned away comes back.
	room = 3
)

// pace keeps messages to one channel apart, across its threads: a message is
// posted so long after the answer to the one before, since when Slack counted
// that one nobody knows but that it was before its answer. Whoever would wait
// long is told for how long instead, so that a busy channel holds up few deliveries.
type pace struct {
	every time.Duration // below 0: none
	now   func() time.Time

	mu       sync.Mutex
	channels map[string]*turns
}

// turns are those of one channel.
type turns struct {
	turn chan struct{} // one element while somebody has the turn; the others get it in the order in which they came

	// Guarded by pace.mu.
	taken int       // who has the turn, or waits for it
	free  time.Time // before then nothing may be posted
}

func newPace(every time.Duration, now func() time.Time) *pace {
	return &pace{every: cmp.Or(every, defaultPace), now: now, channels: map[string]*turns{}}
}

// take waits for the channel's turn. Whoever has it posts, and calls done with
// what came of it. A *LimitedError tells when to come again, when that is long.
func (p *pace) take(ctx context.Context, channel string) (done func(error), err error) {
	c, err := p.join(channel)
	if err != nil {
		return nil, err
	}
	next := func() {}
	if p.every > 0 {
		select {
		case c.turn <- struct{}{}:
			next = func() { <-c.turn }
		case <-ctx.Done():
			p.leave(c, 0)
			return nil, ctx.Err()
		}
	}
	wait, err := p.ahead(c)
	if err == nil {
		sleep(ctx, wait)
		err = ctx.Err()
	}
	if err != nil {
		p.leave(c, 0)
		next()
		return nil, err
	}
	return func(outcome error) { p.leave(c, p.after(outcome)); next() }, nil
}

// join takes a place among those who wait in a channel, where there is one.
func (p *pace) join(channel string) (*turns, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	c := p.channels[channel]
	if c == nil {
		p.forget()
		c = &turns{turn: make(chan struct{}, 1)}
		p.channels[channel] = c
	}
	if p.every > 0 && c.taken > room {
		// All but the last of those who wait have posted by then, and that one keeps the channel at work.
		return nil, &LimitedError{Method: methodPost, After: max(c.free.Sub(p.now()), 0) + (room-1)*p.every}
	}
	c.taken++
	return c, nil
}

// ahead is how far off the channel's next post is; a *LimitedError when that is
// longer than it takes those who wait to be gone: Slack has asked for it.
func (p *pace) ahead(c *turns) (time.Duration, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	wait := c.free.Sub(p.now())
	if wait > max(p.every, 0)*(room+1) {
		return 0, &LimitedError{Method: methodPost, After: wait}
	}
	return max(wait, 0), nil
}

// leave gives a place up, and keeps the channel silent for so long.
func (p *pace) leave(c *turns, silent time.Duration) {
	p.mu.Lock()
	defer p.mu.Unlock()
	c.taken--
	if until := p.now().Add(silent); until.After(c.free) {
		c.free = until
	}
}

// after is how long nothing may be posted after a call that ended so: what Slack
// says when it refused it, and else as if it had been carried out.
func (p *pace) after(err error) time.Duration {
	var limited *LimitedError
	switch {
	case errors.As(err, &limited):
		return limited.After
	case is(err, notInChannel): // which is mended, and posted again
		return 0
	}
	return max(p.every, 0)
}

// forget drops the channels in which nobody waits, when there are many. p.mu is held.
func (p *pace) forget() {
	if len(p.channels) < remembered {
		return
	}
	for channel, c := range p.channels {
		if c.taken == 0 && c.free.Before(p.now()) {
			delete(p.channels, channel)
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
