package controlplane

import (
	"sync"
	"time"

	"platform.dev/platform/flowclient"
)

// key names an object to reconcile.
type key struct {
	kind flowclient.Kind
	name string
}

// queue holds keys to reconcile. A key waits at most once and is worked on by
// one worker at a time; one added while it is worked on waits again after.
type queue struct {
	mu      sync.Mutex
	ready   sync.Cond
	order   []key
	waiting map[key]bool
	working map[key]bool
	later   map[key]*time.Timer // retries that are not due
	tries   map[key]int
	closed  bool
}

// The first retry and the longest wait between retries of a key whose reconcile failed.
const (
	firstRetry   = 200 * time.Millisecond
	longestRetry = 30 * time.Second
)

func newQueue() *queue {
	q := &queue{waiting: map[key]bool{}, working: map[key]bool{}, later: map[key]*time.Timer{}, tries: map[key]int{}}
	q.ready.L = &q.mu
	return q
}

// add has the key worked on soon.
func (q *queue) add(k key) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.closed || q.waiting[k] {
		return
	}
	q.waiting[k] = true
	if !q.working[k] {
		q.order = append(q.order, k)
		q.ready.Signal()
	}
}

// take waits for a key; ok is false after close.
func (q *queue) take() (k key, ok bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	for len(q.order) == 0 && !q.closed {
		q.ready.Wait()
	}
	if q.closed {
		return key{}, false
	}
	k, q.order = q.order[0], q.order[1:]
	delete(q.waiting, k)
	q.working[k] = true
	return k, true
}

// done ends the work on a key. A failed one is worked on again, later each time.
func (q *queue) done(k key, failed bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	delete(q.working, k)
	if q.waiting[k] {
		q.order = append(q.order, k)
		q.ready.Signal()
	}
	if t := q.later[k]; t != nil {
		t.Stop()
		delete(q.later, k)
	}
	if !failed || q.closed {
		delete(q.tries, k)
		return
	}
	wait := min(firstRetry<<min(q.tries[k], 10), longestRetry)
	q.tries[k]++
	q.later[k] = time.AfterFunc(wait, func() { q.add(k) })
}

// close ends every take and drops what waits: after a restart everything is looked at again.
func (q *queue) close() {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.closed = true
	for _, t := range q.later {
		t.Stop()
	}
	q.ready.Broadcast()
}
