package zulip

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"platform.dev/platform/bots"
	"platform.dev/platform/bots/botstest"
)

// keeper is a store that lists what the cursor was set to, and can refuse.
type keeper struct {
	*botstest.Store

	mu     sync.Mutex
	set    []string
	refuse int // how many more times; below 0 for ever
}

func (k *keeper) SetCursor(ctx context.Context, name, value string) error {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.refuse != 0 {
		k.refuse--
		return errors.New("disk full")
	}
	k.set = append(k.set, value)
	return k.Store.SetCursor(ctx, name, value)
}

func (k *keeper) values() []string {
	k.mu.Lock()
	defer k.mu.Unlock()
	return append([]string(nil), k.set...)
}

// mentionEvents are the events of mentions with the ids from first to last.
func mentionEvents(first, last int) (list []string) {
	for id := first; id <= last; id++ {
		list = append(list, said(id, message(id, 10, fmt.Sprintf("@**platform** m%d", id), ""), `"mentioned"`))
	}
	return list
}

func TestTheCursorIsWrittenOnceABatch(t *testing.T) {
	other := said(26, message(26, 10, "not for a bot", ""), ``)
	s := newScript(t).on("GET /events",
		events(append(mentionEvents(1, 20), fmt.Sprintf(heartbeat, 21), `{"id":22,"type":"realm_user","op":"update","person":{"user_id":10}}`)...),
		events(other, fmt.Sprintf(heartbeat, 27)),
		events(mentionEvents(30, 31)...), answer{hold: true})
	k := &keeper{Store: botstest.NewStore(), refuse: 0}
	require.NoError(t, k.Store.SetCursor(t.Context(), "zulip:platform", "0"))
	heard, _ := listening(t, s.transport(nil, func(c *Config) { c.Cursor = k }), nil)
	for i := range 20 {
		assert.Equal(t, fmt.Sprintf("m%d", i+1), next(t, heard).Text)
	}
	next(t, heard)
	next(t, heard)
	s.await("GET /events", 4)
	assert.Equal(t, []string{"20", "31"}, k.values(), "what is for nobody is not worth a write")
}

func TestABatchIsNotAcknowledgedBeforeItsCursorIsStored(t *testing.T) {
	s := newScript(t).on("GET /events", events(mentionEvents(1, 3)...), answer{hold: true})
	k := &keeper{Store: botstest.NewStore(), refuse: 2}
	require.NoError(t, k.Store.SetCursor(t.Context(), "zulip:platform", "0"))
	heard, _ := listening(t, s.transport(nil, func(c *Config) { c.Cursor = k }), nil)
	for range 3 {
		next(t, heard)
	}
	polls := s.await("GET /events", 2)
	assert.Equal(t, []string{"3"}, k.values())
	assert.Equal(t, "3", polls[1].Form.Get("last_event_id"))
	assert.Empty(t, heard, "each message is handed over once")
}

// The process dies within a batch: some of its messages are recorded, its cursor is not.
func TestAKillWithinABatchLosesAndDoublesNothing(t *testing.T) {
	for recorded := range 5 {
		t.Run(fmt.Sprintf("after %d of 4", recorded), func(t *testing.T) {
			inbox := botstest.NewStore()
			require.NoError(t, inbox.SetCursor(t.Context(), "zulip:platform", "0"))
			var order []string
			left := recorded
			record := func(limited bool) func(bots.Heard) error {
				return func(h bots.Heard) error {
					if limited && left == 0 {
						return errors.New("killed")
					}
					left--
					fresh, err := inbox.Hear(t.Context(), h.Key, h.At, []byte("{}"))
					if fresh {
						order = append(order, h.Text)
					}
					return err
				}
			}
			s := newScript(t).on("GET /events", events(mentionEvents(1, 4)...), answer{hold: true})
			dead := &keeper{Store: inbox, refuse: -1}
			ctx, kill := context.WithCancel(t.Context())
			first := s.transport(nil, func(c *Config) { c.Cursor = dead })
			ended := make(chan error, 1)
			reached := make(chan struct{}, 100)
			go func() {
				take := record(true)
				ended <- first.Run(ctx, func(_ context.Context, h bots.Heard) error {
					err := take(h)
					reached <- struct{}{}
					return err
				})
			}()
			for range min(recorded+1, 4) {
				<-reached
			}
			kill()
			require.NoError(t, <-ended)
			assert.Empty(t, dead.values())

			var history []string
			for id := range 4 {
				history = append(history, message(id+1, 10, fmt.Sprintf("@**platform** m%d", id+1), `,"flags":["mentioned"]`))
			}
			s.on("GET /events", answer{hold: true}).on("GET /messages", page(true, history...), ok(nothing))
			heard, _ := listening(t, s.transport(inbox), record(false))
			for range 4 {
				next(t, heard)
			}
			assert.Equal(t, []string{"m1", "m2", "m3", "m4"}, order, "each recorded once, in order")
			s.await("GET /events", 2)
			cursor, err := inbox.Cursor(t.Context(), "zulip:platform")
			require.NoError(t, err)
			assert.Equal(t, "4", cursor)
		})
	}
}

func TestWhatWasTakenBeforeTheEndIsBehindTheCursor(t *testing.T) {
	s := newScript(t).on("GET /events", events(mentionEvents(1, 3)...), answer{hold: true})
	k := &keeper{Store: botstest.NewStore()}
	require.NoError(t, k.Store.SetCursor(t.Context(), "zulip:platform", "0"))
	ctx, stop := context.WithTimeout(t.Context(), time.Minute)
	defer stop()
	taken := 0
	err := s.transport(nil, func(c *Config) { c.Cursor = k }).Run(ctx, func(context.Context, bots.Heard) error {
		if taken == 2 {
			stop()
			return errors.New("the store is closed")
		}
		taken++
		return nil
	})
	require.NoError(t, err)
	assert.Equal(t, []string{"2"}, k.values())
}
