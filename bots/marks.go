package bots

import (
	"context"
	"sync"
	"time"
)

// ackTimeout bounds the reaction on hearing: later it would say nothing.
const ackTimeout = 5 * time.Second

// eyes are the reaction on hearing: put on once its moment has come, unless the
// message was answered before. Nil where there is none to put on.
type eyes struct {
	timer *time.Timer   // nil: at once
	tried chan struct{} // closed once it has been tried to put them on

	once sync.Once
	off  bool
}

// watch marks a message as heard, beside everything else, when it has not been
// answered within Config.Marks.
func (r *Runtime) watch(ctx context.Context, h Heard) *eyes {
	if r.reactor == nil || h.Press != nil {
		return nil
	}
	e := &eyes{tried: make(chan struct{})}
	put := func() {
		started := r.goroutine(func() {
			defer close(e.tried)
			r.putOn(ctx, h)
		})
		if !started {
			close(e.tried)
		}
	}
	if r.cfg.Marks <= 0 {
		put()
	} else {
		e.timer = time.AfterFunc(r.cfg.Marks, put)
	}
	return e
}

// putOn puts the reaction on, once.
func (r *Runtime) putOn(ctx context.Context, h Heard) {
	ctx, cancel := context.WithTimeout(ctx, ackTimeout)
	defer cancel()
	if !take(ctx, r.acking) {
		return
	}
	defer func() { <-r.acking }()
	if err := r.reactor.React(ctx, h.ID, ReactionHeard, true); err != nil && ctx.Err() == nil {
		r.cfg.Log.Info("a message could not be marked as heard", "key", h.Key, "error", err)
	}
}

// calledOff sees to it that they are not put on from here on, and tells whether
// they never were: a final mark then has nothing to take the place of.
func (e *eyes) calledOff() bool {
	if e == nil {
		return false
	}
	e.once.Do(func() {
		if e.timer != nil && e.timer.Stop() {
			e.off = true
			return
		}
		<-e.tried
	})
	return e.off
}
