package slack

import (
	"context"
	"sync"
)

const (
	backlog  = 4096 // events that wait; one beyond them is left to Slack, which brings it again
	handling = 64   // events being recorded at once
)

// envelope is an event as Slack sends it, to be done with and acknowledged.
type envelope struct {
	envelope string // Slack's id of this sending
	lane     string // the channel: its events are taken in the order in which they came
	do       func(context.Context) error
	ack      func(context.Context)
}

// lanes takes events off the streams, which must never wait: a stream that is
// not read is closed. What is done with them happens beside, in order per channel.
type lanes struct {
	group sync.WaitGroup
	slots chan struct{}

	mu      sync.Mutex
	waiting map[string][]envelope // an entry means that a goroutine is there
	count   int
}

func newLanes() *lanes {
	return &lanes{slots: make(chan struct{}, handling), waiting: map[string][]envelope{}}
}

// put takes an event; false when too many wait.
func (l *lanes) put(ctx context.Context, m envelope) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.count >= backlog {
		return false
	}
	l.count++
	lane, busy := l.waiting[m.lane]
	l.waiting[m.lane] = append(lane, m)
	if !busy {
		l.group.Go(func() { l.work(ctx, m.lane) })
	}
	return true
}

// work does a lane's events, and leaves when none is left.
func (l *lanes) work(ctx context.Context, lane string) {
	for {
		m, ok := l.next(lane)
		if !ok {
			return
		}
		select {
		case l.slots <- struct{}{}:
			if m.do == nil || m.do(ctx) == nil {
				m.ack(ctx)
			}
			<-l.slots
		case <-ctx.Done(): // what is left is not acknowledged and comes again
		}
	}
}

// next is a lane's next event.
func (l *lanes) next(lane string) (envelope, bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	waiting := l.waiting[lane]
	if len(waiting) == 0 {
		delete(l.waiting, lane)
		return envelope{}, false
	}
	l.waiting[lane] = waiting[1:]
	l.count--
	return waiting[0], true
}

// wait returns when nothing is being done. Nothing is put any more.
func (l *lanes) wait() { l.group.Wait() }
