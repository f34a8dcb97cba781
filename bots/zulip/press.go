package zulip

import (
	"context"
	"fmt"
	"strconv"

	"platform.dev/platform/bots"
)

// reaction hands a person's reaction to a message of the bot's own over. Taking
// it off and putting it on again says nothing new. Where the server does not tell
// whose the message is, the reaction is let be: it must not hold up what follows.
func (t *Transport) reaction(ctx context.Context, e Event, take sink) error {
	self, err := t.me(ctx)
	if err != nil {
		return err
	}
	if e.UserID == self.ID || e.UserID == 0 || e.MessageID == 0 || e.Emoji == "" {
		return nil
	}
	bot, err := t.isBot(ctx, e.UserID)
	if bot {
		return nil
	}
	var m Message
	if err == nil {
		m, err = t.reacted(ctx, e.MessageID, self.ID)
	}
	if err != nil {
		t.cfg.Log.Warn("a reaction is passed over", "message", e.MessageID, "user", e.UserID, "error", err)
		return ctx.Err()
	}
	if m.SenderID != self.ID {
		return nil
	}
	user, id := strconv.FormatInt(e.UserID, 10), strconv.FormatInt(m.ID, 10)
	t.mu.Lock()
	name := t.people[e.UserID].FullName
	t.mu.Unlock()
	return take(ctx, bots.Heard{
		Key: fmt.Sprintf("zulip:%s:reaction:%s:%s:%s", t.cfg.Name, id, user, e.Emoji), ID: id,
		UserID: user, ChatID: "zulip:" + user, Name: name,
		Place: place(m, self.ID), Link: Permalink(t.client.Site(), m, self.ID), At: t.cfg.Now(),
		Press: &bots.Press{On: id, Emoji: e.Emoji},
	})
}

// reacted is a message that somebody reacted to. It is asked for once; of a
// message of others nothing but that is remembered.
func (t *Transport) reacted(ctx context.Context, id, self int64) (Message, error) {
	t.mu.Lock()
	m, known := t.shown.Get(id)
	t.mu.Unlock()
	if known {
		return m, nil
	}
	m, err := t.client.Message(ctx, id)
	if err != nil {
		return Message{}, err
	}
	if m.SenderID != self {
		m = Message{ID: id, SenderID: m.SenderID}
	}
	m.Content = ""
	t.mu.Lock()
	defer t.mu.Unlock()
	t.shown.Put(id, m)
	return m, nil
}

// join subscribes the bot to a channel that exists, once. Where it may not, it
// hears no reactions there, and what is said in words works all the same.
func (t *Transport) join(ctx context.Context, stream string) {
	t.mu.Lock()
	_, tried := t.joined.Get(stream)
	t.joined.Put(stream, true)
	t.mu.Unlock()
	if tried {
		return
	}
	if err := t.client.Subscribe(ctx, []NewStream{{Name: stream}}); err != nil {
		t.cfg.Log.Warn("reactions are not heard in a channel that the bot cannot subscribe to", "channel", stream, "error", err)
	}
}
