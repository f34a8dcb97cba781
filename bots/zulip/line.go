package zulip

import "time"

// hearing is how long after the server's last word the chat counts as heard: it
// sends a heartbeat every 45 to 55 seconds when nothing happens.
const hearing = time.Minute

// line is how the connection stands, guarded by Transport.mu.
type line struct {
	heard time.Time // when a poll was answered last
	lost  bool      // the last poll failed
	again int64     // how often a poll was answered after one that failed
}

// polled notes how a poll ended.
func (t *Transport) polled(err error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if err != nil {
		t.line.lost = true
		return
	}
	if t.line.lost {
		t.line.again++
	}
	t.line.lost, t.line.heard = false, t.cfg.Now()
}

// Connected tells whether the last poll was answered, within the last minute.
func (t *Transport) Connected() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return !t.line.lost && t.cfg.Now().Sub(t.line.heard) < hearing
}

// Reconnects counts how often the chat was heard again after it was lost.
func (t *Transport) Reconnects() int64 {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.line.again
}
