package botstest

import (
	"context"
	"fmt"
	"time"

	"platform.dev/platform/bots"
)

// Repeated is a bot signed in to a Chat as Slack has them: a message is told as
// two events, each until it is acknowledged, to whatever process is there, and
// what was posted is found by its key. It is a bots.Recaller.
type Repeated struct{ *Account }

var (
	_ bots.Transport = Repeated{}
	_ bots.Editor    = Repeated{}
	_ bots.Reactor   = Repeated{}
	_ bots.Finder    = Repeated{}
	_ bots.Recaller  = Repeated{}
)

// events is how often a message is told, each time to be acknowledged.
const events = 2

// telling is one event that tells of a message.
type telling struct {
	told, acked bool
}

// ConnectRepeated signs a bot in to be told again. With life given, a dead
// process reaches nothing, and each acknowledgement is one of its writes: "ack".
func (c *Chat) ConnectRepeated(bot string, life *Mortal) Repeated {
	return Repeated{c.Connect(bot, life)}
}

// Run hears people's messages in order, as far as they were not acknowledged.
func (a Repeated) Run(ctx context.Context, sink func(context.Context, bots.Heard) error) error {
	mine := map[string]bool{} // told by this process
	for ctx.Err() == nil {
		changed := a.chat.Changed()
		failed := false
		for _, s := range a.chat.happened() {
			for event := range events {
				if s.Text == "" && s.press == nil || failed || ctx.Err() != nil {
					continue
				}
				failed = !a.tell(ctx, s, fmt.Sprint(s.ID, " ", event, " ", a.bot), mine, sink)
			}
		}
		if failed {
			wait(ctx, 100*time.Millisecond)
			continue
		}
		select {
		case <-ctx.Done():
		case <-changed:
		}
	}
	return nil
}

// tell tells of a message by one of its events; false when it was not acknowledged and has to be told again.
func (a Repeated) tell(ctx context.Context, s Said, event string, mine map[string]bool, sink func(context.Context, bots.Heard) error) bool {
	c := a.chat
	c.mu.Lock()
	t, down := c.tellings[event], c.down
	c.mu.Unlock()
	if t.acked || down {
		return true
	}
	h := a.heard(s)
	h.Again = t.told && !mine[event]
	c.mu.Lock()
	c.tellings[event] = telling{told: true}
	c.mu.Unlock()
	mine[event] = true
	if sink(ctx, h) != nil {
		return false
	}
	return a.step("ack", func() error {
		c.mu.Lock()
		defer c.mu.Unlock()
		c.tellings[event] = telling{told: true, acked: true}
		return nil
	}) == nil
}

// Recall finds what was posted under the key.
func (a Repeated) Recall(ctx context.Context, out bots.Outgoing) (id string, found bool, err error) {
	err = a.call(ctx, "", func(c *Chat) error {
		for _, s := range c.said {
			if s.From == a.bot && s.Place == out.Place && !s.At.Before(out.Since) && s.key == out.Key {
				id, found = s.ID, true
			}
		}
		return nil
	})
	return id, found, err
}

// Unacknowledged counts the events that are still to be acknowledged by a bot.
func (c *Chat) Unacknowledged(bot string) (n int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, s := range c.said {
		for event := range events {
			if (s.Text != "" || s.press != nil) && !c.tellings[fmt.Sprint(s.ID, " ", event, " ", bot)].acked {
				n++
			}
		}
	}
	return n
}
