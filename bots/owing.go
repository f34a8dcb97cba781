package bots

import (
	"context"

	"platform.dev/platform/commands"
)

// owingKept is how many places that perhaps owe something are remembered before
// they are looked after; owingLooked, how many then at a time.
const (
	owingKept   = 1024
	owingLooked = 64
)

// owes notes that something is perhaps owed to a place: nothing that is not
// recorded may then overtake it. It is called before it is put and after.
func (r *Runtime) owes(place string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.lanes.puts++
	r.lanes.owing[place] = r.lanes.puts
}

// clear tells whether nothing is owed to a place, so that what is said there now is in order.
func (r *Runtime) clear(ctx context.Context, to commands.Place) bool {
	place, _, err := encode("", to, nil)
	return err == nil && r.isClear(ctx, string(place))
}

func (r *Runtime) isClear(ctx context.Context, place string) bool {
	r.mu.Lock()
	put, perhaps := r.lanes.owing[place]
	r.mu.Unlock()
	if !perhaps {
		return true
	}
	owes, err := r.cfg.Outbox.Owes(ctx, r.cfg.Bot, []byte(place))
	if err != nil || owes {
		return false
	}
	r.settled(place, put)
	return true
}

// settled forgets a place to which nothing was owed after a put, unless there was another.
func (r *Runtime) settled(place string, put uint64) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.lanes.owing[place] == put {
		delete(r.lanes.owing, place)
	}
}

// sweep looks after some of the places that are remembered, when there are many.
func (r *Runtime) sweep(ctx context.Context) {
	r.mu.Lock()
	var some []string
	if len(r.lanes.owing) > owingKept {
		for place := range r.lanes.owing {
			if some = append(some, place); len(some) == owingLooked {
				break
			}
		}
	}
	r.mu.Unlock()
	for _, place := range some {
		r.isClear(ctx, place)
	}
}
