// Package announcer says in chat what has happened: builds, promotions, locks, freezes,
// projects, pull requests and their review environments. It reads the controller's
// events behind a cursor and puts one message each into the outbox, and one for
// all builds of a push, all locks of a moment or all that moved by itself together, so that nothing is
// said twice, nothing is lost, and nobody waits for a chat. An operator's templates may stand in place of its words.
//
// It knows nothing of how messages are delivered, nor of what made the events.
package announcer

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"strconv"
	"time"

	"platform.dev/platform/bots/markup"
	"platform.dev/platform/flowclient"
)

const (
	// Stale is how old an event may be to be announced by itself; older ones are folded into one message per place.
	Stale = time.Hour
	// Every is how often the events are read without a Wake.
	Every = 30 * time.Second
	// CursorName is the announcer's entry among the cursors; its value is the seq of the last announced event, in decimal.
	CursorName = "announcer"
	// batch is how many events are read at a time.
	batch = 200
)

// Events is what has happened, oldest first.
type Events interface {
	// Events lists events after seq, at most limit, in the order of their seq.
	Events(ctx context.Context, after int64, limit int) ([]flowclient.Event, error)
}

// Outbox keeps what is owed to a chat.
type Outbox interface {
	// Put records a message under key, or, when the key is known and the payload
	// differs, a new revision of it, which edits what was posted. It returns after its commit.
	Put(ctx context.Context, key, bot string, place, payload []byte, at time.Time) error
}

// Cursor keeps how far the events were announced; "" before the first.
type Cursor interface {
	// Cursor is what was kept under name last.
	Cursor(ctx context.Context, name string) (value string, err error)
	// SetCursor returns once the value is durable.
	SetCursor(ctx context.Context, name, value string) error
}

// Config is what an announcer works with. Person, Said, Now and Log may be left out.
type Config struct {
	Enabled bool // false: there are no credentials to announce with; nothing is read or put
	Events  Events
	Outbox  Outbox
	Cursor  Cursor
	Bot     string // who posts: "platform"
	Sandbox string // stream of walkthrough projects and review environments: "platform-sandbox"
	// Person finds the chat's user id of a commit's author, who is mentioned when a build fails. Default: nobody is known.
	Person func(author string) (userID string, ok bool)
	// Templates are an operator's own words; the zero value has none.
	Templates Templates
	Said      func()           // called after something was put, to wake who delivers; must return at once
	Now       func() time.Time // time.Now
	Log       *slog.Logger     // slog.Default
}

// Announcer turns events into messages. New makes one.
type Announcer struct {
	cfg    Config
	wake   chan struct{}
	bursts *bursts // nil: to be recalled from the events
}

// New checks the configuration.
func New(cfg Config) (*Announcer, error) {
	if cfg.Now == nil {
		cfg.Now = time.Now
	}
	if cfg.Log == nil {
		cfg.Log = slog.Default()
	}
	if cfg.Said == nil {
		cfg.Said = func() {}
	}
	if cfg.Person == nil {
		cfg.Person = func(string) (string, bool) { return "", false }
	}
	if cfg.Enabled {
		for name, missing := range map[string]bool{
			"Events": cfg.Events == nil, "Outbox": cfg.Outbox == nil, "Cursor": cfg.Cursor == nil,
			"Bot": cfg.Bot == "", "Sandbox": cfg.Sandbox == "",
		} {
			if missing {
				return nil, errors.New("announcer: " + name + " is not set")
			}
		}
	}
	return &Announcer{cfg: cfg, wake: make(chan struct{}, 1)}, nil
}

// Wake tells that there are new events. It returns at once.
func (a *Announcer) Wake() {
	select {
	case a.wake <- struct{}{}:
	default: // a pass is due already, and will see them
	}
}

// Run announces until ctx ends. A failure delays announcements and nothing
// else: the next pass goes on where the cursor stands.
func (a *Announcer) Run(ctx context.Context) error {
	if !a.cfg.Enabled {
		a.cfg.Log.InfoContext(ctx, "announcements are off: the bot's credentials file is absent")
		<-ctx.Done()
		return nil
	}
	tick := time.NewTicker(Every)
	defer tick.Stop()
	for {
		if err := a.pass(ctx); err != nil && ctx.Err() == nil {
			a.cfg.Log.WarnContext(ctx, "announcements delayed", "err", err)
		}
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
		case <-a.wake:
		}
	}
}

// pass announces every event after the cursor.
func (a *Announcer) pass(ctx context.Context) (err error) {
	defer func() {
		if err != nil {
			a.bursts = nil // it may know of events that are to be announced again
		}
	}()
	value, err := a.cfg.Cursor.Cursor(ctx, CursorName)
	if err != nil {
		return fmt.Errorf("read cursor: %w", err)
	}
	var after int64
	if value != "" {
		if after, err = strconv.ParseInt(value, 10, 64); err != nil {
			return fmt.Errorf("cursor %s: %w", CursorName, err)
		}
	}
	if a.bursts == nil {
		if a.bursts, err = a.recall(ctx, after); err != nil {
			return err
		}
	}
	if after, err = a.foldStale(ctx, after); err != nil {
		return err
	}
	return a.each(ctx, after, func(e flowclient.Event) (bool, error) {
		if err := a.announce(ctx, e); err != nil {
			return false, err
		}
		return true, a.advance(ctx, e.Seq)
	})
}

// each visits the events after a seq until visit says no.
func (a *Announcer) each(ctx context.Context, after int64, visit func(flowclient.Event) (more bool, err error)) error {
	for {
		events, err := a.cfg.Events.Events(ctx, after, batch)
		if err != nil {
			return fmt.Errorf("read events after %d: %w", after, err)
		}
		for _, e := range events {
			more, err := visit(e)
			if err != nil || !more {
				return err
			}
			after = e.Seq
		}
		if len(events) < batch {
			return nil
		}
	}
}

// announce puts the message of one event. The key is the event's own, so that
// a crash before the cursor moves changes nothing.
func (a *Announcer) announce(ctx context.Context, e flowclient.Event) error {
	said, ok := a.say(ctx, e)
	if !ok {
		return nil
	}
	return a.put(ctx, said.key, said.place, said.message)
}

// put records a message in the outbox.
func (a *Announcer) put(ctx context.Context, key string, to place, m markup.Message) error {
	where, err := json.Marshal(to)
	if err != nil {
		return fmt.Errorf("put %s: %w", key, err)
	}
	payload, err := json.Marshal(m)
	if err != nil {
		return fmt.Errorf("put %s: %w", key, err)
	}
	if err := a.cfg.Outbox.Put(ctx, key, a.cfg.Bot, where, payload, a.cfg.Now()); err != nil {
		return err
	}
	a.cfg.Said()
	return nil
}

// advance moves the cursor behind the event with the seq.
func (a *Announcer) advance(ctx context.Context, seq int64) error {
	if err := a.cfg.Cursor.SetCursor(ctx, CursorName, strconv.FormatInt(seq, 10)); err != nil {
		return fmt.Errorf("move cursor to %d: %w", seq, err)
	}
	return nil
}
