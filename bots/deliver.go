package bots

import (
	"context"
	"errors"
	"maps"
	"time"
)

const (
	lookEvery   = time.Second // how often the outbox is looked at when nobody wakes
	rowsAhead   = 16          // rows of one place taken at a time
	storePause  = time.Second // after an error of the store
	firstRetry  = time.Second
	lastRetry   = 15 * time.Second
	retryJitter = 4 // a retry is late by up to a quarter
)

// lanes is what delivering remembers, guarded by Runtime.mu. Losing it in a
// crash costs look-ups (was it delivered?), never a message.
type lanes struct {
	busy  map[string]bool      // places that a goroutine delivers to
	paced map[string]time.Time // when a place may be posted to again
	held  map[string]bool      // keys of rows that were read and not delivered yet; true once revised since
	open  map[string]opened    // attempts whose end was not recorded, by key
	fails map[int64]int        // failed attempts in a row, per row
}

func newLanes() lanes {
	return lanes{
		busy: map[string]bool{}, paced: map[string]time.Time{}, held: map[string]bool{}, open: map[string]opened{}, fails: map[int64]int{},
	}
}

// errEnough ends a visit of the outbox early.
var errEnough = errors.New("enough rows")

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

// dispatch hands what is due to one goroutine per place, except where one is at work.
func (r *Runtime) dispatch(ctx context.Context) error {
	r.forgetPaces()
	r.puts.Lock() // no revision falls between reading a row and holding it
	defer r.puts.Unlock()
	// Places are free or not as of before the rows are read: a place that becomes
	// free meanwhile has rows that are no longer what is being read.
	busy := r.busyPlaces()
	due := map[string][]owed{}
	var order []string
	err := r.cfg.Outbox.Owed(ctx, r.cfg.Bot, r.cfg.Now(), func(id int64, key string, place, body []byte, rev int64, sentID string, tried time.Time) error {
		p := string(place)
		rows, seen := due[p]
		switch {
		case busy[p] || len(rows) == rowsAhead:
			return nil
		case !seen && len(order) == deliveriesAtOnce:
			return errEnough
		case !seen:
			order = append(order, p)
		}
		due[p] = append(rows, owed{id: id, rev: rev, key: key, place: p, body: body, sentID: sentID, tried: tried})
		return nil
	})
	if err != nil && !errors.Is(err, errEnough) {
		return err
	}
	for _, place := range order {
		r.hold(place, due[place])
		if !r.goroutine(func() { r.deliverTo(ctx, place, due[place]) }) {
			return nil
		}
	}
	return nil
}

// deliverTo delivers a place's rows in order, up to the first that must wait.
func (r *Runtime) deliverTo(ctx context.Context, place string, rows []owed) {
	defer r.Wake() // there may be more; runs after the place is free again
	defer r.release(place, rows)
	if !take(ctx, r.sending) {
		return
	}
	defer func() { <-r.sending }()
	for _, row := range rows {
		r.keepPace(ctx, place)
		if ctx.Err() != nil || !r.attempt(ctx, row) {
			return
		}
	}
}

// busyPlaces are the places that goroutines deliver to.
func (r *Runtime) busyPlaces() map[string]bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return maps.Clone(r.lanes.busy)
}

// hold notes that a goroutine will deliver rows to a place; release, that it has ended.
func (r *Runtime) hold(place string, rows []owed) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.lanes.busy[place] = true
	for _, row := range rows {
		r.lanes.held[row.key] = false
	}
}

func (r *Runtime) release(place string, rows []owed) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.lanes.busy, place)
	for _, row := range rows {
		delete(r.lanes.held, row.key)
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
