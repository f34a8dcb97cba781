package runtime

import "net/http"

// await routes a name under which nothing answers yet to its version to come:
// until that is ready, visitors are told so instead of that nothing is there. A
// prefix that another name holds is left alone; the version tells of it when it
// is ready. The caller holds the name's lock.
func (s *Server) await(v *service) {
	v.mu.Lock()
	n := v.next
	conflicts := n != nil && n.conflict != nil // it is ready, and waits for its prefixes all together
	v.mu.Unlock()
	if n == nil || s.now(v.name).handler != nil {
		return
	}
	s.unawait(v)
	if conflicts {
		return
	}
	var routed plan
	for _, r := range n.spec.plan.routes {
		if s.cfg.Routes.Bind(n.spec.plan.host, r.prefix, v.name, n.handler(r)) == nil {
			routed.host, routed.routes = n.spec.plan.host, append(routed.routes, r)
		}
	}
	v.mu.Lock()
	v.awaited = routed
	v.mu.Unlock()
}

// unawait takes await's routes back, all but those that the name answers at by
// now. The caller holds the name's lock.
func (s *Server) unawait(v *service) {
	v.mu.Lock()
	awaited := v.awaited
	v.awaited = plan{}
	v.mu.Unlock()
	now := s.now(v.name)
	for _, r := range awaited.routes {
		if !now.plan.has(awaited.host, r.prefix) {
			s.cfg.Routes.Unbind(awaited.host, r.prefix, v.name)
		}
	}
}

// unready answers for a version without a process that is ready.
func (n *version) unready(w http.ResponseWriter) {
	n.service.mu.Lock()
	state := "It is being started; ask again in a few seconds."
	if n.failures > 0 {
		state = "It is being started again by itself; ask again in a few seconds."
	}
	n.service.mu.Unlock()
	n.gone(w, http.StatusServiceUnavailable, "It has no process that is ready.", state)
}
