package runtime

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"
)

// service is what runs under a name whose component has a process: the version
// that answers, and the one that will once it is ready.
type service struct {
	s    *Server
	name string

	mu      sync.Mutex
	current *version              // nil before the first is ready
	next    *version              // nil when there is nothing to wait for
	awaited plan                  // routed to next, since nothing answers under the name yet
	living  map[*version]struct{} // those two, and the replaced ones that still answer
}

// version keeps one spec's command running: when it ends, it is started again
// after a pause that grows. Its fields below spec are guarded by the service's mu.
type version struct {
	service *service
	spec    spec
	end     context.CancelFunc // stops it; done tells when
	done    chan struct{}      // closed when no process of it is left
	unwant  func()             // lets Collect have its image

	up       *backend // the process that answers; nil while there is none
	requests int      // under way
	idle     chan struct{}
	starts   int    // of processes so far
	failures int    // in a row
	reason   string // of the last failure; empty before the first
	message  string
	conflict error // why it is ready and yet not routed
}

// timeout is a process that was not ready in time.
type timeout struct {
	after time.Duration
	last  error // of the last look
}

func (t *timeout) Error() string {
	return fmt.Sprintf("was not ready after %s; the last answer: %v", t.after, t.last)
}

// service gives the service of a name.
func (s *Server) service(name string) *service {
	s.mu.Lock()
	defer s.mu.Unlock()
	v := s.services[name]
	if v == nil {
		v = &service{s: s, name: name, living: map[*version]struct{}{}}
		s.services[name] = v
	}
	return v
}

// known is the service of a name; nil when it has none.
func (s *Server) known(name string) *service {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.services[name]
}

// runService makes the process of d run. It returns at once: the process
// becomes ready, and takes the routes, in its own time, and Changed tells.
func (s *Server) runService(ctx context.Context, d Deployment) (DeploymentStatus, error) {
	p, err := planOf(d, s.cfg.Domain)
	if err != nil {
		return DeploymentStatus{}, err
	}
	ref, err := digestRef(d)
	if err != nil {
		return DeploymentStatus{}, err
	}
	key := ref.DigestStr() + treeSuffix
	defer s.want(key)()
	t, err := s.openTree(ctx, ref)
	if err != nil {
		return DeploymentStatus{}, err
	}
	sp, err := specOf(d, p, t)
	if err != nil {
		return DeploymentStatus{}, err
	}
	// The record comes first: after a crash here, Collect spares the image.
	if err := writeRecord(s.recordsDir(), d.Name, key); err != nil {
		return DeploymentStatus{}, err
	}
	v := s.service(d.Name)
	v.desire(sp) //nolint:contextcheck // what it starts outlives this call
	s.await(v)
	if waiting := v.ready(); waiting != nil {
		s.promote(waiting)
	}
	return v.status(), nil
}

// desire makes sp the version to come, unless it runs or comes already.
func (v *service) desire(sp spec) {
	v.mu.Lock()
	defer v.mu.Unlock()
	switch {
	case v.next != nil && v.next.spec.id == sp.id:
		return
	case v.next != nil:
		v.next.end() // nothing is routed to it
		v.next = nil
	}
	if v.current != nil && v.current.spec.id == sp.id {
		return
	}
	ctx, end := context.WithCancel(v.s.life)
	v.next = &version{service: v, spec: sp, end: end, done: make(chan struct{}), unwant: v.s.want(sp.tree.key)}
	v.living[v.next] = struct{}{}
	next := v.next
	v.s.all.Go(func() { next.run(ctx) })
}

// ready is the version to come when it could answer already; nil otherwise.
func (v *service) ready() *version {
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.next != nil && v.next.up != nil {
		return v.next
	}
	return nil
}

// run starts the command again and again until ctx ends.
func (n *version) run(ctx context.Context) {
	defer n.finish()
	for {
		failure, healthy := n.once(ctx)
		if ctx.Err() != nil {
			return
		}
		pause := n.failed(failure, healthy)
		n.service.s.cfg.Log.Warn("process failed", "name", n.spec.name, "err", failure, "again_in", pause)
		n.service.s.cfg.Changed(n.spec.name)
		select {
		case <-time.After(pause):
		case <-ctx.Done():
			return
		}
	}
}

// finish notes that no process of the version is left.
func (n *version) finish() {
	n.end()
	n.unwant()
	n.service.mu.Lock()
	delete(n.service.living, n)
	n.service.mu.Unlock()
	close(n.done)
}

