package controlplane

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"platform.dev/platform/flowclient"
)

// workers is how many objects are reconciled at once: enough that a slow image
// pull delays no other binding, few enough for two cores.
const workers = 4

// Run reconciles until ctx ends and its workers have ended.
func (s *Server) Run(ctx context.Context) error {
	first, err := s.everything(ctx)
	switch {
	case ctx.Err() != nil:
		return nil //nolint:nilerr // that ctx has ended is how Run ends
	case err != nil:
		return err
	}
	pending := newFirstPass(first, s.synced)
	for _, k := range first {
		s.queue.add(k)
	}
	var group sync.WaitGroup
	for range workers {
		group.Go(func() { s.work(ctx, pending) })
	}
	group.Go(func() { s.look(ctx) })
	<-ctx.Done()
	s.queue.close()
	group.Wait()
	return nil
}

// work reconciles one key after another.
func (s *Server) work(ctx context.Context, pending *firstPass) {
	for {
		k, ok := s.queue.take()
		if !ok {
			return
		}
		err := s.controllers[k.kind](ctx, k.name)
		if ctx.Err() != nil {
			s.queue.done(k, false)
			return
		}
		if err != nil {
			s.log.Warn("reconcile", "kind", k.kind, "name", k.name, "error", err)
		}
		s.queue.done(k, err != nil)
		pending.passed(k)
	}
}

// look adds, every resync, what can change without the file changing: open runs,
// bindings, and what is being deleted. Everything else follows the file's own changes.
func (s *Server) look(ctx context.Context) {
	ticker := time.NewTicker(s.resync)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
		keys, err := s.keys(ctx, `SELECT kind, name FROM objects WHERE (kind = ? AND settled = 0) OR kind = ? OR deleted IS NOT NULL`,
			flowclient.KindWorkflowRun, flowclient.KindReleaseBinding)
		if err != nil {
			if ctx.Err() == nil {
				s.log.Warn("resync", "error", err)
			}
			continue
		}
		for _, k := range keys {
			s.Wake(k.kind, k.name)
		}
	}
}

// everything lists what the first pass has to look at: whatever a crash between
// a commit and its consequences may have left behind.
func (s *Server) everything(ctx context.Context) ([]key, error) {
	all, err := s.keys(ctx, `SELECT kind, name FROM objects WHERE settled = 0 OR deleted IS NOT NULL ORDER BY id`)
	if err != nil {
		return nil, err
	}
	controlled := all[:0]
	for _, k := range all {
		if s.controllers[k.kind] != nil {
			controlled = append(controlled, k)
		}
	}
	return controlled, nil
}

func (s *Server) keys(ctx context.Context, query string, args ...any) (keys []key, failure error) {
	rows, err := s.db.Reader().QueryContext(ctx, query, args...)
	if err != nil {
		return nil, fmt.Errorf("list objects: %w", err)
	}
	defer func() { failure = errors.Join(failure, rows.Close()) }()
	for rows.Next() {
		var k key
		if err := rows.Scan(&k.kind, &k.name); err != nil {
			return nil, fmt.Errorf("list objects: %w", err)
		}
		keys = append(keys, k)
	}
	return keys, rows.Err()
}

// firstPass closes done when each of its keys has been reconciled once.
type firstPass struct {
	mu   sync.Mutex
	left map[key]bool
	done chan struct{}
}

func newFirstPass(keys []key, done chan struct{}) *firstPass {
	p := &firstPass{left: map[key]bool{}, done: done}
	for _, k := range keys {
		p.left[k] = true
	}
	if len(keys) == 0 {
		close(done)
	}
	return p
}

func (p *firstPass) passed(k key) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.left[k] {
		return
	}
	delete(p.left, k)
	if len(p.left) == 0 {
		close(p.done)
	}
}
