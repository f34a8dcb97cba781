package bots

import (
	"context"
	"encoding/json"
	"fmt"
	"sync"
	"time"
)

const (
	grace        = 5 * time.Millisecond // in which a read may be answered without being recorded
	sendGrace    = 4 * grace            // in all, once its answer is being sent
	clocksApart  = 2 * time.Second      // how far a chat's clock may be from ours
	freshFor     = 30 * time.Second     // an older message may have been told of before
	rememberKeys = 1 << 15              // of messages that were taken lately: the chat may tell of them twice
)

// light is a message being taken over a chat that tells of it again until it is
// acknowledged, which is when hear returns. A short read is answered meanwhile,
// without being recorded: killed before the acknowledgement, it is told again,
// and its answer looked for by its key. When that takes longer than the grace,
// or the command does more than answer, it is recorded as any other message is.
type light struct {
	h    hearing
	over chan struct{} // closed once the chat need not tell of it again, or err says why it must

	mu       sync.Mutex
	begun    bool      // it is to be answered, and is recorded only when that takes long
	running  bool      // its command has begun
	since    time.Time // when an answer may have been sent first; zero when none was
	recorded bool
	known    bool // when it was recorded it turned out that it had been before
	eyes     *eyes
	ended    bool // over is closed
	err      error
}

// again tells whether the chat may have told an earlier process of a message.
// What was written before this one began may be told here for the first time
// although the same message was told there in another way.
func (r *Runtime) again(h Heard) bool {
	return h.Again || h.At.Before(r.began.Add(clocksApart)) || r.cfg.Now().Sub(h.At) > freshFor
}

// meet is the message under a key as it is being taken; first tells that nobody
// takes it yet. It is nil when it was taken.
func (r *Runtime) meet(h Heard, at time.Time) (l *light, first bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if _, taken := r.taken.Get(h.Key); taken {
		return nil, false
	}
	if l, busy := r.taking[h.Key]; busy {
		return l, false
	}
	l = &light{h: hearing{Heard: h, at: at}, over: make(chan struct{})}
	r.taking[h.Key] = l
	return l, true
}

// took ends the taking of a message; with an error the chat has to tell of it again.
func (r *Runtime) took(l *light, err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	r.tookLocked(l, err)
}

func (r *Runtime) tookLocked(l *light, err error) {
	if l.ended {
		return
	}
	l.ended, l.err = true, err
	r.mu.Lock()
	delete(r.taking, l.h.Key)
	if err == nil {
		r.taken.Put(l.h.Key, true)
	}
	r.mu.Unlock()
	close(l.over)
}

// hearAgain is hear for a chat that tells again of what was not acknowledged.
func (r *Runtime) hearAgain(ctx context.Context, h Heard) error {
	l, first := r.meet(h, r.cfg.Now())
	switch {
	case l == nil:
		return nil
	case !first:
		return r.await(ctx, l)
	}
	call, short := r.short(ctx, h)
	l.h.parsed = call
	if again := short && r.again(h); again {
		l.answeredSince(h.At)
	} else if short && r.begins(ctx, l) {
		return r.await(ctx, l)
	}
	err := r.recordHeard(ctx, l)
	if h, fresh := l.heard(); err == nil && fresh {
		r.queue(ctx, h)
	}
	r.took(l, err)
	return err
}

// answeredSince notes since when an answer may have been sent.
func (l *light) answeredSince(at time.Time) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.since = at
}

// heard is the message as it was recorded; fresh tells that it had not been before.
func (l *light) heard() (h hearing, fresh bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	h = l.h
	h.since, h.eyes = l.since, l.eyes
	return h, l.recorded && !l.known
}

// await waits until a message was answered, or records it once the grace has passed.
func (r *Runtime) await(ctx context.Context, l *light) error {
	moments := time.NewTicker(grace)
	defer moments.Stop()
	for waited := grace; ; waited += grace {
		select {
		case <-l.over:
			return l.err
		case <-moments.C:
			if !r.awaits(l, waited) {
				return r.recordHeard(ctx, l)
			}
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// awaits tells whether to wait on for a message that was waited for so long: for
// whoever takes it, who records it where it must be, or for its answer to be
// sent, when that takes no longer lately than it may here.
func (r *Runtime) awaits(l *light, waited time.Duration) bool {
	l.mu.Lock()
	begun, running, sending := l.begun, l.running, !l.since.IsZero()
	l.mu.Unlock()
	switch {
	case !begun:
		return true
	case sending:
		return waited < sendGrace && time.Duration(r.sendTook.Load()) < sendGrace
	case running:
		r.noteTook(l.h.parsed.call.Verb, waited+1)
	}
	return false
}

// recordHeard records a message that is being taken, once. From here on it is owed an
// answer as any other message is.
func (r *Runtime) recordHeard(ctx context.Context, l *light) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.recorded || l.ended {
		return l.err
	}
	payload, err := json.Marshal(record{Bot: r.cfg.Bot, Heard: l.h.Heard, Since: l.since})
	if err != nil {
		return fmt.Errorf("hear %s: %w", l.h.Key, err)
	}
	fresh, err := r.cfg.Inbox.Hear(ctx, l.h.Key, l.h.at, payload)
	if err != nil {
		return err
	}
	l.recorded, l.known = true, !fresh
	if fresh {
		l.eyes = r.watch(ctx, l.h.Heard)
	}
	r.tookLocked(l, nil)
	return nil
}
