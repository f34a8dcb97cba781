package zulip

import (
	"context"
	"errors"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"platform.dev/platform/bots"
	"platform.dev/platform/commands"
)

// sink takes a heard message; it returns once the message is durable.
type sink func(context.Context, bots.Heard) error

// Run hears until ctx ends. It returns an error only when nothing can mend it.
func (t *Transport) Run(ctx context.Context, take func(context.Context, bots.Heard) error) error {
	events := []string{"message", "realm_user", "realm"} // no update_message, on purpose: an edit never makes a command
	if t.cfg.Reactions {
		events = append(events, "reaction")
	}
	return t.client.Listen(ctx, Listening{
		Request: RegisterRequest{
			Events: events,
			Fetch:  []string{"realm", "realm_user"},
		},
		Registered: func(ctx context.Context, q Queue) error {
			self, err := t.me(ctx)
			if err != nil {
				return err
			}
			t.adopt(q, self)
			t.polled(nil) // the server has answered
			return t.catchUp(ctx, take)
		},
		Handle:  func(ctx context.Context, e Event) error { return t.event(ctx, e, take) },
		Handled: t.advance,
		Polled:  t.polled,
	})
}

// adopt takes over what a registration tells.
func (t *Transport) adopt(q Queue, self User) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.queue = q.ID
	t.obey(q.Limits)
	for _, u := range q.Users {
		t.people[u.ID] = u
		if u.ID == self.ID {
			t.self.FullName = u.FullName
		}
	}
}

// event handles one event of the queue.
func (t *Transport) event(ctx context.Context, e Event, take sink) error {
	switch {
	case e.Type == "realm_user" && e.Person != nil:
		t.person(e.Op, *e.Person)
	case e.Type == "realm":
		t.realm(e)
	case e.Type == "message" && e.Message != nil:
		m := *e.Message
		m.Flags = e.Flags
		t.own(m, e.LocalMessageID)
		return t.message(ctx, m, take)
	case e.Type == "reaction" && e.Op == "add":
		return t.reaction(ctx, e, take)
	}
	return nil
}

// own remembers that a message of ours arrived.
func (t *Transport) own(m Message, local string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if local != "" && m.SenderID == t.self.ID {
		t.arrived.Put(local, m.ID)
	}
}

// person keeps names and kinds of accounts current; events carry only what changed.
func (t *Transport) person(op string, change User) {
	t.mu.Lock()
	defer t.mu.Unlock()
	switch known, ok := t.people[change.ID]; {
	case op == "add" || !ok && op == "update":
		t.people[change.ID] = change
	case op == "update" && change.FullName != "":
		known.FullName = change.FullName
		t.people[change.ID] = known
	}
	if op == "update" && change.ID == t.self.ID && change.FullName != "" {
		t.self.FullName = change.FullName
	}
}

// message hands a message over when it is for this bot. Only then is the cursor
// worth a write, which waits for the end of the batch (advance).
func (t *Transport) message(ctx context.Context, m Message, take sink) error {
	h, ok, err := t.listen(ctx, m)
	if err != nil || !ok {
		return err
	}
	t.mu.Lock()
	_, known := t.heard.Get(m.ID)
	t.mu.Unlock()
	if known {
		return nil
	}
	if err := take(ctx, h); err != nil {
		return err
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.heard.Put(m.ID, true)
	t.newest = max(t.newest, m.ID)
	return nil
}

// listen decides whether a message is for this bot, and makes of it what was heard.
func (t *Transport) listen(ctx context.Context, m Message) (bots.Heard, bool, error) {
	self, err := t.me(ctx)
	if err != nil {
		return bots.Heard{}, false, err
	}
	direct := m.Type != "stream"
	if m.SenderID == self.ID || !direct && !slices.Contains(m.Flags, "mentioned") {
		return bots.Heard{}, false, nil
	}
	content, ok := t.original(m)
	if !ok {
		return bots.Heard{}, false, nil
	}
	bot, err := t.isBot(ctx, m.SenderID)
	if err != nil || bot {
		return bots.Heard{}, false, err
	}
	t.mu.Lock()
	text, addressed := address(content, t.self, t.people)
	t.mu.Unlock()
	if !addressed {
		if len(m.Recipients()) != 2 {
			return bots.Heard{}, false, nil // to a group of people, or through a group's mention
		}
		text = strings.TrimSpace(content)
	}
	sender := strconv.FormatInt(m.SenderID, 10)
	return bots.Heard{
		Key: t.key(m.ID), ID: strconv.FormatInt(m.ID, 10), Text: text,
		UserID: sender, ChatID: "zulip:" + sender, Name: m.SenderName,
		Place: place(m, self.ID), Link: Permalink(t.client.Site(), m, self.ID), At: m.At(),
	}, true, nil
}

// original is the content as it was first written: what an edit added is no
// command. ok is false when the message was edited and its history is hidden.
func (t *Transport) original(m Message) (string, bool) {
	content := m.Content
	for _, e := range m.History { // newest first
		if e.PrevContent != nil {
			content = *e.PrevContent
		}
	}
	if m.LastEdit != 0 && len(m.History) == 0 {
		t.cfg.Log.Info("an edited message whose first words are not shown is passed over", "message", m.ID)
		return "", false
	}
	return content, true
}

// place is where an answer to the message goes: its topic, or the same people.
func place(m Message, self int64) commands.Place {
	if stream := m.Stream(); stream != "" {
		return commands.Place{Stream: stream, Topic: m.Topic}
	}
	var ids []string
	for _, id := range m.Recipients() {
		if id != self {
			ids = append(ids, strconv.FormatInt(id, 10))
		}
	}
	return commands.Place{Direct: strings.Join(ids, ",")}
}

// isBot tells whether an account is a bot's. Messages do not say it.
func (t *Transport) isBot(ctx context.Context, id int64) (bool, error) {
	t.mu.Lock()
	u, known := t.people[id]
	t.mu.Unlock()
	if known && u.FullName != "" {
		return u.IsBot, nil
	}
	u, err := t.client.User(ctx, id)
	var e *Error
	if errors.As(err, &e) && e.Status >= http.StatusBadRequest && e.Status < http.StatusInternalServerError && e.Status != http.StatusTooManyRequests && !e.Fatal() {
		t.cfg.Log.Warn("a message of an account that the server does not know is passed over", "user", id, "error", err)
		return true, nil
	}
	if err != nil {
		return false, err
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.people[id] = u
	return u.IsBot, nil
}
