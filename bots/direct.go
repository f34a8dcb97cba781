package bots

import (
	"context"
	"encoding/json"
	"sync"
	"time"

	"platform.dev/platform/bots/markup"
	"platform.dev/platform/commands"
)

// joinWait is how long a message that has been answered waits to be closed in
// one commit with the delivery of its answer.
const joinWait = 100 * time.Millisecond

// direct is a message on its way to the chat straight from whoever said it: it
// was recorded with its attempt, and nobody looked for it in the outbox.
type direct struct {
	done chan struct{} // closed when it is there, or left to the outbox

	mu      sync.Mutex
	outcome string // what to close the message that asked with, beside
	taken   bool   // whoever delivers has looked at it
	closed  bool   // and recorded it
}

// offer records a message under a new key and brings it to its place at once.
// Where something else is on its way there, or has to leave before, it is put
// into the outbox, and what is returned is nil.
func (r *Runtime) offer(ctx context.Context, key string, to commands.Place, p payload) (*direct, error) {
	if err := placed(key, to); err != nil {
		return nil, err
	}
	place, _, err := encode(key, to, nil)
	if err != nil {
		return nil, err
	}
	if !r.seize(string(place)) {
		return nil, r.say(ctx, key, to, p)
	}
	row, offered, err := r.offerRow(ctx, key, place, p)
	if err != nil || !offered {
		r.release(row.place, nil, true)
		return nil, err
	}
	d := &direct{done: make(chan struct{})}
	started := r.goroutine(func() {
		defer close(d.done)
		r.deliverNow(row, p, Outgoing{Key: key, Place: to, Message: p.Message}, d)
	})
	if !started { // Run is ending; the next start looks for it
		close(d.done)
	}
	return d, nil
}

// offerRow records a message as offered, where it can be. Under a key that an
// earlier process has used it is a revision of what that may have sent.
func (r *Runtime) offerRow(ctx context.Context, key string, place []byte, p payload) (row owed, offered bool, err error) {
	row = owed{rev: 1, key: key, place: string(place)}
	if err := r.claim(ctx, key); err != nil {
		return row, false, err
	}
	p.Was = r.mayHaveArrived(key, p.Message)
	r.owes(row.place)
	defer r.owes(row.place)
	if row.body, err = json.Marshal(p); err == nil {
		row.id, offered, err = r.cfg.Outbox.Offer(ctx, key, r.cfg.Bot, place, row.body, r.cfg.Now())
	}
	if err == nil && offered {
		r.begun(row, p.Message)
	} else {
		r.unclaim(key)
	}
	return row, offered, err
}

// seize takes a place to deliver to, unless somebody delivers there.
func (r *Runtime) seize(place string) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if _, busy := r.lanes.busy[place]; busy {
		return false
	}
	r.lanes.busy[place] = false
	if r.lanes.seen != nil {
		r.lanes.seen.places[place] = true
	}
	return true
}

// begun turns the claim of a new row into an attempt at it.
func (r *Runtime) begun(row owed, m markup.Message) {
	r.unclaimAs(row.key, func() {
		r.lanes.open[row.key] = opened{attempted: []markup.Message{m}}
		r.lanes.held[row.key] = false
	})
}

// deliverNow sends a row that was recorded with its attempt.
func (r *Runtime) deliverNow(row owed, p payload, out Outgoing, d *direct) {
	ctx, there := r.life, false
	defer func() { r.release(row.place, []owed{row}, !there) }()
	if !take(ctx, r.sending) {
		return
	}
	defer func() { <-r.sending }()
	r.keepPace(ctx, row.place)
	if ctx.Err() != nil {
		return
	}
	at, err := r.send(ctx, row, p, out, "")
	there = r.attempted(ctx, row, at, err, d)
}

// closes lets whoever delivers the answer close the message that asked with its
// outcome, for as long as that takes a moment only. False: it is still to be closed.
func (d *direct) closes(outcome string) bool {
	if d == nil {
		return false
	}
	d.mu.Lock()
	d.outcome = outcome
	d.mu.Unlock()
	moment := time.NewTimer(joinWait)
	defer moment.Stop()
	select {
	case <-d.done:
	case <-moment.C:
		d.mu.Lock()
		taken := d.taken
		d.taken = true
		d.mu.Unlock()
		if !taken {
			return false
		}
		<-d.done
	}
	return d.closed
}

// take is the outcome to record with the delivery; "" when there is none to record with it.
func (d *direct) take() string {
	if d == nil {
		return ""
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.taken {
		return ""
	}
	d.taken = true
	return d.outcome
}
