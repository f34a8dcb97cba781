package botstest

import (
	"context"
	"encoding/json"
	"errors"
	"maps"
	"slices"
	"strconv"
	"sync"
	"time"

	"platform.dev/platform/bots"
	"platform.dev/platform/bots/markup"
	"platform.dev/platform/commands"
)

// Said is a message of a Chat.
type Said struct {
	ID        string
	From      string // a user id, or a bot's name
	Place     commands.Place
	Text      string         // what a person wrote
	Message   markup.Message // what a bot said, as it stands now
	At        time.Time
	Edits     int
	Reactions []string // in alphabetical order

	key   string      // of what a bot said
	press *bots.Press // a press is no message: it stands here for its order alone
}

// Fault is what goes wrong with one call to a Chat.
type Fault struct {
	Kind  FaultKind
	After time.Duration // of Limited
}

// FaultKind tells what goes wrong.
type FaultKind int

// What can go wrong.
const (
	None     FaultKind = iota
	Lost               // carried out, and the answer lost
	Vanished           // not carried out, and the answer lost: the caller cannot tell it from Lost
	Limited            // refused with a time to wait
	Down               // no connection
	Refused            // refused for good
)

// Chat is a chat server in memory. It has people, bots, reactions, edits and
// the faults of real ones, and outlives the processes that are connected to it.
type Chat struct {
	now func() time.Time

	mu       sync.Mutex
	said     []*Said
	faults   []Fault
	down     bool
	latency  time.Duration
	editable time.Duration
	calls    int
	tellings map[string]telling // by event and bot, of those who are told again
	changed  chan struct{}      // closed at every change, and replaced
}

// NewChat makes an empty chat. now may be nil.
func NewChat(now func() time.Time) *Chat {
	if now == nil {
		now = time.Now
	}
	return &Chat{now: now, editable: 10 * time.Minute, changed: make(chan struct{}), tellings: map[string]telling{}}
}

// Say posts a person's message that mentions every bot there is, and returns its id.
func (c *Chat) Say(user string, to commands.Place, text string) string {
	return c.SayAt(user, to, text, c.now())
}

// SayAt is Say with a time of writing.
func (c *Chat) SayAt(user string, to commands.Place, text string, at time.Time) string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.add(&Said{From: user, Place: to, Text: text, At: at}).ID
}

// Fail makes the next calls that post or edit fail, one fault each; None lets one pass.
func (c *Chat) Fail(faults ...Fault) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.faults = append(c.faults, faults...)
}

// SetDown switches every call off, or on again.
func (c *Chat) SetDown(down bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.down = down
	c.change()
}

// SetLatency makes every call take that long.
func (c *Chat) SetLatency(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.latency = d
}

// SetEditable sets for how long a message may be edited; ten minutes unless set.
func (c *Chat) SetEditable(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.editable = d
}

// Said is everything that was said in a place, in order.
func (c *Chat) Said(place commands.Place) []Said {
	return slices.DeleteFunc(c.All(), func(s Said) bool { return s.Place != place })
}

// All is everything that was said, in order.
func (c *Chat) All() []Said {
	return slices.DeleteFunc(c.happened(), func(s Said) bool { return s.press != nil })
}

// happened is everything that was said and pressed, in order.
func (c *Chat) happened() []Said {
	c.mu.Lock()
	defer c.mu.Unlock()
	all := make([]Said, len(c.said))
	for i, s := range c.said {
		all[i] = *s
		all[i].Reactions = slices.Clone(s.Reactions)
	}
	return all
}

// Bots is what bots said in a place, in order.
func (c *Chat) Bots(place commands.Place) []Said {
	return slices.DeleteFunc(c.Said(place), func(s Said) bool { return s.Text != "" })
}

// Message is one message.
func (c *Chat) Message(id string) (Said, bool) {
	for _, s := range c.All() {
		if s.ID == id {
			return s, true
		}
	}
	return Said{}, false
}

// Calls is how many calls were made, failed ones included.
func (c *Chat) Calls() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.calls
}

// Changed is closed at the next change.
func (c *Chat) Changed() <-chan struct{} {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.changed
}

// add appends a message; the lock is held.
func (c *Chat) add(s *Said) *Said {
	s.ID = strconv.Itoa(len(c.said) + 1)
	c.said = append(c.said, s)
	c.change()
	return s
}

// change tells whoever waits; the lock is held.
func (c *Chat) change() {
	close(c.changed)
	c.changed = make(chan struct{})
}

// Account is a bot signed in to a Chat: a bots.Transport with everything optional.
// On Run it hears every message ever written again: delivery is at least once.
type Account struct {
	chat *Chat
	bot  string
	life *Mortal
}

var (
	_ bots.Transport = (*Account)(nil)
	_ bots.Editor    = (*Account)(nil)
	_ bots.Reactor   = (*Account)(nil)
	_ bots.Finder    = (*Account)(nil)
	_ bots.Linker    = (*Account)(nil)
)

// Connect signs a bot in. With life given, a dead process reaches nothing.
func (c *Chat) Connect(bot string, life *Mortal) *Account {
	return &Account{chat: c, bot: bot, life: life}
}

