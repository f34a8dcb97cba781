package slack

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"time"

	"platform.dev/platform/bots"
)

const (
	// connections is how many event streams are open: Slack closes each every few
	// hours, and sends to the other what it cannot send to the one.
	connections = 2
	openEvery   = time.Second // between two openings, once several followed each other
	recording   = 64          // messages being handed over at once

	firstPause   = 250 * time.Millisecond
	longestPause = 30 * time.Second
)

// sink takes what was heard; it returns once that is durable, or answered.
type sink func(context.Context, bots.Heard) error

// state counts event streams.
type state struct {
	open   atomic.Int64
	again  atomic.Int64
	outage outage
}

// listener is one run of a transport.
type listener struct {
	*Transport
	take  sink
	me    self
	began time.Time // what was said before, an earlier process may have been told

	lanes *lanes
	slots chan struct{}  // one element for each message that is being handed over
	group sync.WaitGroup // every goroutine but the lanes'
	ears  *ears

	learning atomic.Bool // the people are being read

	// attend's own.
	upTo  time.Time         // the cursor
	first bool              // no run was before this one
	turns map[int]time.Time // turn of the lanes -> when it began
}

// Run hears until ctx ends. It returns an error only when nothing can mend it:
// tokens that Slack refuses, a permission that is lacking.
func (t *Transport) Run(ctx context.Context, take func(context.Context, bots.Heard) error) error {
	me, err := t.introduce(ctx)
	if err != nil {
		return err
	}
	if ctx.Err() != nil {
		return nil //nolint:nilerr // being told to end is no error
	}
	inner, cancel := context.WithCancel(ctx)
	defer cancel()
	l := &listener{
		Transport: t, take: take, me: me, began: t.cfg.Now(), lanes: newLanes(), slots: make(chan struct{}, recording), ears: newEars(t.cfg.Now),
	}
	l.begin(ctx)
	ended := make(chan error, connections)
	for number := range connections {
		l.group.Go(func() {
			ended <- l.stream(inner, number)
			cancel() // one that cannot be mended ends both
		})
	}
	l.group.Go(func() { l.attend(inner) })
	l.group.Wait()
	l.lanes.wait()
	l.group.Wait() // what the lanes began
	err = cmp.Or(<-ended, <-ended)
	if ctx.Err() != nil {
		return nil //nolint:nilerr // being told to end is no error
	}
	return err
}

// introduce asks Slack who the bot is, until it says so or ctx ends.
func (t *Transport) introduce(ctx context.Context) (me self, err error) {
	for tries := 0; ctx.Err() == nil; tries++ {
		if me, err = t.me(ctx); err == nil {
			return me, nil
		}
		if end, ok := fatal(t.cfg.Name, err); ok {
			return self{}, end
		}
		pause := backoff(tries, err)
		t.unanswered(err, "pause", pause)
		sleep(ctx, pause)
	}
	return self{}, nil
}

// stream keeps one event stream open until ctx ends; an error is one that nothing
// can mend. One that is to be replaced is read until its successor is open, so
// that at no time fewer are open than may be.
func (l *listener) stream(ctx context.Context, number int) error {
	var old *socket // open still, while its successor is opened
	tries := 0
	for life := 0; ; life++ {
		s, err := l.open(ctx, &tries)
		if last := old; last != nil {
			l.group.Go(func() { last.part(ctx) })
			old = nil
		}
		if err != nil || s == nil {
			return err
		}
		if life > 0 {
			l.state.again.Add(1)
		}
		opened := time.Now()
		select {
		case <-ctx.Done():
			s.close()
			return nil
		case <-s.leaving:
			l.cfg.Log.Debug("Slack asks for another event stream", "why", s.reason)
			old = s
		case <-after(renewal(s.lifetime, number, life)):
			old = s
		case <-s.done:
			l.cfg.Log.Info("an event stream from Slack ended; opening another", "why", s.err)
		}
		if s.left() == reasonUnlinked {
			s.close()
			return fmt.Errorf("Socket Mode was switched off for the Slack app of %s; switch it on, on the app's page", l.cfg.Name) //nolint:revive,staticcheck // a name
		}
		if time.Since(opened) > silenceLimit {
			tries = 0
		}
	}
}

// open opens an event stream and waits for its greeting, as often as it takes; nil when ctx ends before.
func (l *listener) open(ctx context.Context, tries *int) (*socket, error) {
	for ; ctx.Err() == nil; *tries++ {
		if *tries > 0 {
			sleep(ctx, backoff(*tries-1, nil))
		}
		s, err := l.dial(ctx)
		if err == nil {
			l.follow(ctx, s)
			if err = s.greeted(ctx); err == nil {
				*tries++ // until it has lasted
				return s, nil
			}
			s.close()
		}
		if ctx.Err() != nil {
			break
		}
		if end, ok := fatal(l.cfg.Name, err); ok {
			return nil, end
		}
		l.unanswered(err, "attempt", *tries+1)
		var limited *LimitedError
		if errors.As(err, &limited) {
			sleep(ctx, limited.After)
		}
	}
	return nil, nil //nolint:nilnil,nilerr // ctx has ended, which is no error
}

