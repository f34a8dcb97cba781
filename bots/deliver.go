package bots

import (
	"context"
	"maps"
	"time"
)

const (
	lookEvery   = time.Second // how often the outbox is looked at when nobody wakes
	placesAhead = 256         // places looked at at a time
	rowsAhead   = 16          // rows of one place taken at a time
	storePause  = time.Second // after an error of the store
	firstRetry  = time.Second
	lastRetry   = 15 * time.Second
	retryJitter = 4 // a retry of which the chat says no time is late by up to a quarter
)

// lanes is what delivering remembers, guarded by Runtime.mu. Losing it in a
// crash costs look-ups (was it delivered?), never a message.
type lanes struct {
	busy    map[string]bool          // places that a goroutine delivers to; true once more is known to be owed there
	paced   map[string]time.Time     // when a place may be posted to again
	putting map[string]chan struct{} // keys of rows that are being written; closed once they are not
	held    map[string]bool          // keys of rows that were read and not delivered yet; true once revised since
	seen    *seen                    // while the outbox is read
	after   []byte                   // the place to go on reading after
	owing   map[string]uint64        // places to which something is perhaps owed, by the number of their last put
	puts    uint64                   // how often anything was put
	open    map[string]opened        // attempts whose end was not recorded, by key
	fails   map[int64]int            // failed attempts in a row, per row
}

func newLanes() lanes {
	return lanes{
		busy: map[string]bool{}, paced: map[string]time.Time{}, putting: map[string]chan struct{}{}, held: map[string]bool{},
		open: map[string]opened{}, owing: map[string]uint64{}, fails: map[int64]int{},
	}
}

// deliver empties the outbox until ctx ends: one goroutine per place that is
// owed something, a bounded number at work, so that a place that waits (a rate
// limit, an outage) holds up nobody else.
func (r *Runtime) deliver(ctx context.Context) {
	look := time.NewTicker(lookEvery)
	defer look.Stop()
	for ctx.Err() == nil {
		r.listen()
		if err := r.dispatch(ctx); err != nil && ctx.Err() == nil {
			r.cfg.Log.Error("the outbox cannot be read", "error", err)
			pause(ctx, storePause)
			continue
		}
		select {
		case <-ctx.Done():
		case <-r.wake:
		case <-look.C:
		}
	}
}

// dispatch hands what is due to one goroutine per place, except where one is at
// work. It looks at some places at a time; when there are more, the next look
// goes on with those.
func (r *Runtime) dispatch(ctx context.Context) error {
	r.forgetPaces()
	r.sweep(ctx)
	// Places are free or not as of before the rows are read: a place that becomes
	// free meanwhile has rows that are no longer what is being read.
	busy := r.looks()
	defer r.looked()
	due := map[string][]owed{}
	var order []string
	last, err := r.cfg.Outbox.Due(ctx, r.cfg.Bot, r.cfg.Now(), r.lanes.after, placesAhead, rowsAhead,
		func(id int64, key string, place, body []byte, rev int64, sentID string, tried time.Time) error {
			p := string(place)
			if _, seen := due[p]; !seen {
				order = append(order, p)
			}
			due[p] = append(due[p], owed{id: id, rev: rev, key: key, place: p, body: body, sentID: sentID, tried: tried})
			return nil
		})
	if err != nil {
		return err
	}
	r.lanes.after = last
	started := 0
	for _, place := range order {
		if started == deliveriesAtOnce || !r.hold(place, due[place], busy) {
			continue
		}
		started++
		if !r.goroutine(func() { r.deliverTo(ctx, place, due[place]) }) {
			return nil
		}
	}
	if last != nil && started > 0 {
		r.Wake()
	}
	return nil
}

// deliverTo delivers a place's rows in order, up to the first that must wait.
func (r *Runtime) deliverTo(ctx context.Context, place string, rows []owed) {
	again := true // there may be more
	defer func() { r.release(place, rows, again) }()
	if !take(ctx, r.sending) {
		return
	}
	defer func() { <-r.sending }()
	for _, row := range rows {
		r.keepPace(ctx, place)
		if ctx.Err() != nil {
			return
		}
		if !r.attempt(ctx, row) {
			again = !r.isRevised(row.key)
			return
		}
	}
}

// looks begins to read the outbox: the places that goroutines deliver to are let be.
func (r *Runtime) looks() (busy map[string]bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.lanes.seen = &seen{keys: map[string]bool{}, places: map[string]bool{}}
	return maps.Clone(r.lanes.busy)
}

// looked ends what looks began.
func (r *Runtime) looked() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.lanes.seen = nil
}

// hold takes a place and rows that were read for it, to deliver them. It returns
// false when somebody delivers there, or did when they were read; who does is told that more is owed.
func (r *Runtime) hold(place string, rows []owed, busy map[string]bool) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if _, known := r.lanes.owing[place]; !known {
		r.lanes.owing[place] = 0 // put by somebody else
	}
	_, now := r.lanes.busy[place]
	_, before := busy[place]
	switch {
	case now:
		r.lanes.busy[place] = true
		return false
	case before || r.lanes.seen.places[place]:
		r.Wake() // it became free again: what was read is of before
		return false
	}
	r.lanes.busy[place] = false
	for _, row := range rows {
		_, putting := r.lanes.putting[row.key]
		r.lanes.held[row.key] = putting || r.lanes.seen.keys[row.key]
	}
	return true
}

// release lets a place and its rows go; again when more may be owed there.
func (r *Runtime) release(place string, rows []owed, again bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	again = again || r.lanes.busy[place]
	delete(r.lanes.busy, place)
	for _, row := range rows {
		delete(r.lanes.held, row.key)
	}
	if again {
		r.Wake()
	}
}

// keepPace waits until the place may be posted to, and takes the next moment.
func (r *Runtime) keepPace(ctx context.Context, place string) {
	if r.cfg.Pace <= 0 {
		return
	}
	r.mu.Lock()
	now := r.cfg.Now()
	at := r.lanes.paced[place]
	if at.Before(now) {
		at = now
	}
	r.lanes.paced[place] = at.Add(r.cfg.Pace)
	r.mu.Unlock()
	pause(ctx, at.Sub(now))
}

// forgetPaces drops moments that have passed.
func (r *Runtime) forgetPaces() {
	r.mu.Lock()
	defer r.mu.Unlock()
	now := r.cfg.Now()
	for place, at := range r.lanes.paced {
		if at.Before(now) {
			delete(r.lanes.paced, place)
		}
	}
}
