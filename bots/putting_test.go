package bots_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"platform.dev/platform/bots"
	"platform.dev/platform/bots/botstest"
	"platform.dev/platform/bots/markup"
	"platform.dev/platform/commands"
)

// gathering is a store whose writes of messages return only once so many of them are under way.
type gathering struct {
	*botstest.Store
	mu     sync.Mutex
	left   int
	opened chan struct{}
}

func (g *gathering) wait() {
	g.mu.Lock()
	if g.left--; g.left == 0 {
		close(g.opened)
	}
	g.mu.Unlock()
	<-g.opened
}

func (g *gathering) Offer(ctx context.Context, key, bot string, place, payload []byte, at time.Time) (int64, bool, error) {
	g.wait()
	return g.Store.Offer(ctx, key, bot, place, payload, at)
}

func (g *gathering) Put(ctx context.Context, key, bot string, place, payload []byte, at time.Time) error {
	g.wait()
	return g.Store.Put(ctx, key, bot, place, payload, at)
}

func TestAnswersToManyAreRecordedAtOnceSoThatTheyShareACommit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const together = 8
		w := newWorld(t, command("status", commands.Read, echo))
		store := &gathering{Store: w.store, left: together, opened: make(chan struct{})}
		var r *bots.Runtime
		w.config = func(c *bots.Config) { c.Outbox = store }
		r = w.runtime(nil)
		stop := run(t, r)
		defer stop()
		for i := range together / 2 {
			w.chat.Say("10", commands.Place{Stream: "shop", Topic: fmt.Sprint(i)}, "status")
		}
		var others sync.WaitGroup
		for i := range together / 2 {
			others.Go(func() {
				assert.NoError(t, r.Say(context.Background(), fmt.Sprint("news/", i), news, said("test.news", fmt.Sprint(i), markup.Notice)))
			})
		}
		others.Wait()
		until(t, "settled", w.settled)
		assert.Len(t, w.titles(news), together/2)
	})
}

func TestHoweverARowIsRevisedWhileItIsDeliveredItStandsOnceAndAsItWasLast(t *testing.T) {
	for seed := range uint64(40) {
		t.Run(fmt.Sprint("seed ", seed), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) { reviseAll(t, rand.New(rand.NewPCG(seed, 7))) }) //nolint:gosec // a test's
		})
	}
}

// hesitant is a store that takes its time: to commit a revision, and to tell what it has read.
type hesitant struct {
	*botstest.Store
	put, due time.Duration
}

func (h hesitant) Put(ctx context.Context, key, bot string, place, payload []byte, at time.Time) error {
	<-time.After(h.put)
	return h.Store.Put(ctx, key, bot, place, payload, at)
}

func (h hesitant) Due(ctx context.Context, bot string, now time.Time, after []byte, places, rows int,
	visit func(id int64, key string, place, payload []byte, rev int64, sentID string, tried time.Time) error,
) ([]byte, error) {
	last, err := h.Store.Due(ctx, bot, now, after, places, rows, visit)
	<-time.After(h.due)
	return last, err
}

// A row that is read waits for the pace of its place before it is attempted; a
// revision comes at some moment before that. What it replaces must not be sent
// any more, since the revision does not tell of it.
func TestNothingIsAttemptedOfARowThatIsBeingRevised(t *testing.T) {
	for name, c := range map[string]struct {
		put, due, revised time.Duration // how long the store takes, and when the revision comes
	}{
		"while the revision is written":     {put: 30 * time.Second, revised: 5 * time.Second},
		"once the revision is written":      {put: time.Second, revised: 5 * time.Second},
		"of which an earlier state is read": {put: time.Second, due: 3 * time.Second, revised: time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newWorld(t, command("status", commands.Read, echo))
				w.config = func(cfg *bots.Config) {
					cfg.Pace, cfg.Outbox = 10*time.Second, hesitant{Store: w.store, put: c.put, due: c.due}
				}
				say := func(text string) {
					require.NoError(t, bots.Say(t.Context(), w.store, "row", "platform", shop, said("test.row", text, markup.Notice), time.Now()))
				}
				require.NoError(t, bots.Say(t.Context(), w.store, "before", "platform", shop, said("test.row", "before", markup.Notice), time.Now()))
				say("old")
				r := w.runtime(nil)
				defer run(t, r)()
				<-time.After(c.revised)
				require.NoError(t, r.Say(t.Context(), "row", shop, said("test.row", "new", markup.Notice)))
				until(t, "settled", func() bool { return len(w.titles(shop)) == 2 && w.store.Settled() })
				assert.Equal(t, []string{"before", "new"}, w.titles(shop))
				assert.Zero(t, w.chat.Bots(shop)[1].Edits, "the old words were never sent")
			})
		})
	}
}

