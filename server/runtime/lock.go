package runtime

import (
	"context"
	"errors"
	"sync"
)

// errClosed is a call to a runtime that was closed.
var errClosed = errors.New("the runtime is closed")

// locks gives one lock per key. An entry lives as long as somebody holds or awaits it.
type locks struct {
	mu     sync.Mutex
	held   map[string]*entry
	all    sync.WaitGroup
	closed bool
}

type entry struct {
	token chan struct{}
	users int
}

func newLocks() *locks { return &locks{held: map[string]*entry{}} }

// lock waits for the key's lock and returns what gives it back.
func (l *locks) lock(ctx context.Context, key string) (unlock func(), err error) {
	l.mu.Lock()
	if l.closed {
		l.mu.Unlock()
		return nil, errClosed
	}
	e := l.held[key]
	if e == nil {
		e = &entry{token: make(chan struct{}, 1)}
		l.held[key] = e
	}
	e.users++
	l.all.Add(1)
	l.mu.Unlock()
	leave := func() {
		l.mu.Lock()
		defer l.mu.Unlock()
		if e.users--; e.users == 0 {
			delete(l.held, key)
		}
		l.all.Done()
	}
	select {
	case e.token <- struct{}{}:
		return func() { <-e.token; leave() }, nil
	case <-ctx.Done():
		leave()
		return nil, ctx.Err()
	}
}

// drain gives no lock from now on, and waits until nobody holds or awaits one.
func (l *locks) drain() {
	l.mu.Lock()
	l.closed = true
	l.mu.Unlock()
	l.all.Wait()
}
