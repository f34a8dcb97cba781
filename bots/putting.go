package bots

import "context"

// What is written under one key is written by one at a time, and nothing is
// attempted of it meanwhile: a revision tells what earlier ones an attempt may
// have brought to the chat, and that must not change until it is durable. Keys
// do not wait for each other, so that answers to many share a commit.

// claim waits until nobody else writes the row of a key.
func (r *Runtime) claim(ctx context.Context, key string) error {
	for {
		r.mu.Lock()
		other, busy := r.lanes.putting[key]
		if !busy {
			r.lanes.putting[key] = make(chan struct{})
			r.mu.Unlock()
			return nil
		}
		r.mu.Unlock()
		select {
		case <-other:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// claimHeld claims a row that was read; false when somebody writes it or has revised it since.
func (r *Runtime) claimHeld(key string) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.lanes.revised(key) {
		return false
	}
	r.lanes.putting[key] = make(chan struct{})
	return true
}

// unclaim lets others at the row of a key again. Whoever read it before now may
// hold what it no longer is.
func (r *Runtime) unclaim(key string) {
	r.unclaimAs(key, func() {
		if _, held := r.lanes.held[key]; held {
			r.lanes.held[key] = true
		}
	})
}

// unclaimAs lets a row go and notes what it is now, at once.
func (r *Runtime) unclaimAs(key string, note func()) {
	r.mu.Lock()
	defer r.mu.Unlock()
	close(r.lanes.putting[key])
	delete(r.lanes.putting, key)
	note()
	if r.lanes.seen != nil {
		r.lanes.seen.keys[key] = true
	}
}

// seen is what happens while the outbox is read: rows and places that are
// perhaps no longer what is being read of them.
type seen struct {
	keys, places map[string]bool
}

// isRevised tells whether a row that is held has to be read again. Whoever revises it wakes once that is done.
func (r *Runtime) isRevised(key string) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.lanes.revised(key)
}

// revised tells whether a row that is held is perhaps no longer what was read. Runtime.mu is held.
func (l *lanes) revised(key string) bool {
	_, putting := l.putting[key]
	return putting || l.held[key]
}
