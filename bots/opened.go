package bots

import (
	"context"
	"reflect"
	"slices"
	"time"

	"platform.dev/platform/bots/markup"
)

// opened is an attempt to post a row that was begun and whose end was not
// recorded: which of these messages is in the chat, if any, is not known.
type opened struct {
	attempted []markup.Message
	missed    bool // none of them can be: there is nothing to look for
}

// aeon is longer than any row is put off for.
const aeon = 100 * 365 * 24 * time.Hour

// recall reads the attempts that an earlier run left open, once and before
// anything revises the rows: whoever says something may come before Run.
func (r *Runtime) recall(ctx context.Context) error {
	r.recalling.Lock()
	defer r.recalling.Unlock()
	if r.recalled {
		return nil
	}
	err := r.cfg.Outbox.Owed(ctx, r.cfg.Bot, r.cfg.Now().Add(aeon), func(_ int64, key string, place, body []byte, _ int64, _ string, tried time.Time) error {
		r.owes(string(place))
		_, p, err := owed{place: string(place), body: body}.decode()
		if err == nil && !tried.IsZero() {
			r.mu.Lock()
			r.lanes.open[key] = opened{attempted: append(p.Was, p.Message)}
			r.mu.Unlock()
		}
		return nil // a row that cannot be read is dropped when it is due
	})
	r.recalled = err == nil
	return err
}

// begin opens an attempt at a row. It returns false when the row was revised
// since it was read: it is then read again. From here on until the attempt's
// end is recorded, a revision carries along what was attempted.
func (r *Runtime) begin(row owed, p payload) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.lanes.revised(row.key) {
		return false
	}
	var attempted []markup.Message
	if before := r.lanes.open[row.key]; !before.missed {
		attempted = slices.Clone(before.attempted)
	}
	if !slices.ContainsFunc(attempted, func(m markup.Message) bool { return reflect.DeepEqual(m, p.Message) }) {
		attempted = append(attempted, p.Message)
	}
	r.lanes.open[row.key] = opened{attempted: attempted}
	return true
}

// missed notes that nothing of what was attempted can have arrived.
func (r *Runtime) missed(key string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if o, ok := r.lanes.open[key]; ok {
		o.missed = true
		r.lanes.open[key] = o
	}
}

// hasMissed tells whether nothing of what was attempted can have arrived.
func (r *Runtime) hasMissed(key string) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.lanes.open[key].missed
}

// forget drops what was remembered of a row's attempts.
func (r *Runtime) forget(row owed) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.lanes.open, row.key)
	delete(r.lanes.fails, row.id)
}

// mayHaveArrived are the messages other than m that attempts at a key may have
// brought to the chat, each once.
func (r *Runtime) mayHaveArrived(key string, m markup.Message) (list []markup.Message) {
	r.mu.Lock()
	defer r.mu.Unlock()
	o := r.lanes.open[key]
	if o.missed {
		return nil
	}
	for _, a := range o.attempted {
		same := func(b markup.Message) bool { return reflect.DeepEqual(a, b) }
		if !same(m) && !slices.ContainsFunc(list, same) {
			list = append(list, a)
		}
	}
	return list
}
