package runtime

import (
	"context"
	"time"
)

// retry is when a name whose trouble may pass by itself is worth another Apply.
type retry struct {
	at    time.Time // zero: told already, and not asked again since
	tries int
}

// The pause before the n-th retry: it doubles from the first to the longest.
const (
	firstPause   = time.Second
	longestPause = time.Minute
	collectEvery = 10 * time.Minute
)

// pause is how long to wait after tries failures.
func pause(tries int) time.Duration {
	if tries > 6 {
		return longestPause
	}
	return min(firstPause<<tries, longestPause)
}

// again plans the next attempt of a name.
func (s *Server) again(name string) {
	s.mu.Lock()
	r := s.retries[name]
	r.at = s.cfg.Now().Add(pause(r.tries))
	r.tries++
	s.retries[name] = r
	s.mu.Unlock()
	select {
	case s.wake <- struct{}{}:
	default: // Run is awake already
	}
}

// settled forgets the attempts of a name.
func (s *Server) settled(name string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.retries, name)
}

// due takes the names whose time has come, and tells how long until the next; negative for never.
func (s *Server) due(now time.Time) (names []string, next time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	next = -1
	for name, r := range s.retries {
		switch wait := r.at.Sub(now); {
		case r.at.IsZero():
		case wait <= 0:
			names = append(names, name)
			r.at = time.Time{}
			s.retries[name] = r
		case next < 0 || wait < next:
			next = wait
		}
	}
	return names, next
}

// Run tells Changed when a name is worth another Apply, and collects images,
// until ctx ends.
func (s *Server) Run(ctx context.Context) error {
	collect := time.NewTicker(collectEvery)
	defer collect.Stop()
	for {
		names, next := s.due(s.cfg.Now())
		for _, name := range names {
			s.cfg.Changed(name)
		}
		var timer <-chan time.Time
		if next >= 0 {
			timer = time.After(next)
		}
		select {
		case <-ctx.Done():
			return nil
		case <-timer:
		case <-s.wake:
		case <-collect.C:
			if _, err := s.Collect(ctx); err != nil {
				s.cfg.Log.Error("images not collected", "err", err)
			}
		}
	}
}
