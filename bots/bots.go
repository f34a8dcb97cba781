// Package bots is the runtime of chat bots: it hears messages through
// transports, routes them to commands, authorises, asks before it goes on where
// the policy wants that, runs, answers and remembers. What it heard, asks and
// owes is durable (Inbox, Questions, Outbox), so a restart neither loses nor
// repeats a message, nor does anything twice that was confirmed once.
//
// It knows nothing of any particular chat, nor of what commands act on.
package bots

import (
	"context"
	"time"

	"platform.dev/platform/bots/markup"
	"platform.dev/platform/commands"
)

// Heard is one message that mentioned a bot or was sent to it directly.
type Heard struct {
	Key    string         `json:"key"`  // transport, bot and message id, "zulip:platform:31": one message may mention two bots
	ID     string         `json:"id"`   // the chat's message id
	Text   string         `json:"text"` // with the mention removed
	UserID string         `json:"user_id"`
	ChatID string         `json:"chat_id"` // transport and user id, "zulip:10"
	Name   string         `json:"name"`
	Place  commands.Place `json:"place"`
	Link   string         `json:"link"` // its address; empty in a chat whose messages have none
	At     time.Time      `json:"at"`

	// Press is set when nothing was written, but a message of the bot's own
	// answered by hand: Text is then empty, and ID is the message's.
	Press *Press `json:"press,omitempty"`

	// Again says that the chat may have told of this message before, to a process
	// that has ended; its answer is looked for before it is given.
	Again bool `json:"again,omitempty"`
}

// Press is a press of a button of a message of the bot's own, or a reaction to
// one. Whoever it is from is who asks: the message may have been meant for others.
type Press struct {
	On    string `json:"on"`              // the chat's id of the message
	Value string `json:"value,omitempty"` // of the button; empty for a reaction
	Emoji string `json:"emoji,omitempty"` // of the reaction; empty for a button
}

// Outgoing is one message to send.
type Outgoing struct {
	Key     string // the outbox key: stable over retries and revisions
	Place   commands.Place
	Message markup.Message
	Since   time.Time // when the first attempt was made; zero on the first attempt
}

// User is an account in a chat.
type User struct {
	ID   string
	Name string
}

// Transport is a chat that a bot is signed in to.
type Transport interface {
	// Run hears until ctx ends. sink returns once the message is recorded, or answered; a
	// transport must not acknowledge a message to its chat before that.
	Run(ctx context.Context, sink func(context.Context, Heard) error) error
	// Send posts a message and returns the chat's id of it. A *RetryError says when to try again;
	// any other error is final for this message.
	Send(ctx context.Context, out Outgoing) (id string, err error)
	// Self is the bot's own account, whose messages are not heard.
	Self() User
	// Close gives up what the transport holds; it is called after Run has returned.
	Close() error
}

// Editor is a Transport that can change a message it posted. ErrTooOld asks for a new message instead.
type Editor interface {
	// Edit makes the posted message say what out says.
	Edit(ctx context.Context, id string, out Outgoing) error
}

// Reactor is a Transport that can mark a message with an emoji; repeating a reaction is no error.
type Reactor interface {
	// React puts the bot's own reaction on the message, or takes it away.
	React(ctx context.Context, id, emoji string, on bool) error
}

// Finder is a Transport that can tell whether an earlier attempt to send, whose
// answer was lost, arrived: it looks for the message in its place since out.Since.
type Finder interface {
	// Find is the chat's id of the message that out became, if it did.
	Find(ctx context.Context, out Outgoing) (id string, found bool, err error)
}

// Recaller is a Transport over a chat that tells of a message again until it was
// acknowledged, with Heard.Again when another process may have been told of it,
// and which finds what it posted by its key, whatever the words. Over such a
// chat a short read need not be recorded to be answered once.
type Recaller interface {
	// Recall is the chat's id of what was posted under out.Key in out.Place since out.Since, if
	// anything was; out.Message is not looked at. Of several parts it is enough that the first is there.
	Recall(ctx context.Context, out Outgoing) (id string, found bool, err error)
}