// follow starts reading and writing a stream.
func (l *listener) follow(ctx context.Context, s *socket) {
	s.opened = func() { l.state.open.Add(1); l.ears.open(); l.answers() }
	l.group.Go(func() {
		s.reads(func(f *frame) { l.sort(ctx, s, f) }, func(what string, err error) { l.cfg.Log.Warn(what, "why", err) })
		if s.isOpen() {
			l.ears.shut()
			l.state.open.Add(-1)
		}
	})
	l.group.Go(s.writes)
}

// renewal is when a stream is replaced before Slack closes it. The streams' times
// never coincide: the second one's first life is half as long.
func renewal(lifetime time.Duration, number, life int) time.Duration {
	if lifetime < time.Minute {
		return 0
	}
	share := lifetime / 10 * 9
	if life == 0 {
		share /= time.Duration(number + 1)
	}
	return share
}

// after is a channel that is told after d; never for 0.
func after(d time.Duration) <-chan time.Time {
	if d == 0 {
		return nil
	}
	return time.After(d)
}

// backoff is how long to wait after so many tries, or as long as Slack asks.
func backoff(tries int, err error) time.Duration {
	pause := jitter(min(firstPause<<min(tries, 10), longestPause))
	var limited *LimitedError
	if errors.As(err, &limited) {
		pause = max(pause, limited.After)
	}
	return pause
}

// jitter spreads a pause over its upper half, so that many clients do not come back at once.
func jitter(d time.Duration) time.Duration { return d/2 + rand.N(d/2+1) }

// sort sees to an event: what is nothing to the bot is acknowledged at once,
// everything else once it is done with, behind what its channel brought before.
// Whatever Slack wants acknowledged is acknowledged, known or not.
func (l *listener) sort(ctx context.Context, s *socket, f *frame) {
	lane, do := l.route(f)
	if do == nil {
		s.ack(f.ID)
		return
	}
	put := l.lanes.put(ctx, task{lane: lane, do: l.until(do, f.ID), done: func(ok bool) {
		if ok {
			s.ack(f.ID)
		} else {
			s.drop()
		}
	}})
	if !put {
		s.drop()
		l.ears.missed()
		l.cfg.Log.Warn("too many events wait; one is left to Slack to bring again", "event", f.ID)
	}
}

// route is what to do about an event, and the channel that it is of; nil for nothing.
func (l *listener) route(f *frame) (lane string, do func(context.Context) error) {
	if f.Type == framePress {
		return l.interaction(f)
	}
	if f.Type != frameEvent {
		return "", nil // a slash command, and whatever else there may be, is not the bot's
	}
	e, team := &f.Payload.Event, f.Payload.TeamID
	switch e.Type {
	case "app_mention", "message":
		if !l.concerns(team, e) {
			return "", nil
		}
		return e.Channel, func(ctx context.Context) error { return l.message(ctx, e, f.Attempt > 0) }
	case "reaction_added":
		if !l.cfg.Reactions {
			return "", nil
		}
		return e.Item.Channel, func(ctx context.Context) error { return l.reaction(ctx, team, e, f.Attempt > 0) }
	case "channel_rename", "group_rename":
		if f.Change == nil {
			return "", nil
		}
		c := f.Change.Payload.Event.Channel
		return c.ID, func(context.Context) error { l.renamed(c.ID, c.Name); return nil }
	case "member_joined_channel":
		if e.User != l.me.user {
			return "", nil
		}
		// Nobody waits for it: looked up now, its name is known when the bot is asked there.
		return e.Channel, func(ctx context.Context) error { _, err := l.channel(ctx, e.Channel); return err }
	case "user_change", "team_join":
		if f.Change == nil {
			return "", nil
		}
		m := f.Change.Payload.Event.User
		return m.ID, func(context.Context) error { l.met(l.me, m, l.cfg.Now()); return nil }
	}
	return "", nil
}

// until does something until it is done: a message that cannot be recorded now
// is not passed over.
func (l *listener) until(do func(context.Context) error, event string) func(context.Context) error {
	return func(ctx context.Context) error {
		for tries := 0; ; tries++ {
			err := do(ctx)
			if err == nil || ctx.Err() != nil {
				return err
			}
			l.cfg.Log.Error("an event is not taken; trying again", "event", event, "error", err)
			sleep(ctx, backoff(tries, err))
		}
	}
}