// patient is a store that takes its time to write, before the commit and after it.
type patient struct{ *botstest.Mortal }

func (p patient) Put(ctx context.Context, key, bot string, place, payload []byte, at time.Time) error {
	<-time.After(time.Millisecond)
	defer func() { <-time.After(time.Millisecond) }()
	return p.Mortal.Put(ctx, key, bot, place, payload, at)
}

// reviseAll revises many rows from many goroutines over a chat that fails, in a
// life that ends and in the next.
func reviseAll(t *testing.T, chance *rand.Rand) {
	const rows, revisions = 12, 15
	w := newWorld(t, command("status", commands.Read, echo))
	w.chat.SetLatency(3 * time.Millisecond)
	for range 60 {
		kind := []botstest.FaultKind{botstest.None, botstest.None, botstest.Lost, botstest.Vanished, botstest.Limited, botstest.Down}[chance.IntN(6)]
		w.chat.Fail(botstest.Fault{Kind: kind, After: time.Duration(1+chance.IntN(900)) * time.Millisecond})
	}
	var pauses [rows][revisions]time.Duration
	for i := range rows {
		for n := range revisions {
			pauses[i][n] = time.Duration(chance.IntN(8000)) * time.Microsecond
		}
	}
	begin := func(life *botstest.Mortal) (r *bots.Runtime, stop func()) {
		w.config = func(c *bots.Config) { c.Outbox = patient{life} }
		r = w.runtime(life)
		ctx, cancel := context.WithCancel(context.Background())
		ended := make(chan error, 1)
		go func() { ended <- r.Run(ctx) }()
		return r, func() {
			cancel()
			assert.NoError(t, <-ended)
		}
	}
	revise := func(r *bots.Runtime, from, to int) {
		var all sync.WaitGroup
		for i := range rows {
			all.Go(func() {
				place := commands.Place{Stream: "shop", Topic: fmt.Sprint(i % 3)}
				for n := from; n < to; n++ {
					m := said("test.row", fmt.Sprintf("row %d, %d", i, n), markup.Working)
					if r.Say(context.Background(), fmt.Sprint("row/", i), place, m) != nil {
						return // the process is dead
					}
					<-time.After(pauses[i][n])
				}
			})
		}
		all.Wait()
	}
	r, stop := begin(botstest.NewMortal(w.store, 5+chance.IntN(250)))
	revise(r, 0, revisions/2)
	stop()
	r, stop = begin(botstest.NewMortal(w.store, -1))
	defer stop()
	revise(r, revisions/2, revisions)
	until(t, "settled", w.store.Settled)
	total := 0
	for topic := range 3 {
		titles := w.titles(commands.Place{Stream: "shop", Topic: fmt.Sprint(topic)})
		total += len(titles)
		for i := topic; i < rows; i += 3 {
			assert.Contains(t, titles, fmt.Sprintf("row %d, %d", i, revisions-1))
		}
	}
	assert.Equal(t, rows, total)
}

// run runs a bot; the returned function ends it.
func run(t *testing.T, r *bots.Runtime) (stop func()) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- r.Run(ctx) }()
	return func() {
		cancel()
		require.NoError(t, <-ended)
	}
}

// A process dies with its answer sent and not recorded as sent; the next runs the
// command again, and has another answer before it has looked at the outbox.
func TestAnotherAnswerOfTheNextProcessTakesThePlaceOfTheFirst(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		answer := "first"
		w := newWorld(t, command("promote", commands.Write, func(ctx context.Context, _ commands.Request, reply commands.Reply) error {
			return reply.Answer(ctx, said("test.answer", answer, markup.Done))
		}))
		w.config = func(c *bots.Config) { c.Auditor, c.Marks = nil, time.Minute }
		life := botstest.NewMortal(w.store, 3) // heard, offered, sent
		w.chat.SetLatency(10 * time.Millisecond)
		stop := w.start(life)
		w.chat.Say("10", shop, "promote")
		until(t, "death", func() bool { return isClosed(life.Died()) })
		stop()
		require.Equal(t, []string{"hear", "offer", "send"}, life.Writes())
		require.Equal(t, []string{"first"}, w.titles(shop))

		answer = "second"
		w.config = func(c *bots.Config) { c.Outbox = hesitant{Store: w.store, due: time.Second} }
		defer w.start(nil)()
		until(t, "settled", w.settled)
		<-time.After(time.Minute)
		assert.Equal(t, []string{"second"}, w.titles(shop))
	})
}
