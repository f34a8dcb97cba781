package slack

import (
	"context"
	"sync"
	"time"
)

// Cursor keeps until when everything that was said has been heard, durably.
// bots.Inbox is one.
type Cursor interface {
	// Cursor is what was kept under name last; "" before the first.
	Cursor(ctx context.Context, name string) (value string, err error)
	// SetCursor returns once the value is durable.
	SetCursor(ctx context.Context, name, value string) error
}

const (
	// lapse is how long nobody may have listened before the conversations are read.
	// Slack brings what falls into a shorter time by itself within a minute.
	lapse = 30 * time.Second
	// redelivery is for how long Slack brings an event again that was not
	// acknowledged, or that it could send nobody: at once, after a minute, after five more.
	redelivery = 7 * time.Minute
	// cursorEvery is how often the cursor moves while the bot listens.
	cursorEvery = time.Minute
	// overlap is how far the cursor stays behind: for Slack's clock being another
	// one, and for what was on its way. What is read twice is known by its key.
	overlap = 30 * time.Second
)

// ears know when the workspace was listened to, and when not.
type ears struct {
	now func() time.Time

	mu         sync.Mutex
	streams    int           // open ones
	changed    chan struct{} // one element: streams opened after nobody had listened for a lapse, or for the first time
	deaf       time.Time     // since when no stream has been open
	doubt      time.Time     // what was said then or later may still be on its way again
	doubtUntil time.Time
}

func newEars(now func() time.Time) *ears {
	return &ears{now: now, changed: make(chan struct{}, 1)}
}

// open takes notice that a stream is open.
func (e *ears) open() {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.streams++
	if e.streams > 1 {
		return
	}
	now := e.now()
	if e.deaf.IsZero() || now.Sub(e.deaf) >= lapse {
		select {
		case e.changed <- struct{}{}:
		default:
		}
	}
	if !e.deaf.IsZero() {
		e.doubting(e.deaf, now)
	}
}

// shut takes notice that an open stream has ended.
func (e *ears) shut() {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.streams--; e.streams == 0 {
		e.deaf = e.now()
	}
}

// missed takes notice that an event was left to Slack to bring again.
func (e *ears) missed() {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.doubting(e.now(), e.now())
}

// doubting notes that something said since an instant may come again; the lock is held.
func (e *ears) doubting(since, now time.Time) {
	if e.doubtUntil.Before(now) || since.Before(e.doubt) {
		e.doubt = since
	}
	e.doubtUntil = now.Add(redelivery)
}

// heard is until when everything has come that Slack had to tell, at most at.
func (e *ears) heard(at time.Time) time.Time {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.streams == 0 && e.deaf.Before(at) {
		at = e.deaf
	}
	if e.now().Before(e.doubtUntil) && e.doubt.Before(at) {
		at = e.doubt
	}
	return at
}

// attend keeps known, until ctx ends, what hearing needs to know, and sees to it
// that what was said while nobody listened is heard: before the first stream
// opened, and while there was none for longer than Slack's own patience.
func (l *listener) attend(ctx context.Context) {
	l.turns = map[int]time.Time{0: l.began}
	caught := l.first // up to the cursor nothing is left to be read
	tick := time.NewTicker(cursorEvery)
	defer tick.Stop()
	for ctx.Err() == nil {
		select {
		case <-l.ears.changed:
			began := l.cfg.Now()
			all := l.learn(ctx)
			if l.cfg.Cursor == nil {
				continue
			}
			if caught = l.first || l.catchUp(ctx, all, l.upTo); caught {
				// What is later than this the streams bring; if they ended meanwhile, there is another round.
				l.advance(ctx, began)
			}
			l.first = false
			continue
		case <-tick.C:
		case <-ctx.Done():
		}
		if caught && len(l.ears.changed) == 0 {
			l.advance(ctx, l.done())
		}
	}
}

// begin finds out until when an earlier run has heard everything. Where there was
// none, hearing begins now, and that is kept before anything is heard: else a
// process that ended soon would leave nothing by which the next knows what was said since.
func (l *listener) begin(ctx context.Context) {
	if l.cfg.Cursor == nil {
		return
	}
	l.upTo, l.first = l.cursor(ctx)
	for tries := 0; l.first && l.upTo.IsZero() && ctx.Err() == nil; tries++ {
		if l.advance(ctx, l.began); l.upTo.IsZero() {
			sleep(ctx, backoff(tries, nil))
		}
	}
}

// done is until when everything that Slack told is done with.
func (l *listener) done() time.Time {
	now, oldest := l.lanes.pass()
	l.turns[now] = l.cfg.Now()
	for turn := range l.turns {
		if turn < oldest {
			delete(l.turns, turn)
		}
	}
	return l.ears.heard(l.turns[oldest])
}

// cursor is until when an earlier run has heard everything; first when there was none.
func (l *listener) cursor(ctx context.Context) (upTo time.Time, first bool) {
	for tries := 0; ctx.Err() == nil; tries++ {
		value, err := l.cfg.Cursor.Cursor(ctx, l.cursorName())
		switch {
		case err != nil:
			l.cfg.Log.Error("the cursor cannot be read; trying again", "error", err)
			sleep(ctx, backoff(tries, nil))
		case value == "":
			return time.Time{}, true
		case !timestamp.MatchString(value), instant(value).After(l.cfg.Now()): // written while the clock was wrong
			l.cfg.Log.Error("the cursor is no timestamp of the past; as much is read as may be", "cursor", value)
			return time.Unix(0, 1), false
		default:
			return instant(value), false
		}
	}
	return time.Time{}, false
}

// advance moves the cursor, never back. One that was not stored only makes
// messages be read again, which their keys drop.
func (l *listener) advance(ctx context.Context, to time.Time) {
	to = to.Add(-overlap)
	if l.cfg.Cursor == nil || !to.After(l.upTo) {
		return
	}
	if err := l.cfg.Cursor.SetCursor(context.WithoutCancel(ctx), l.cursorName(), stamp(to)); err != nil {
		l.cfg.Log.Error("the cursor cannot be stored", "error", err)
		return
	}
	l.upTo = to
}

// cursorName is what the cursor is kept under.
func (t *Transport) cursorName() string { return "slack:" + t.cfg.Name }