// Run hears people's messages in order, from the first one on.
func (a *Account) Run(ctx context.Context, sink func(context.Context, bots.Heard) error) error {
	for next := 0; ctx.Err() == nil; {
		changed := a.chat.Changed()
		all := a.chat.happened()
		a.chat.mu.Lock()
		down := a.chat.down
		a.chat.mu.Unlock()
		for ; next < len(all) && !down && ctx.Err() == nil; next++ {
			if (all[next].Text != "" || all[next].press != nil) && sink(ctx, a.heard(all[next])) != nil {
				break // not recorded, so it comes again
			}
		}
		if next < len(all) && !down {
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

// heard is what a message is to the bot.
func (a *Account) heard(s Said) bots.Heard {
	h := bots.Heard{
		Key: "test:" + a.bot + ":" + s.ID, ID: s.ID, Text: s.Text, UserID: s.From, ChatID: "test:" + s.From,
		Name: "User " + s.From, Place: s.Place, Link: a.Link(s.Place, s.ID), At: s.At, Press: s.press,
	}
	if s.press != nil {
		h.Key, h.ID, h.Link = "test:"+a.bot+":press:"+s.ID, s.press.On, a.Link(s.Place, s.press.On)
	}
	return h
}

// Link is a message's address.
func (a *Account) Link(_ commands.Place, id string) string { return "http://chat.test/" + id }

// Send posts a message.
func (a *Account) Send(ctx context.Context, out bots.Outgoing) (id string, err error) {
	err = a.call(ctx, "send", func(c *Chat) error {
		id = c.add(&Said{From: a.bot, Place: out.Place, Message: out.Message, At: c.now(), key: out.Key}).ID
		return nil
	})
	if err != nil {
		return "", err
	}
	return id, nil
}

// Edit changes a message, while it is young enough.
func (a *Account) Edit(ctx context.Context, id string, out bots.Outgoing) error {
	return a.call(ctx, "edit", func(c *Chat) error {
		for _, s := range c.said {
			if s.ID == id {
				if c.now().Sub(s.At) > c.editable {
					return bots.ErrTooOld
				}
				s.Message, s.Edits = out.Message, s.Edits+1
				c.change()
				return nil
			}
		}
		return bots.ErrTooOld
	})
}

// React puts an emoji on a message or takes it off.
func (a *Account) React(ctx context.Context, id, emoji string, on bool) error {
	return a.call(ctx, "react", func(c *Chat) error {
		for _, s := range c.said {
			if s.ID == id {
				set := map[string]bool{}
				for _, r := range s.Reactions {
					set[r] = true
				}
				if set[emoji] = on; !on {
					delete(set, emoji)
				}
				s.Reactions = slices.Sorted(maps.Keys(set))
				c.change()
				return nil
			}
		}
		return errors.New("no such message")
	})
}

// Find looks for the message in its place by its content, as a real chat must.
func (a *Account) Find(ctx context.Context, out bots.Outgoing) (id string, found bool, err error) {
	want, err := json.Marshal(out.Message)
	if err != nil {
		return "", false, err
	}
	err = a.call(ctx, "", func(c *Chat) error {
		for _, s := range c.said {
			have, err := json.Marshal(s.Message)
			if err != nil {
				return err
			}
			if s.From == a.bot && s.Place == out.Place && !s.At.Before(out.Since) && string(have) == string(want) {
				id, found = s.ID, true
			}
		}
		return nil
	})
	return id, found, err
}

// Self is the bot.
func (a *Account) Self() bots.User { return bots.User{ID: a.bot, Name: a.bot} }

// Close does nothing: Run ends by its context.
func (a *Account) Close() error { return nil }

// step does what a process does to the outside: one of its life's writes of the name.
func (a *Account) step(name string, do func() error) error {
	if a.life == nil {
		return do()
	}
	return a.life.Write(name, do)
}

// call is one call over the wire: it takes time, may fail, and a dead process
// makes none. One with a name changes the chat, and is one of its life's writes.
func (a *Account) call(ctx context.Context, name string, do func(*Chat) error) error {
	a.chat.mu.Lock()
	latency := a.chat.latency
	a.chat.mu.Unlock()
	if latency > 0 {
		wait(ctx, latency)
	}
	if a.life != nil && a.life.dead() {
		return ErrDead
	}
	if name == "" {
		return a.chat.called(false, do)
	}
	return a.step(name, func() error { return a.chat.called(name != "react", do) })
}

// called carries a call out, or has it fail.
func (c *Chat) called(faulty bool, do func(*Chat) error) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.calls++
	var fault Fault
	if c.down {
		fault.Kind = Down
	} else if faulty && len(c.faults) > 0 {
		fault, c.faults = c.faults[0], c.faults[1:]
	}
	switch fault.Kind {
	case Limited:
		return &bots.RetryError{After: fault.After, Err: errors.New("rate limit")}
	case Down:
		return &bots.RetryError{Err: errors.New("connection refused")}
	case Vanished:
		return &bots.RetryError{Unknown: true, Err: errors.New("connection reset")}
	case Refused:
		return errors.New("refused for good")
	}
	if err := do(c); err != nil || fault.Kind != Lost {
		return err
	}
	return &bots.RetryError{Unknown: true, Err: errors.New("connection reset")}
}

// wait waits, or less when ctx ends.
func wait(ctx context.Context, d time.Duration) {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-ctx.Done():
	case <-t.C:
	}
}
