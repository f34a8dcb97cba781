package chat

import (
	"context"
	"math/rand/v2"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/google/uuid"
)

const (
	maxQueueEvents = 10_000 // a queue that holds more is dropped: its client has stopped reading
	maxUserQueues  = 64     // the one unpolled for longest makes room for a new one

	defaultLifespan = 600 * time.Second
	maxLifespan     = 7 * 24 * time.Hour

	heartbeatMin    = 45 * time.Second
	heartbeatSpread = 10 * time.Second
)

// queueSpec is what a client asked for when it registered.
type queueSpec struct {
	user          int64
	kinds         []string // event types; nil means all
	narrow        []term   // for message events
	allPublic     bool
	applyMarkdown bool
	lifespan      time.Duration
}

// event is one entry of a queue. body is a JSON object without the id.
type event struct {
	id   int64
	body []byte
}

// MarshalJSON puts the id before the other fields.
func (e event) MarshalJSON() ([]byte, error) {
	out := append(make([]byte, 0, len(e.body)+24), `{"id":`...)
	out = strconv.AppendInt(out, e.id, 10)
	out = append(out, ',')
	return append(out, e.body[1:]...), nil
}

// poller is a request waiting for events. wake is closed when there are some,
// or when another request took its place.
type poller struct {
	wake     chan struct{}
	replaced bool
}

// queue is the events of one client, kept until it acknowledges them.
type queue struct {
	id   string
	spec queueSpec

	mu      sync.Mutex
	events  []event
	next    int64 // the id of the next event
	pruned  int64 // the highest id acknowledged, -1 at first
	waiting *poller
	seen    time.Time // when a request last began or ended
}

// offer appends the notice's event when the queue wants it; false when the queue is over its limit.
func (q *queue) offer(n *notice) bool {
	if q.spec.kinds != nil && !slices.Contains(q.spec.kinds, n.kind) {
		return true
	}
	flags, ok := n.reaches(q.spec.user, q.spec.allPublic)
	if !ok {
		return true
	}
	v := variant{}
	if n.flagged {
		v.flags = flags
	}
	if n.post != nil {
		if !matches(q.spec.narrow, n.post.message, flags) {
			return true
		}
		v.html = q.spec.applyMarkdown
		v.local = n.post.senderQueue == q.id && n.post.localID != ""
	}
	body, err := n.body(v)
	if err != nil {
		return true // plain values: cannot happen
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	if len(q.events) >= maxQueueEvents {
		return false
	}
	q.push(body)
	return true
}

// push appends an event and wakes the poller. The lock is held.
func (q *queue) push(body []byte) {
	q.events = append(q.events, event{id: q.next, body: body})
	q.next++
	if q.waiting != nil {
		close(q.waiting.wake)
		q.waiting = nil
	}
}

// acknowledge drops the events up to last, as Zulip does, and refuses a number that the queue never gave out.
func (q *queue) acknowledge(last int64) error {
	if last < q.pruned {
		return bad("An event newer than %d has already been pruned!", last)
	}
	n := 0
	for n < len(q.events) && q.events[n].id <= last {
		q.pruned = q.events[n].id
		n++
	}
	if n > 0 {
		q.events = append([]event(nil), q.events[n:]...) // lets go of what was read
	}
	if last != q.pruned {
		return bad("Event %d was not in this queue", last)
	}
	return nil
}

// poll acknowledges up to last and gives what the queue holds. When it holds
// nothing and block is set, it waits: for an event, for a heartbeat, for
// another poller (and then gives nothing), for ctx or for done.
func (q *queue) poll(ctx context.Context, done <-chan struct{}, now func() time.Time, last int64, block bool) ([]event, error) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.seen = now()
	if err := q.acknowledge(last); err != nil {
		return nil, err
	}
	if q.waiting != nil {
		q.waiting.replaced = true
		close(q.waiting.wake)
		q.waiting = nil
	}
	if len(q.events) > 0 || !block {
		return slices.Clone(q.events), nil
	}
	me := &poller{wake: make(chan struct{})}
	q.waiting = me
	q.mu.Unlock()
	beat := time.NewTimer(heartbeatMin + rand.N(heartbeatSpread))
	defer beat.Stop()
	expired := false
	select {
	case <-me.wake:
	case <-beat.C:
		expired = true
	case <-ctx.Done():
	case <-done:
	}
	q.mu.Lock()
	q.seen = now()
	if me.replaced {
		return nil, nil
	}
	if expired && q.waiting == me {
		q.push([]byte(`{"type":"heartbeat"}`))
	}
	if q.waiting == me {
		q.waiting = nil
	}
	return slices.Clone(q.events), nil
}

// idle tells since when nobody polls; ok is false while somebody does.
func (q *queue) idle() (since time.Time, ok bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.seen, q.waiting == nil
}

// queues is every queue by id, and by user for publishing.
type queues struct {
	now func() time.Time

	mu  sync.RWMutex
	ids map[string]*queue
}

func newQueues(now func() time.Time) *queues {
	return &queues{now: now, ids: map[string]*queue{}}
}

// open makes a queue.
func (qs *queues) open(spec queueSpec) *queue {
	q := &queue{id: uuid.NewString(), spec: spec, pruned: -1, seen: qs.now()}
	qs.mu.Lock()
	defer qs.mu.Unlock()
	var oldest *queue
	var since time.Time
	count := 0
	for _, other := range qs.ids {
		if other.spec.user != spec.user {
			continue
		}
		count++
		if at, free := other.idle(); free && (oldest == nil || at.Before(since)) {
			oldest, since = other, at
		}
	}
	if count >= maxUserQueues && oldest != nil {
		delete(qs.ids, oldest.id)
	}
	qs.ids[q.id] = q
	return q
}

// find is a user's queue. Another user's is as unknown as one that never was.
func (qs *queues) find(id string, user int64) (*queue, error) {
	qs.mu.RLock()
	q := qs.ids[id]
	qs.mu.RUnlock()
	if q == nil || q.spec.user != user || qs.expired(q) {
		return nil, coded(codeBadQueue, "Bad event queue ID: "+id, "queue_id", id)
	}
	return q, nil
}

// expired tells whether nobody polled a queue for its lifespan.
func (qs *queues) expired(q *queue) bool {
	since, free := q.idle()
	return free && qs.now().Sub(since) >= q.spec.lifespan
}

// drop forgets a queue; a request waiting on it is given nothing.
func (qs *queues) drop(q *queue) {
	qs.mu.Lock()
	delete(qs.ids, q.id)
	qs.mu.Unlock()
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.waiting != nil {
		q.waiting.replaced = true
		close(q.waiting.wake)
		q.waiting = nil
	}
}

// publish offers a notice to every queue and drops those over their limit.
func (qs *queues) publish(n *notice) {
	qs.mu.RLock()
	var full []*queue
	for _, q := range qs.ids {
		if !q.offer(n) {
			full = append(full, q)
		}
	}
	qs.mu.RUnlock()
	for _, q := range full {
		qs.drop(q)
	}
}

// sweep drops expired queues and tells how many.
func (qs *queues) sweep() int {
	qs.mu.RLock()
	var old []*queue
	for _, q := range qs.ids {
		if qs.expired(q) {
			old = append(old, q)
		}
	}
	qs.mu.RUnlock()
	for _, q := range old {
		qs.drop(q)
	}
	return len(old)
}
