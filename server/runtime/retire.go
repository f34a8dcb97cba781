package runtime

import (
	"context"
	"maps"
	"slices"
	"time"
)

// retire waits until the version has answered what it was asked, for a bounded
// time, and ends it. Nothing new reaches it: it is the service's current no more.
func (n *version) retire() {
	n.service.mu.Lock()
	n.idle = make(chan struct{})
	if n.requests == 0 {
		close(n.idle)
	}
	idle := n.idle
	n.service.mu.Unlock()
	timer := time.NewTimer(n.service.s.cfg.Times.Drain)
	defer timer.Stop()
	select {
	case <-idle:
	case <-timer.C:
		n.service.s.cfg.Log.Warn("requests cut off: they took longer than a replaced process is kept", "name", n.spec.name)
	case <-n.service.s.life.Done():
	case <-n.done:
	}
	n.end()
	<-n.done
}

// abandon gives up the version to come, when there is one: it is not wanted any
// more, although what is wanted in its place cannot run.
func (s *Server) abandon(name string) {
	v := s.known(name)
	if v == nil {
		return
	}
	s.unawait(v)
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.next != nil {
		v.next.end()
		v.next = nil
	}
}

// dismiss has nothing run for the name any more, if it has a service at all:
// what answers requests finishes them.
func (s *Server) dismiss(name string) {
	v := s.known(name)
	if v == nil {
		return
	}
	s.unawait(v)
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.next != nil {
		v.next.end()
	}
	if before := v.current; before != nil {
		s.all.Go(before.retire)
	}
	v.current, v.next = nil, nil
}

// stop ends every process of a name, when it has any, and waits until they have ended.
func (s *Server) stop(ctx context.Context, name string) error {
	v := s.known(name)
	if v == nil {
		return nil
	}
	s.unawait(v)
	v.mu.Lock()
	v.current, v.next = nil, nil
	living := slices.Collect(maps.Keys(v.living))
	v.mu.Unlock()
	for _, n := range living {
		n.end()
	}
	for _, n := range living {
		select {
		case <-n.done:
		case <-ctx.Done():
			return ctx.Err() // they end all the same
		}
	}
	s.mu.Lock()
	delete(s.services, name)
	s.mu.Unlock()
	return s.logs.close(name)
}
