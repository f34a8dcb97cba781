package announcer

import (
	"context"
	"reflect"
	"slices"
	"time"

	"platform.dev/platform/bots/markup"
	"platform.dev/platform/flowclient"
)

// severals are the kinds of messages that tell of several events, with what
// their templates have as a body; no event has such a kind.
var severals = map[string]reflect.Type{
	kindSeveral:      reflect.TypeFor[Push](),
	kindSeveralLocks: reflect.TypeFor[Locking](),
}

// burst is events that belong together and are told in one message, which grows.
type burst interface {
	several() bool          // there is more than one to tell of
	begins(key string) bool // the event of the key began it
	thread() thread         // the message of its first event
	// tell is the message of all of them, and what a template has as its body.
	tell(who people) (markup.Message, any)
}

// onset is the first event of a burst.
type onset struct {
	began time.Time // when it was
	begun string    // its key
}

func onsetOf(e flowclient.Event) onset { return onset{began: e.At, begun: e.Key} }

func (o onset) begins(key string) bool { return o.begun == key }

// within tells whether an event is near enough to the first one.
func (o onset) within(e flowclient.Event) bool { return e.At.Sub(o.began).Abs() <= Together }

// growing is a burst that is told in the place of its first event.
type growing struct {
	onset
	count int  // events
	ended bool // something else happened since that it must not be told before: what follows is another
}

func (g *growing) several() bool  { return g.count > 1 }
func (g *growing) thread() thread { return thread{key: eventKey(g.begun)} }

// remembered is a list with one more at its end; beyond most the oldest is forgotten.
func remembered[T any](order []T, one T, most int) []T {
	if order = append(order, one); len(order) > most {
		order = slices.Delete(order, 0, 1)
	}
	return order
}

// bursts are those that are under way. What it knows follows from the events
// that it saw and from nothing else, so that it can be made again from them.
type bursts struct {
	pushes pushes
	locks  lockings
	moves  movings
}

// see takes note of an event and gives the burst that it is of; nil for none.
func (b *bursts) see(e flowclient.Event) burst {
	if m := b.moves.see(e); m != nil {
		return m
	}
	if p := b.pushes.see(e); p != nil {
		return p
	}
	if l := b.locks.see(e); l != nil {
		return l
	}
	return nil
}

// recall makes the bursts again from the last events up to the cursor.
func (a *Announcer) recall(ctx context.Context, cursor int64) (*bursts, error) {
	b := &bursts{}
	if cursor == 0 {
		return b, nil
	}
	return b, a.each(ctx, max(0, cursor-recalled), func(e flowclient.Event) (bool, error) {
		if e.Seq > cursor {
			return false, nil
		}
		b.see(e)
		return true, nil
	})
}
