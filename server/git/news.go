package git

import "sync"

// news wakes everyone who waits whenever something is told. What was told
// before waiting began is not missed: take the channel, look, then wait.
type news struct {
	mu sync.Mutex
	ch chan struct{}
}

func newNews() *news { return &news{ch: make(chan struct{})} }

// next is closed at the next telling.
func (n *news) next() <-chan struct{} {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.ch
}

// tell wakes who waits.
func (n *news) tell() {
	n.mu.Lock()
	defer n.mu.Unlock()
	close(n.ch)
	n.ch = make(chan struct{})
}
