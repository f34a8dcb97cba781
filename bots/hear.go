package bots

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"platform.dev/platform/commands"
)

// hearing is a message on its way to being answered.
type hearing struct {
	Heard
	at   time.Time // when it was first heard
	eyes *eyes

	paced bool // pace is known
	pace  pace // whether its author might ask then

	parsed *parsed   // what it asks for; nil when nobody has looked yet
	since  time.Time // when an answer may have been sent of which nobody knows; zero when none was
}

// record is what the inbox keeps. The inbox may be shared by bots, so the record says whose it is.
type record struct {
	Bot   string `json:"bot"`
	Heard Heard  `json:"heard"`
	// Since is when an answer may first have been sent although none was recorded.
	Since time.Time `json:"since,omitzero"`
}

// parsed is what a message asks for, or why it asks for nothing.
type parsed struct {
	call commands.Call
	err  error
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
	if r.recaller != nil {
		return r.hearAgain(ctx, h)
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
	r.queue(ctx, hearing{Heard: h, at: now, eyes: r.watch(ctx, h)})
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
			r.queue(ctx, hearing{Heard: rec.Heard, at: at, since: rec.Since})
		}
		return nil
	})
}

// queue puts a message behind those of its place, and sees to it that somebody works there.
func (r *Runtime) queue(ctx context.Context, h hearing) {
	if !h.paced {
		h.pace = r.rates.admit(h.ChatID, h.at)
	}
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
			y := r.replyTo(h, func() { close(shown) })
			outcome, ok := r.answer(ctx, h, y)
			close(ended)
			if ok {
				r.conclude(ctx, h, y, outcome)
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
