package botstest

import (
	"context"
	"errors"
	"sync"
	"time"

	"platform.dev/platform/bots"
)

// Storage is what a bot keeps durably.
type Storage interface {
	bots.Inbox
	bots.Outbox
	bots.Questions
}

// ErrDead is what everything answers once a Mortal has died.
var ErrDead = errors.New("the process is dead")

// Mortal is one life of a process: its durable writes and what it does to its
// chat are counted, and with the last one allowed the process is dead. That one
// is kept; from then on nothing it does has an effect, in its store or in its chat. Make the next life over the same store.
type Mortal struct {
	Storage

	mu     sync.Mutex
	left   int
	writes []string
	died   chan struct{}
}

// NewMortal gives a life of n writes; n below zero is a life without end.
func NewMortal(s Storage, n int) *Mortal {
	return &Mortal{Storage: s, left: n, died: make(chan struct{})}
}

// Died is closed at the moment of death.
func (m *Mortal) Died() <-chan struct{} { return m.died }

// Writes names the writes of this life in order: "hear", "put", "try", "send", ...
func (m *Mortal) Writes() []string {
	m.mu.Lock()
	defer m.mu.Unlock()
	return append([]string(nil), m.writes...)
}

// dead tells whether the life is over.
func (m *Mortal) dead() bool {
	select {
	case <-m.died:
		return true
	default:
		return false
	}
}

// Write does one durable write of the name: also what a command does counts. The last one is kept, and its caller is dead.
func (m *Mortal) Write(name string, do func() error) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.dead() {
		return ErrDead
	}
	if m.left == 0 {
		close(m.died)
		return ErrDead
	}
	if err := do(); err != nil {
		return err
	}
	m.writes = append(m.writes, name)
	m.left--
	if m.left == 0 {
		close(m.died)
		return ErrDead // nobody lives to see the answer
	}
	return nil
}

// Hear counts as "hear".
func (m *Mortal) Hear(ctx context.Context, key string, at time.Time, payload []byte) (fresh bool, err error) {
	err = m.Write("hear", func() error {
		fresh, err = m.Storage.Hear(ctx, key, at, payload)
		return err
	})
	return fresh, err
}

// Finish counts as "finish".
func (m *Mortal) Finish(ctx context.Context, key, outcome string, at time.Time) error {
	return m.Write("finish", func() error { return m.Storage.Finish(ctx, key, outcome, at) })
}

// SetCursor counts as "cursor".
func (m *Mortal) SetCursor(ctx context.Context, name, value string) error {
	return m.Write("cursor", func() error { return m.Storage.SetCursor(ctx, name, value) })
}

// Put counts as "put".
func (m *Mortal) Put(ctx context.Context, key, bot string, place, payload []byte, at time.Time) error {
	return m.Write("put", func() error { return m.Storage.Put(ctx, key, bot, place, payload, at) })
}

// Offer counts as "offer".
func (m *Mortal) Offer(ctx context.Context, key, bot string, place, payload []byte, at time.Time) (id int64, opened bool, err error) {
	err = m.Write("offer", func() error {
		id, opened, err = m.Storage.Offer(ctx, key, bot, place, payload, at)
		return err
	})
	return id, opened, err
}

// Answered counts as "answered".
func (m *Mortal) Answered(ctx context.Context, id, rev int64, sentID, heard, outcome string, at time.Time) error {
	return m.Write("answered", func() error { return m.Storage.Answered(ctx, id, rev, sentID, heard, outcome, at) })
}

// Try counts as "try".
func (m *Mortal) Try(ctx context.Context, id int64, at time.Time) error {
	return m.Write("try", func() error { return m.Storage.Try(ctx, id, at) })
}

// Sent counts as "sent".
func (m *Mortal) Sent(ctx context.Context, id, rev int64, sentID string, at time.Time) error {
	return m.Write("sent", func() error { return m.Storage.Sent(ctx, id, rev, sentID, at) })
}

// Later counts as "later".
func (m *Mortal) Later(ctx context.Context, id int64, until time.Time, why string) error {
	return m.Write("later", func() error { return m.Storage.Later(ctx, id, until, why) })
}

// Drop counts as "drop".
func (m *Mortal) Drop(ctx context.Context, id int64, why string, at time.Time) error {
	return m.Write("drop", func() error { return m.Storage.Drop(ctx, id, why, at) })
}

// Ask counts as "ask".
func (m *Mortal) Ask(ctx context.Context, id, bot string, payload []byte, until time.Time) error {
	return m.Write("ask", func() error { return m.Storage.Ask(ctx, id, bot, payload, until) })
}

// Shown counts as "shown".
func (m *Mortal) Shown(ctx context.Context, id, message string) error {
	return m.Write("shown", func() error { return m.Storage.Shown(ctx, id, message) })
}

// Conclude counts as "conclude".
func (m *Mortal) Conclude(ctx context.Context, id, by, outcome string, at time.Time) (ok bool, err error) {
	err = m.Write("conclude", func() error {
		ok, err = m.Storage.Conclude(ctx, id, by, outcome, at)
		return err
	})
	return ok, err
}

// Decided counts as "decided"; a storage that keeps no decisions drops it.
func (m *Mortal) Decided(ctx context.Context, d bots.Decision) error {
	return m.Write("decided", func() error {
		if a, ok := m.Storage.(bots.Auditor); ok {
			return a.Decided(ctx, d)
		}
		return nil
	})
}
