package bots

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"platform.dev/platform/commands"
)

// ackTimeout bounds the reaction on hearing: later it would say nothing.
const ackTimeout = 5 * time.Second

// hearing is a message on its way to being answered.
type hearing struct {
	Heard
	at    time.Time       // when it was first heard
	pace  pace            // whether its author might ask then
	acked <-chan struct{} // closed once the reaction on hearing has been tried; nil when there is none
}

// record is what the inbox keeps. The inbox may be shared by bots, so the record says whose it is.
type record struct {
	Bot   string `json:"bot"`
	Heard Heard  `json:"heard"`
}

// hear is the transport's sink: it returns once the message is recorded, and
// whatever follows happens elsewhere. A message that is known is let be: it is
// under way, or answered. So is a press that is no word to a question of ours.
func (r *Runtime) hear(ctx context.Context, h Heard) error {
	if h.Press != nil {
		if _, _, known, err := r.byPress(ctx, *h.Press, r.cfg.Now()); err != nil || !known {
			return err
		}
	}
	payload, err := json.Marshal(record{Bot: r.cfg.Bot, Heard: h})
	if err != nil {
		return fmt.Errorf("hear %s: %w", h.Key, err)
	}
	now := r.cfg.Now()
	fresh, err := r.cfg.Inbox.Hear(ctx, h.Key, now, payload)
	if err != nil {
		return err
	}
	if !fresh {
		return nil
	}
	r.queue(ctx, hearing{Heard: h, at: now, acked: r.ack(ctx, h)})
	return nil
}

// resume takes up what an earlier run left unfinished, oldest first.
func (r *Runtime) resume(ctx context.Context) error {
	return r.cfg.Inbox.Unfinished(ctx, func(key string, at time.Time, payload []byte) error {
		var rec record
		if err := json.Unmarshal(payload, &rec); err != nil {
			r.cfg.Log.Error("a recorded message cannot be read and is passed over", "key", key, "error", err)
			return nil
		}
		if rec.Bot == r.cfg.Bot {
			r.queue(ctx, hearing{Heard: rec.Heard, at: at})
		}
		return nil
	})
}

// ack marks a message as heard, at once and beside everything else. The
// returned channel closes when that was tried; it is tried once.
func (r *Runtime) ack(ctx context.Context, h Heard) <-chan struct{} {
	if r.reactor == nil || h.Press != nil {
		return nil
	}
	acked := make(chan struct{})
	started := r.goroutine(func() {
		defer close(acked)
		ctx, cancel := context.WithTimeout(ctx, ackTimeout)
		defer cancel()
		if !take(ctx, r.acking) {
			return
		}
		defer func() { <-r.acking }()
		if err := r.reactor.React(ctx, h.ID, ReactionHeard, true); err != nil && ctx.Err() == nil {
			r.cfg.Log.Info("a message could not be marked as heard", "key", h.Key, "error", err)
		}
	})
	if !started {
		return nil
	}
	return acked
}

// queue puts a message behind those of its place, and sees to it that somebody works there.
func (r *Runtime) queue(ctx context.Context, h hearing) {
	h.pace = r.rates.admit(h.ChatID, h.at)
	r.mu.Lock()
	waiting, atWork := r.queues[h.Place]
	r.queues[h.Place] = append(waiting, h)
	r.mu.Unlock()
	if !atWork {
		r.goroutine(func() { r.work(ctx, h.Place) })
	}
}

// next is the first message that waits in a place; without one, the place's worker leaves.
func (r *Runtime) next(place commands.Place) (hearing, bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	waiting := r.queues[place]
	if len(waiting) == 0 {
		delete(r.queues, place)
		return hearing{}, false
	}
	r.queues[place] = waiting[1:]
	return waiting[0], true
}

// work answers the messages of one place in order. It goes on to the next when
// the one before has ended, or has shown progress and so takes long.
func (r *Runtime) work(ctx context.Context, place commands.Place) {
	for ctx.Err() == nil {
		h, ok := r.next(place)
		if !ok {
			return
		}
		ended, shown := make(chan struct{}), make(chan struct{})
		started := r.goroutine(func() {
			outcome, ok := r.answer(ctx, h, shown)
			close(ended)
			if ok {
				r.conclude(ctx, h, outcome)
			}
		})
		if !started {
			return
		}
		select {
		case <-ended:
		case <-shown:
		}
	}
}
