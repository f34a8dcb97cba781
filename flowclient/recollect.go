package flowclient

import (
	"context"
	"sync"
	"time"
)

// recollection is what the controller itself remembers that decisions follow
// from, read at once: it is of every project, and is never changed.
type recollection struct {
	locks    map[string][]Lock // by component, oldest first
	holds    map[string]Hold   // by component
	backoffs map[string]time.Time
	freezes  []Freeze
}

// recollect reads it.
func (c *Controller) recollect(ctx context.Context) (*recollection, error) {
	now := c.deps.Now()
	r := &recollection{locks: map[string][]Lock{}, holds: map[string]Hold{}, backoffs: map[string]time.Time{}}
	locks, err := c.deps.Locks.Locks(ctx)
	if err != nil {
		return nil, err
	}
	for _, l := range locks {
		r.locks[l.Component] = append(r.locks[l.Component], l)
	}
	if c.deps.Freezes != nil {
		if r.freezes, err = c.deps.Freezes.Freezes(ctx, now); err != nil {
			return nil, err
		}
	}
	if c.deps.Standings == nil {
		return r, nil
	}
	holds, err := c.deps.Standings.Holds(ctx)
	if err != nil {
		return nil, err
	}
	for _, h := range holds {
		r.holds[h.Component] = h
	}
	backoffs, err := c.deps.Standings.Backoffs(ctx, now)
	if err != nil {
		return nil, err
	}
	for _, b := range backoffs {
		r.backoffs[b.Component] = b.Until
	}
	return r, nil
}

// addTo adds what a decision of now looks at. It may have been read a while
// ago: what has ended since is left out, as it would not be read any more.
func (r *recollection) addTo(s *snapshot, now time.Time) {
	for _, f := range r.freezes {
		if f.concerns(s.Project.Metadata.Name) && f.Until.After(now) {
			s.Freezes = append(s.Freezes, f)
		}
	}
	for i := range s.Components {
		f := &s.Components[i]
		f.Locks = append([]Lock(nil), r.locks[f.Name]...)
		if hold, held := r.holds[f.Name]; held {
			f.Hold = &hold
		}
		if until := r.backoffs[f.Name]; until.After(now) {
			f.Backoff = &until
		}
		f.keepRelevant()
	}
}

// recollections reads it once for everything that a pass decides, and again
// when it changed meanwhile: a rollback that was carried out while the pass was
// under way holds from then on.
type recollections struct {
	c    *Controller
	mu   sync.Mutex
	at   uint64 // see Controller.recalls
	last *recollection
}

func (r *recollections) read(ctx context.Context) (*recollection, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	at := r.c.recalls.Load() // before it is read: what changes during that is read again
	if r.last != nil && r.at == at {
		return r.last, nil
	}
	last, err := r.c.recollect(ctx)
	if err != nil {
		return nil, err
	}
	r.last, r.at = last, at
	return last, nil
}