// once runs the command one time. The error tells why it ended; healthy that
// it had been ready for so long that its end is a new trouble.
func (n *version) once(ctx context.Context) (failure error, healthy bool) {
	s, times := n.service.s, n.service.s.cfg.Times
	p, err := s.start(n.spec)
	n.service.mu.Lock()
	n.starts++
	n.service.mu.Unlock()
	if err != nil {
		return err, false
	}
	s.cfg.Log.Info("process started", "name", n.spec.name, "pid", p.record.PID, "port", p.port, "image", n.spec.image)
	alive, ended := context.WithCancel(ctx) // until the process has ended, or shall
	defer ended()
	s.all.Go(func() { <-p.ended; ended() })
	defer func() { p.stop(times.Stop) }()

	starting, cancel := context.WithTimeout(alive, times.Start)
	err = p.probe(starting, n.spec.plan.routes[0].base)
	cancel()
	switch {
	case err != nil && alive.Err() == nil:
		p.stop(times.Stop)
		return quoting(&timeout{times.Start, err}, p), false
	case err == nil:
		since := time.Now()
		n.answer(newBackend(p))
		s.promoteIn(alive, n)
		<-alive.Done()
		n.answer(nil)
		healthy = time.Since(since) > longestPause
	}
	if ctx.Err() != nil {
		return ctx.Err(), healthy
	}
	<-p.ended
	return quoting(exited(p.err), p), healthy
}

// exited is how a program ended, as an error even when its status is 0: a
// service does not end.
func exited(err error) error {
	if err == nil {
		return errors.New("ended: exit status 0")
	}
	return fmt.Errorf("ended: %w", err)
}

// quoting adds the last lines of output to what went wrong.
func quoting(err error, p *process) error {
	lines := p.lastLines()
	if len(lines) == 0 {
		return fmt.Errorf("%w; it wrote nothing", err)
	}
	return fmt.Errorf("%w; its last lines: %s", err, strings.Join(lines, " | "))
}

// answer makes b the process that requests go to; nil for none.
func (n *version) answer(b *backend) {
	n.service.mu.Lock()
	before := n.up
	n.up = b
	n.service.mu.Unlock()
	if before != nil {
		before.close()
	}
}

// failed notes a failure and tells how long to wait before the next start.
func (n *version) failed(failure error, healthy bool) (pause time.Duration) {
	n.service.mu.Lock()
	defer n.service.mu.Unlock()
	if healthy {
		n.failures = 0
	}
	pause = backoff(n.service.s.cfg.Times.Restart, n.failures)
	n.failures++
	n.reason = ReasonCrashLoopBackOff
	var late *timeout
	var p *problem
	switch {
	case errors.As(failure, &late):
		n.reason = ReasonReadinessTimeout
	case errors.As(failure, &p):
		n.reason = p.reason
	}
	n.message = fmt.Sprintf("%s %v", n.spec.component, failure)
	return pause
}

// backoff is the pause after so many failures before: it doubles from the first to the longest.
func backoff(first time.Duration, before int) time.Duration {
	for ; before > 0 && first < longestPause; before-- {
		first *= 2
	}
	return min(first, longestPause)
}

// promoteIn has a version that is ready take the routes, unless it has them.
func (s *Server) promoteIn(ctx context.Context, n *version) {
	unlock, err := s.names.lock(ctx, n.spec.name)
	if err != nil {
		return // it ended meanwhile, or shall
	}
	s.promote(n)
	unlock()
	s.cfg.Changed(n.spec.name)
}

// promote routes the name to a version that is ready; the one before finishes
// the requests it has and ends. The caller holds the name's lock.
func (s *Server) promote(n *version) {
	v := n.service
	v.mu.Lock()
	waits := v.next == n && n.up != nil
	v.mu.Unlock()
	if !waits {
		return
	}
	err := s.bind(n.spec.name, running{key: n.spec.tree.key, plan: n.spec.plan, image: n.spec.image, handler: n.handler})
	v.mu.Lock()
	defer v.mu.Unlock()
	n.conflict = err
	if err != nil {
		return
	}
	before := v.current
	v.current, v.next, v.awaited = n, nil, plan{} // its routes are those that were awaited
	if before != nil {
		s.all.Go(before.retire)
	}
}
