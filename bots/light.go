package bots

import (
	"context"
	"fmt"
	"sync"
	"time"

	"platform.dev/platform/bots/markup"
	"platform.dev/platform/commands"
)

const (
	briefBytes = 3000 // of the JSON of an answer that is sent without being recorded
	slowVerbs  = 256  // that are remembered
)

// short tells whether a message asks for a read that is open to whoever sent it,
// and what it asks for.
func (r *Runtime) short(ctx context.Context, h Heard) (*parsed, bool) {
	if h.Press != nil || r.reactor != nil && r.cfg.Marks <= 0 {
		return nil, false
	}
	p := r.parse(h)
	if p.err != nil || p.call.Command.Effect != commands.Read || len(p.call.Actions()) > 0 {
		return p, false
	}
	_, known := r.cfg.Directory.Person(ctx, h.ChatID)
	return p, known
}

// begins begins to answer a short read, unless it would have to wait, for those
// before it in its place or for what is owed there, or may not be asked now.
func (r *Runtime) begins(ctx context.Context, l *light) bool {
	if r.isSlow(l.h.parsed.call.Verb) {
		return false
	}
	select {
	case r.running <- struct{}{}:
	default:
		return false
	}
	if r.clear(ctx, l.h.Place) && r.settleIn(l.h.Place) {
		if r.admits(l) && r.goroutine(func() { r.answerLight(ctx, l) }) {
			return true
		}
		r.leave(ctx, l.h.Place)
	}
	<-r.running
	return false
}

// admits tells whether its author may ask now. It is then being answered.
func (r *Runtime) admits(l *light) bool {
	l.h.pace, l.h.paced = r.rates.admit(l.h.ChatID, l.h.at), true
	l.mu.Lock()
	defer l.mu.Unlock()
	l.begun = l.h.pace.ok
	return l.begun
}

// settleIn takes the place of the one that answers the messages of a place, when nobody has.
func (r *Runtime) settleIn(place commands.Place) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if _, atWork := r.queues[place]; atWork {
		return false
	}
	r.queues[place] = nil
	return true
}

// leave hands a place over to whoever answers what has come meanwhile.
func (r *Runtime) leave(ctx context.Context, place commands.Place) {
	r.mu.Lock()
	idle := len(r.queues[place]) == 0
	if idle {
		delete(r.queues, place)
	}
	r.mu.Unlock()
	if !idle {
		r.goroutine(func() { r.work(ctx, place) })
	}
}

// isSlow tells whether a verb took longer than the grace when it was last asked:
// to wait for it would only keep the chat waiting.
func (r *Runtime) isSlow(verb string) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	slow, _ := r.slow.Get(verb)
	return slow
}

// noteTook takes notice of how long a verb took.
func (r *Runtime) noteTook(verb string, took time.Duration) {
	if r.recaller == nil || verb == "" {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.slow.Put(verb, took > grace)
}

// answerLight answers a short read and lets the next message of its place begin.
func (r *Runtime) answerLight(ctx context.Context, l *light) {
	next := sync.OnceFunc(func() { r.leave(ctx, l.h.Place) })
	defer next()
	l.runs()
	y := r.replyTo(l.h, next)
	y.light = l
	outcome, ok := r.carry(ctx, l.h, y)
	<-r.running
	if !ok {
		r.took(l, fmt.Errorf("message %s: %w", l.h.Key, context.Canceled))
		return
	}
	if m := y.kept(); m != nil && !r.sendLight(ctx, l, y, *m) {
		return
	}
	next()
	if h, recorded := l.heard(); recorded {
		r.conclude(ctx, h, y, outcome)
	}
}

// sendLight sends an answer that nobody has recorded; false when Run is ending
// before that is done. What cannot be sent at once is recorded, and owed.
func (r *Runtime) sendLight(ctx context.Context, l *light, y *reply, m markup.Message) bool {
	if !l.sends(r.cfg.Now()) {
		return r.owe(ctx, l, y, m)
	}
	sent, unknown := r.sendOnce(ctx, l, m)
	switch {
	case sent:
		y.shown() // before the chat tells of the next one
		r.took(l, nil)
		return true
	case ctx.Err() != nil:
		r.took(l, ctx.Err())
		return false
	case !unknown:
		l.sentNothing()
	}
	return r.owe(ctx, l, y, m)
}

// runs notes that its command has begun.
func (l *light) runs() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.running = true
}

// sends notes that an answer may be in the chat from now on; false when the
// message is recorded, and its answer is to be as well before it is sent.
func (l *light) sends(now time.Time) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if !l.recorded {
		l.since = now
	}
	return !l.recorded
}

// sentNothing notes that no answer is in the chat, unless it is recorded that one may be.
func (l *light) sentNothing() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if !l.recorded {
		l.since = time.Time{}
	}
}

// sendOnce makes the one attempt; unknown tells that the answer may be there all the same.
func (r *Runtime) sendOnce(ctx context.Context, l *light, m markup.Message) (sent, unknown bool) {
	out := Outgoing{Key: l.h.Key + answerMark, Place: l.h.Place, Message: m}
	if place, _, err := encode(out.Key, out.Place, nil); err == nil {
		r.keepPace(ctx, string(place))
	}
	began := r.cfg.Now()
	_, err := r.cfg.Transport.Send(ctx, out)
	r.sendTook.Store(int64(r.cfg.Now().Sub(began)))
	if err == nil {
		return true, false
	}
	r.cfg.Log.Info("an answer is not sent at once", "key", out.Key, "why", err)
	return false, arrivedPerhaps(err)
}

// owe records a message and its answer, for as long as that takes.
func (r *Runtime) owe(ctx context.Context, l *light, y *reply, m markup.Message) bool {
	for {
		err := r.recordHeard(ctx, l)
		if err == nil {
			h, fresh := l.heard()
			if !fresh {
				return false // whoever recorded it answers it
			}
			y.lasts(h.since)
			err = y.put(ctx, m)
		}
		if err == nil {
			return true
		}
		if ctx.Err() != nil {
			r.took(l, ctx.Err())
			return false
		}
		r.cfg.Log.Error("an answer cannot be recorded; trying again", "key", l.h.Key, "error", err)
		pause(ctx, storePause)
	}
}
