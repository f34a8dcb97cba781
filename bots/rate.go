package bots

import (
	"sync"
	"time"

	"golang.org/x/time/rate"
)

// Rate is how much one person may ask of a bot: so many at once, and so many a
// minute from then on. The zero value limits nothing.
type Rate struct {
	PerMinute, Burst int
}

// DefaultRate is as fast as a person types, with room for a list that is pasted.
var DefaultRate = Rate{PerMinute: 20, Burst: 10}

// people that are remembered. Beyond it those are forgotten who may ask as much
// as anybody new, then any: who is forgotten may ask a little more.
const ratedPeople = 4096

// rates keeps each person to the rate. The clock is when messages were heard, so
// that a message that is answered again after a restart is not too fast then.
type rates struct {
	limit Rate

	mu sync.Mutex
	by map[string]*pacing
}

// pacing is one person's.
type pacing struct {
	bucket *rate.Limiter
	last   time.Time
	over   bool // the last message was too fast: an episode
}

func newRates(limit Rate) *rates { return &rates{limit: limit, by: map[string]*pacing{}} }

// pace is whether a message came at a time when its author might ask. When not,
// wait is how long until they may, and first that nobody has told them yet.
type pace struct {
	ok, first bool
	wait      time.Duration
}

// admit tells whether a person may ask now. It is called in the order in which messages were heard.
func (r *rates) admit(chatID string, now time.Time) pace {
	if r.limit.PerMinute <= 0 {
		return pace{ok: true}
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	p := r.by[chatID]
	if p == nil {
		r.forget(now)
		p = &pacing{bucket: rate.NewLimiter(rate.Limit(r.limit.PerMinute)/60, max(r.limit.Burst, 1))}
		r.by[chatID] = p
	}
	if now.Before(p.last) {
		now = p.last
	}
	p.last = now
	if p.bucket.AllowN(now, 1) {
		p.over = false
		return pace{ok: true}
	}
	first := !p.over
	p.over = true
	lacking := 1 - p.bucket.TokensAt(now)
	return pace{first: first, wait: time.Duration(lacking / float64(p.bucket.Limit()) * float64(time.Second))}
}

// forget makes room for one more.
func (r *rates) forget(now time.Time) {
	if len(r.by) < ratedPeople {
		return
	}
	for id, p := range r.by {
		if p.bucket.TokensAt(now) >= float64(p.bucket.Burst()) {
			delete(r.by, id)
		}
	}
	for id := range r.by {
		if len(r.by) < ratedPeople {
			return
		}
		delete(r.by, id)
	}
}
