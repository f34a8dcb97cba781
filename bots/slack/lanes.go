package slack

import (
	"context"
	"sync"
)

// backlog is how many events may wait; one beyond them is left to Slack, which brings it again.
const backlog = 4096

// task is something to do about an event.
type task struct {
	lane string // the channel: its events are taken in the order in which they came
	do   func(context.Context) error
	done func(ok bool) // called once: with false, it was not done and nothing may count on it

	turn int // in which it was put
}

// lanes takes events off the streams, which must never wait: a stream that is
// not read is closed. What is done with them happens beside, in order per
// channel; no channel waits for another.
type lanes struct {
	group sync.WaitGroup

	mu      sync.Mutex
	waiting map[string][]task // an entry means that a goroutine is there
	count   int

	turn int         // counts the calls of pass
	open map[int]int // turn -> its tasks that are not done
}

func newLanes() *lanes {
	return &lanes{waiting: map[string][]task{}, open: map[int]int{}}
}

// put takes a task; false when too many wait.
func (l *lanes) put(ctx context.Context, m task) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.count >= backlog {
		return false
	}
	l.count++
	m.turn = l.turn
	l.open[m.turn]++
	lane, busy := l.waiting[m.lane]
	l.waiting[m.lane] = append(lane, m)
	if !busy {
		l.group.Go(func() { l.work(ctx, m.lane) })
	}
	return true
}

// work does a lane's tasks, and leaves when none is left. When ctx has ended, none is done any more.
func (l *lanes) work(ctx context.Context, lane string) {
	for {
		m, ok := l.next(lane)
		if !ok {
			return
		}
		ok = ctx.Err() == nil && m.do(ctx) == nil
		m.done(ok)
		if ok {
			l.finish(m)
		}
	}
}

// next is a lane's next task.
func (l *lanes) next(lane string) (task, bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	waiting := l.waiting[lane]
	if len(waiting) == 0 {
		delete(l.waiting, lane)
		return task{}, false
	}
	l.waiting[lane] = waiting[1:]
	l.count--
	return waiting[0], true
}

// finish takes notice that a task is done.
func (l *lanes) finish(m task) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.open[m.turn]--; l.open[m.turn] == 0 {
		delete(l.open, m.turn)
	}
}

// pass begins a new turn and tells the oldest of which something is not done:
// everything that was put in an earlier one is. Without any, it is the new one.
func (l *lanes) pass() (now, oldest int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.turn++
	oldest = l.turn
	for turn := range l.open {
		oldest = min(oldest, turn)
	}
	return l.turn, oldest
}

// wait returns when nothing is being done. Nothing is put any more.
func (l *lanes) wait() { l.group.Wait() }
