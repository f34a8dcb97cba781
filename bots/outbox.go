package bots

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"platform.dev/platform/bots/markup"
	"platform.dev/platform/commands"
)

// payload is what an outbox row holds: a message, or the mark that a message
// that was heard gets at its end. A message is the plain JSON of
// markup.Message, so that whoever says something needs nothing of this package.
type payload struct {
	markup.Message
	// Was are the earlier revisions that an attempt may have brought to the chat
	// without its outcome being known: what to look for besides the message itself.
	Was []markup.Message `json:"was,omitempty"`
	// Since is when an answer may first have been sent of which no row tells: it is looked for by its key.
	Since time.Time `json:"since,omitzero"`
	Mark  *mark     `json:"mark,omitempty"`
}

// mark is the final reaction on a message: it takes the place of ReactionHeard.
type mark struct {
	On    string `json:"on"`    // the chat's id of the message that asked
	Emoji string `json:"emoji"` // ReactionDone, ReactionRefused, ReactionFailed
}

// Say records that bot owes message m to a place, once per key; another m under
// the same key is a revision. It returns once that is durable. Whoever says
// something beside a running bot calls its Wake afterwards.
func Say(ctx context.Context, o Outbox, key, bot string, to commands.Place, m markup.Message, at time.Time) error {
	if err := placed(key, to); err != nil {
		return err
	}
	return put(ctx, o, key, bot, to, m, at)
}

// placed is an error where a place is none.
func placed(key string, to commands.Place) error {
	if to.Stream == "" && to.Direct == "" {
		return fmt.Errorf("say %s: a place needs a stream or a person", key)
	}
	return nil
}

// mark records the reaction that a message gets at its end. It leaves behind
// the answer, in the answer's place.
func (r *Runtime) mark(ctx context.Context, h hearing, outcome string) error {
	if r.reactor == nil {
		return nil
	}
	// The anonymous struct leaves out the empty message.
	row := struct {
		Mark mark `json:"mark"`
	}{mark{On: h.ID, Emoji: outcome}}
	defer r.Wake()
	return r.put(ctx, h.Key+"/mark", h.Place, row)
}

// put is put for this bot.
func (r *Runtime) put(ctx context.Context, key string, to commands.Place, row any) error {
	place, body, err := encode(key, to, row)
	if err != nil {
		return err
	}
	r.owes(string(place))
	defer r.owes(string(place))
	return r.cfg.Outbox.Put(ctx, key, r.cfg.Bot, place, body, r.cfg.Now())
}

// put encodes and records a row.
func put(ctx context.Context, o Outbox, key, bot string, to commands.Place, row any, at time.Time) error {
	place, body, err := encode(key, to, row)
	if err != nil {
		return err
	}
	return o.Put(ctx, key, bot, place, body, at)
}

// encode is a place and a row as the outbox keeps them.
func encode(key string, to commands.Place, row any) (place, body []byte, err error) {
	if place, err = json.Marshal(to); err == nil {
		body, err = json.Marshal(row)
	}
	if err != nil {
		return nil, nil, fmt.Errorf("say %s: %w", key, err)
	}
	return place, body, nil
}

// Say is Say for this bot, waking it. It also does what Say cannot: a revision
// made while an attempt at an earlier one is under way carries that one along,
// so that after a crash it is found and edited, not posted a second time.
func (r *Runtime) Say(ctx context.Context, key string, to commands.Place, m markup.Message) error {
	if err := placed(key, to); err != nil {
		return err
	}
	return r.say(ctx, key, to, payload{Message: m})
}

// say puts a row of this bot's that may be a revision.
func (r *Runtime) say(ctx context.Context, key string, to commands.Place, p payload) error {
	if err := r.recall(ctx); err != nil {
		return fmt.Errorf("say %s: %w", key, err)
	}
	if err := r.claim(ctx, key); err != nil {
		return fmt.Errorf("say %s: %w", key, err)
	}
	defer r.Wake() // runs after the row is let go
	defer r.unclaim(key)
	p.Was = r.mayHaveArrived(key, p.Message)
	return r.put(ctx, key, to, p)
}

// owed is a row of the outbox that is to be delivered.
type owed struct {
	id, rev int64
	key     string
	place   string // as recorded: rows with the same bytes leave in order
	body    []byte
	sentID  string    // what an earlier revision was delivered as
	tried   time.Time // when delivering this revision was first attempted
}

// decode reads a row. A row that cannot be read will never be deliverable.
func (o owed) decode() (commands.Place, payload, error) {
	var to commands.Place
	var p payload
	err := errors.Join(json.Unmarshal([]byte(o.place), &to), json.Unmarshal(o.body, &p))
	return to, p, err
}
