// Package commands is the vocabulary of chat: a Command is a value that says
// which bot and verb it answers to, what it takes, who may run it and what it
// does. Help, usage errors, permission and audit all derive from the value.
//
// It knows nothing of any chat, of transports, or of what a command acts on.
package commands

import (
	"context"
	"time"

	"platform.dev/platform/bots/markup"
)

// Effect tells whether a command changes anything. A write is authorised,
// deduplicated durably and refused when stale; a read is none of these.
type Effect string

// The two effects.
const (
	Read  Effect = "read"
	Write Effect = "write"
)

// Command is one thing a person can ask of a bot.
type Command struct {
	Bot      string     // "platform", "walkthrough"
	Verb     string     // "promote"
	Summary  string     // one line, imperative, no full stop
	Examples []string   // without the mention: "promote shop"
	Effect   Effect     // Read or Write
	Action   string     // what permission is asked for, "component:promote"; empty for reads open to everyone known
	Args     func() any // a fresh pointer to a kong struct per message; nil when the verb takes nothing
	// Note is said in help beside the summary: limits, what an interruption means. One or more sentences, or empty.
	Note string
	// Also are other ways to ask for it without arguments, word for word: "freeze list".
	Also []string
	// Needs are the permissions that the arguments ask for beside Action: nil for none, whatever they are.
	Needs func(args any) []string
	// Plan tells what Run would do, and does nothing; an error is answered as Run's
	// would be. Nil: whoever is asked to confirm is shown what the command is for.
	Plan func(ctx context.Context, req Request) (Plan, error)
	Run  func(ctx context.Context, req Request, reply Reply) error
}

// Person is who asked, as the directory knows them.
type Person struct {
	ChatID  string   // transport and user id: "zulip:10". The only thing authorisation goes by
	UserID  string   // the chat's own user id, for mentions: "10"
	Name    string   // display name at the time; foreign text
	Persona string   // platform identity: "developer"; empty when the directory does not know them
	Groups  []string // admins, developers, platform-engineers, sres
}

// Place is where messages go: a stream and a topic, or a person's direct messages.
type Place struct {
	Stream string `json:"stream,omitempty"`
	Topic  string `json:"topic,omitempty"`
	Direct string `json:"direct,omitempty"` // the chat's user id; Stream and Topic are then empty
}

// Request is one command as asked.
type Request struct {
	Key     string // origin: transport and message id, "zulip:31". Effects are deduplicated by it
	Bot     string
	Verb    string
	Args    any // what Command.Args made, parsed
	Text    string
	Who     Person
	Place   Place
	Link    string    // permalink of the message that asked
	Project string    // the project whose stream this was asked in, else empty
	At      time.Time // when the message was written
	Trace   string    // W3C trace context that the command runs in; empty where nothing is traced

	// Confirmed is the fingerprint of the plan that was confirmed; empty when nobody was asked.
	Confirmed string
}

// Reply is how a command answers. Everything goes through the durable outbox:
// calls return once the message is recorded, not once it is delivered.
type Reply interface {
	// Answer posts the final answer where the command was asked. When Progress
	// was called before, the progress message becomes the answer, in place.
	Answer(ctx context.Context, m markup.Message) error
	// Progress posts, then edits, the one progress message of this request.
	Progress(ctx context.Context, m markup.Message) error
	// Post says m in another place, once per key; called again with another
	// message under the same key it edits what was posted.
	Post(ctx context.Context, key string, to Place, m markup.Message) error
}

// Refusal is an error that is an answer: a decision against what was asked.
// Errors that have this method are shown word for word.
type Refusal interface {
	error
	// Refused is the sentence, which ends with what to do or when.
	Refused() string
}
