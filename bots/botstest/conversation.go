package botstest

import (
	"context"
	"log/slog"
	"slices"
	"strings"
	"testing"
	"time"

	"platform.dev/platform/bots"
	"platform.dev/platform/bots/markup"
	"platform.dev/platform/commands"
)

// Patience is how long a Conversation waits for an answer.
const Patience = 10 * time.Second

// Everybody is a Directory in which everybody is known as their own user id, in the groups.
type Everybody []string

// Person knows everybody.
func (e Everybody) Person(_ context.Context, chatID string) (commands.Person, bool) {
	return commands.Person{ChatID: chatID, Persona: chatID, Groups: e}, true
}

// Conversation is a bot at work in a chat of its own, to talk to in a test. The
// runtime is the real one; only chat and store are in memory.
type Conversation struct {
	t     testing.TB
	Chat  *Chat
	Store *Store
	Place commands.Place // where Ask asks
}

// Converse starts a bot with the commands that lasts as long as the test. change
// may alter the configuration before; without it everybody may do everything.
func Converse(t testing.TB, bot string, router bots.Commands, change ...func(*bots.Config)) *Conversation {
	t.Helper()
	c := &Conversation{t: t, Chat: NewChat(nil), Store: NewStore(), Place: commands.Place{Stream: "shop", Topic: "talk"}}
	cfg := bots.Config{
		Bot: bot, Transport: c.Chat.Connect(bot, nil), Commands: router, Inbox: c.Store, Outbox: c.Store, Questions: c.Store, Auditor: c.Store,
		Directory: Everybody{"admins"}, Policy: bots.Grants{"admins": {"*"}}, Log: slog.New(slog.NewTextHandler(t.Output(), nil)),
	}
	for _, f := range change {
		f(&cfg)
	}
	r, err := bots.New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- r.Run(ctx) }()
	t.Cleanup(func() {
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
	return c
}

// Ask says something to the bot as the user and waits for the outcome: what the
// bot then said in the place since, oldest first, and the reaction on the question.
// What the bot said elsewhere by then stands there.
func (c *Conversation) Ask(user, text string) (said []markup.Message, reaction string) {
	c.t.Helper()
	before := len(c.Chat.Bots(c.Place))
	id := c.Chat.Say(user, c.Place, text)
	reaction = c.Chat.Await(c.t, id)
	c.delivered()
	for _, s := range c.Chat.Bots(c.Place)[before:] {
		said = append(said, s.Message)
	}
	return said, reaction
}

// delivered waits until what the bot has said is in the chat, as far as it is not put off.
func (c *Conversation) delivered() {
	look := time.NewTicker(time.Millisecond)
	defer look.Stop()
	late := time.NewTimer(Patience)
	defer late.Stop()
	for {
		owes := slices.ContainsFunc(c.Store.Rows(), func(r Row) bool { return r.owed() && !r.Due.After(time.Now()) })
		if !owes {
			return
		}
		select {
		case <-look.C:
		case <-late.C:
			return
		}
	}
}

// Await waits until a message bears a final reaction, which comes after its answer.
func (c *Chat) Await(t testing.TB, id string) (reaction string) {
	t.Helper()
	late := time.NewTimer(Patience)
	defer late.Stop()
	for {
		changed := c.Changed()
		s, ok := c.Message(id)
		if ok && len(s.Reactions) == 1 && s.Reactions[0] != bots.ReactionHeard {
			return s.Reactions[0]
		}
		select {
		case <-changed:
		case <-late.C:
			t.Fatalf("message %s (%q) has no outcome after %s; reactions %v", id, s.Text, Patience, s.Reactions)
		}
	}
}

// Code is the code under a question that a bot asks; "" when the message asks none.
func Code(m markup.Message) string {
	for _, b := range m.Blocks {
		for _, s := range b.Spans {
			if _, code, ok := strings.Cut(s.Text, " confirm "); ok && s.Kind == markup.SpanCode {
				return code
			}
		}
	}
	return ""
}
