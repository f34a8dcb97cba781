package bots

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"platform.dev/platform/bots/markup"
)

// isBrief tells whether a message is one message in any chat, however it is written there.
func isBrief(m markup.Message) bool {
	text, err := json.Marshal(m)
	return err == nil && len(text) <= briefBytes
}

// keep keeps the answer to a message that is not recorded, for whoever runs the command.
func (y *reply) keep(m markup.Message) bool {
	y.mu.Lock()
	defer y.mu.Unlock()
	if y.light == nil {
		return false
	}
	y.brief = &m
	return true
}

// kept is the answer that was kept.
func (y *reply) kept() *markup.Message {
	y.mu.Lock()
	defer y.mu.Unlock()
	if y.light == nil {
		return nil
	}
	return y.brief
}

// last records the message that asked: from here on what is said to it outlives
// the process. An answer that was kept is said.
func (y *reply) last(ctx context.Context) error {
	y.mu.Lock()
	l, brief := y.light, y.brief
	y.mu.Unlock()
	if l == nil {
		return nil
	}
	if err := y.runtime.recordHeard(ctx, l); err != nil {
		return err
	}
	h, fresh := l.heard()
	if !fresh {
		return fmt.Errorf("message %s is being answered already", h.Key)
	}
	y.lasts(h.since)
	if brief != nil {
		return y.put(ctx, *brief)
	}
	return nil
}

// lasts notes that the message is recorded, and since when an answer to it may have been sent.
func (y *reply) lasts(since time.Time) {
	y.mu.Lock()
	defer y.mu.Unlock()
	y.light, y.since = nil, since
}