// Linker is a Transport whose messages have addresses.
type Linker interface {
	// Link is the address of a posted message, by its id in its place; "" when there is none.
	Link(to commands.Place, id string) string
}

// The reactions a bot puts on a message that mentions it.
const (
	ReactionHeard   = "eyes"       // heard, at work
	ReactionAsked   = "question"   // waits for somebody to confirm; another takes its place then
	ReactionDone    = "check"      // answered
	ReactionRefused = "no_entry"   // answered with a refusal
	ReactionFailed  = "cross_mark" // answered with a failure or a usage error
)

// Final tells whether a reaction says that the bot has finished with the
// message, or does nothing more about it before somebody has confirmed.
func Final(reaction string) bool {
	return reaction == ReactionDone || reaction == ReactionRefused || reaction == ReactionFailed || reaction == ReactionAsked
}

// Inbox remembers what was heard. Implementations are durable: a method returns after its commit.
type Inbox interface {
	// Hear records a message under its key; fresh is false when the key was known.
	Hear(ctx context.Context, key string, at time.Time, payload []byte) (fresh bool, err error)
	// Finish closes a heard message with the reaction that tells its outcome.
	Finish(ctx context.Context, key, outcome string, at time.Time) error
	// Unfinished visits heard messages not finished, oldest first.
	Unfinished(ctx context.Context, visit func(key string, at time.Time, payload []byte) error) error
	// Cursor and SetCursor keep a transport's position ("zulip:platform" -> last message id).
	Cursor(ctx context.Context, name string) (value string, err error)
	SetCursor(ctx context.Context, name, value string) error
}

// Outbox remembers what is owed. Rows of one bot and place leave in the order of their ids.
type Outbox interface {
	// Put records a message under key, or, when the key is known and the payload differs, a new revision of it.
	Put(ctx context.Context, key, bot string, place, payload []byte, at time.Time) error
	// Offer is Put of a new message, and Try at once when nothing that its bot owes to the place has to leave before
	// it: opened is then true, and id the row's. Otherwise, and under a known key, it is Put alone.
	Offer(ctx context.Context, key, bot string, place, payload []byte, at time.Time) (id int64, opened bool, err error)
	// Owed visits a bot's rows whose latest revision was not delivered and which are due at now, in id order.
	Owed(ctx context.Context, bot string, now time.Time, visit func(id int64, key string, place, payload []byte, rev int64, sentID string, tried time.Time) error) error
	// Due visits what Owed does, but not all: of so many places, in the order of their bytes and the first beyond after,
	// the first so many rows that are owed, as far as they are due. last is the place to go on after, nil when no place is left.
	Due(ctx context.Context, bot string, now time.Time, after []byte, places, rows int,
		visit func(id int64, key string, place, payload []byte, rev int64, sentID string, tried time.Time) error) (last []byte, err error)
	// Owes tells whether a bot owes a place anything that was never delivered.
	Owes(ctx context.Context, bot string, place []byte) (bool, error)
	// Try records that an attempt to deliver begins.
	Try(ctx context.Context, id int64, at time.Time) error
	// Sent records that revision rev was delivered as the chat's message sentID.
	Sent(ctx context.Context, id, rev int64, sentID string, at time.Time) error
	// Answered is Sent of an answer, and Inbox.Finish of the message that it answers, both or neither.
	Answered(ctx context.Context, id, rev int64, sentID, heard, outcome string, at time.Time) error
	// Later puts a row off until the instant, keeping why.
	Later(ctx context.Context, id int64, until time.Time, why string) error
	// Drop gives a row up, keeping why; its next revision, if there is one, is owed again.
	Drop(ctx context.Context, id int64, why string, at time.Time) error
}

// Directory knows people: chat user id ("zulip:10") to platform identity.
type Directory interface {
	// Person is who has the chat id; false for a stranger.
	Person(ctx context.Context, chatID string) (commands.Person, bool)
}

// Policy decides who may: a person's groups against a command's action. Deny by default.
type Policy interface {
	// Allowed tells whether one of the groups grants the action, such as "component:write".
	Allowed(groups []string, action string) bool
}
