package bots

import (
	"fmt"
	"time"

	"platform.dev/platform/commands"
)

// Observation is a message that was answered, for whoever measures.
type Observation struct {
	Bot     string
	Verb    string // empty when no command was understood
	Effect  commands.Effect
	Outcome string // the reaction: ReactionDone, ReactionRefused, ReactionFailed, ReactionAsked
	Took    time.Duration
	Trace   string // the trace's id, 32 hex digits; empty when there is none
}

// Connector is a Transport that can tell how its connection stands.
type Connector interface {
	// Connected tells whether the chat is being heard right now.
	Connected() bool
	// Reconnects counts how often the connection was made anew after it was lost.
	Reconnects() int64
}

// deafAfter is how long a chat may be out of hearing before the bot counts as dead.
const deafAfter = 3 * time.Minute

// Depth counts the messages that wait to be answered, and those being answered.
func (r *Runtime) Depth() (waiting, running int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, queue := range r.queues {
		waiting += len(queue)
	}
	return waiting, len(r.running)
}

// Connection tells whether the chat is being heard, and how often the connection
// was made anew. ok is false when the transport cannot tell.
func (r *Runtime) Connection() (connected bool, reconnects int64, ok bool) {
	if r.connector == nil {
		return false, 0, false
	}
	return r.connector.Connected(), r.connector.Reconnects(), true
}

// Health tells why the bot is not to be relied on: a sentence for whoever runs
// it. Nil while it hears its chat, and for three minutes after it last did.
func (r *Runtime) Health(now time.Time) error {
	if r.connector == nil || r.connector.Connected() {
		return nil
	}
	r.mu.Lock()
	last := r.heardAt
	r.mu.Unlock()
	if deaf := now.Sub(last); !last.IsZero() && deaf > deafAfter {
		return fmt.Errorf("bot %s has not heard its chat for %s: look whether the chat answers, and at the bot's log",
			r.cfg.Bot, plain(deaf.Truncate(time.Second)))
	}
	return nil
}

// listen notes when the chat was last in hearing; it is called every second.
func (r *Runtime) listen() {
	if r.connector == nil {
		return
	}
	connected := r.connector.Connected()
	r.mu.Lock()
	defer r.mu.Unlock()
	if connected || r.heardAt.IsZero() {
		r.heardAt = r.cfg.Now()
	}
}

// observe tells that what y asks for came to an end.
func (r *Runtime) observe(y *reply, effect commands.Effect, outcome string, took time.Duration) {
	if r.cfg.Observe == nil {
		return
	}
	y.mu.Lock()
	trace := y.trace
	y.mu.Unlock()
	r.cfg.Observe(Observation{Bot: r.cfg.Bot, Verb: y.request.Verb, Effect: effect, Outcome: outcome, Took: took, Trace: trace})
}
