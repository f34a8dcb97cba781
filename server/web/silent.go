package web

import (
	"net"
	"net/http"
	"sync"
)

// silent keeps the connections on which no request has begun. Clients dial
// ahead and may never send; at the end the server would wait for them.
type silent struct {
	mu    sync.Mutex
	conns map[net.Conn]bool
	ended bool
}

// watch is a http.Server's ConnState.
func (s *silent) watch(c net.Conn, state http.ConnState) {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case state != http.StateNew:
		delete(s.conns, c)
	case s.ended:
		_ = c.Close() // nothing was sent on it
	default:
		s.conns[c] = true
	}
}

// end closes the connections that are silent, and from now on every new one.
func (s *silent) end() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.ended = true
	for c := range s.conns {
		_ = c.Close() // nothing was sent on it
	}
}
