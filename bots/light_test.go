package bots_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
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

// newRepeated is a world whose chat tells again of what was not acknowledged.
func newRepeated(t *testing.T, cmds ...commands.Command) *world {
	w := newWorld(t, cmds...)
	w.repeated = true
	return w
}

// awake lets the moment pass in which what was written before the process began might be told.
func awake() { <-time.After(3 * time.Second) }

// over tells whether the bot has taken everything, and owes nothing.
func (w *world) over() bool { return w.chat.Unacknowledged("platform") == 0 && w.store.Settled() }

func TestAShortReadIsAnsweredByOneCallAndWritesNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newRepeated(t, command("status", commands.Read, echo))
		stop := w.start(nil)
		defer stop()
		awake()
		for i := range 3 {
			calls := w.chat.Calls()
			id := w.chat.Say("10", shop, "status")
			until(t, "answered", func() bool { return len(w.titles(shop)) == i+1 && w.over() })
			<-time.After(time.Minute)
			assert.Equal(t, 1, w.chat.Calls()-calls)
			assert.Empty(t, w.marks(id), "the answer says it")
		}
		assert.Empty(t, w.store.Outcomes())
		assert.Empty(t, w.store.Rows())
	})
}

func TestARefusalOrAFailureOfAShortReadIsItsAnswer(t *testing.T) {
	for name, err := range map[string]error{"bots.refused": refusal("not now"), "bots.failed": errors.New("git server: read: connection reset")} {
		synctest.Test(t, func(t *testing.T) {
			w := newRepeated(t, command("status", commands.Read, func(context.Context, commands.Request, commands.Reply) error { return err }))
			defer w.start(nil)()
			awake()
			id := w.chat.Say("10", shop, "status")
			until(t, "answered", func() bool { return len(w.titles(shop)) == 1 && w.over() })
			assert.Equal(t, []string{name}, w.kinds(shop))
			assert.Empty(t, w.marks(id))
			assert.Empty(t, w.store.Outcomes())
		})
	}
}

func TestWhatIsMoreThanAShortReadIsRecorded(t *testing.T) {
	long := func(ctx context.Context, _ commands.Request, reply commands.Reply) error {
		return reply.Answer(ctx, said("test.long", strings.Repeat("x", 3000), markup.Done))
	}
	for _, c := range []struct {
		name, text string
		run        func(ctx context.Context, req commands.Request, reply commands.Reply) error
		user       string
		titles     int
		rows       int
	}{
		{"a read that takes long", "status", func(ctx context.Context, req commands.Request, reply commands.Reply) error {
			<-time.After(time.Second)
			return echo(ctx, req, reply)
		}, "10", 1, 2},
		{"a long answer", "status", long, "10", 1, 1},
		{"a read that shows progress", "status", func(ctx context.Context, req commands.Request, reply commands.Reply) error {
			if err := reply.Progress(ctx, said("test.progress", "looking", markup.Working)); err != nil {
				return err
			}
			return echo(ctx, req, reply)
		}, "10", 1, 1},
		{"a read that posts elsewhere once it has answered", "status", func(ctx context.Context, req commands.Request, reply commands.Reply) error {
			if err := echo(ctx, req, reply); err != nil {
				return err
			}
			return reply.Post(ctx, "news", news, said("test.news", "looked", markup.Notice))
		}, "10", 1, 2},
		{"a read that calls another", "status", func(ctx context.Context, req commands.Request, reply commands.Reply) error {
			caller, ok := reply.(commands.Caller)
			if !ok {
				return errors.New("no caller")
			}
			called, err := caller.Call(ctx, []string{"other"})
			if err != nil {
				return err
			}
			return reply.Answer(ctx, called.Message)
		}, "10", 1, 1},
		{"a write", "promote", nil, "10", 1, 1},
		{"what is not understood", "stauts", nil, "10", 1, 1},
		{"a word to no question", "confirm abcdef", nil, "10", 1, 1},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				run := c.run
				if run == nil {
					run = echo
				}
				w := newRepeated(t, command("status", commands.Read, run), command("promote", commands.Write, echo), command("other", commands.Read, echo))
				defer w.start(nil)()
				awake()
				w.chat.Say(c.user, shop, c.text)
				until(t, "answered", func() bool { return len(w.titles(shop)) == c.titles && w.over() })
				<-time.After(time.Minute)
				assert.Len(t, w.titles(shop), c.titles)
				assert.Len(t, w.store.Outcomes(), 1)
				assert.Len(t, w.store.Rows(), c.rows)
			})
		})
	}
}

func TestAReadIsAcknowledgedWithinTheGraceHoweverLongItTakes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newRepeated(t, command("slow", commands.Read, func(ctx context.Context, req commands.Request, reply commands.Reply) error {
			<-time.After(5 * time.Second)
			return echo(ctx, req, reply)
		}))
		defer w.start(nil)()
		awake()
		for i := range 100 {
			w.chat.Say("10", commands.Place{Stream: "shop", Topic: fmt.Sprint(i)}, "slow")
			synctest.Wait()
			<-time.After(5 * time.Millisecond)
			synctest.Wait()
			assert.Zero(t, w.chat.Unacknowledged("platform"), "message %d", i)
		}
		until(t, "settled", w.over)
		for i := range 100 {
			assert.Len(t, w.titles(commands.Place{Stream: "shop", Topic: fmt.Sprint(i)}), 1)
		}
	})
}

func TestAnAnswerThatCannotBeSentAtOnceArrivesOnce(t *testing.T) {
	for _, latency := range []time.Duration{0, time.Millisecond, 15 * time.Millisecond, 30 * time.Millisecond} {
		for _, kind := range []botstest.FaultKind{botstest.None, botstest.Lost, botstest.Vanished, botstest.Limited, botstest.Down} {
			synctest.Test(t, func(t *testing.T) {
				w := newRepeated(t, command("status", commands.Read, echo))
				w.chat.SetLatency(latency)
				defer w.start(nil)()
				awake()
				w.chat.Fail(botstest.Fault{Kind: kind, After: 3 * time.Second})
				w.chat.Say("10", shop, "status")
				until(t, "answered", func() bool { return len(w.titles(shop)) == 1 && w.over() })
				<-time.After(time.Minute)
				assert.Equal(t, []string{"status for test:platform:1"}, w.titles(shop), "fault %d, latency %s", kind, latency)
			})
		}
	}
}

func TestAShortReadOvertakesNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newRepeated(t, command("status", commands.Read, echo), command("promote", commands.Write, func(ctx context.Context, req commands.Request, reply commands.Reply) error {
			<-time.After(time.Second)
			return echo(ctx, req, reply)
		}))
		defer w.start(nil)()
		awake()
		w.chat.Fail(botstest.Fault{Kind: botstest.Limited, After: 5 * time.Second})
		w.chat.Say("10", shop, "promote")
		w.chat.Say("10", shop, "status")
		<-time.After(2 * time.Second)
		w.chat.Say("10", shop, "status") // nobody is at work there, but its answers are owed
		until(t, "answered", func() bool { return len(w.titles(shop)) == 3 && w.over() })
		assert.Equal(t, []string{"promote for test:platform:1", "status for test:platform:2", "status for test:platform:3"}, w.titles(shop))
		w.chat.Say("10", shop, "status")
		until(t, "answered", func() bool { return len(w.titles(shop)) == 4 && w.over() })
		assert.Len(t, w.store.Outcomes(), 3, "once all is said, a short read writes nothing again")
	})
}

func TestAMessageIsMarkedOnlyWhenItIsNotAnsweredInAMoment(t *testing.T) {
	for _, c := range []struct {
		took time.Duration
		seen []string // after 600 ms
		end  []string
	}{{0, nil, nil}, {400 * time.Millisecond, nil, nil}, {5 * time.Second, []string{bots.ReactionHeard}, []string{bots.ReactionDone}}} {
		synctest.Test(t, func(t *testing.T) {
			w := newWorld(t, command("promote", commands.Write, func(ctx context.Context, req commands.Request, reply commands.Reply) error {
				<-time.After(c.took)
				return echo(ctx, req, reply)
			}))
			w.config = func(cfg *bots.Config) { cfg.Marks = 500 * time.Millisecond }
			defer w.start(nil)()
			id := w.chat.Say("10", shop, "promote")
			<-time.After(600 * time.Millisecond)
			synctest.Wait()
			assert.Equal(t, c.seen, w.marks(id), "%s", c.took)
			until(t, "settled", w.settled)
			<-time.After(time.Minute)
			assert.Equal(t, c.end, w.marks(id), "%s", c.took)
		})
	}
}

func TestAnAnswerIsThreeCommits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newRepeated(t, command("promote", commands.Write, echo))
		w.config = func(c *bots.Config) { c.Auditor = nil }
		life := botstest.NewMortal(w.store, -1)
		defer w.start(life)()
		w.chat.SetLatency(30 * time.Millisecond)
		w.chat.Say("10", shop, "promote")
		until(t, "settled", w.over)
		assert.ElementsMatch(t, []string{"hear", "offer", "send", "answered", "ack", "ack"}, life.Writes())
	})
}

func TestAMarkThatAnEarlierProcessPutOnIsTakenOff(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		first := true
		w := newRepeated(t, command("promote", commands.Write, func(ctx context.Context, req commands.Request, reply commands.Reply) error {
			if first {
				<-ctx.Done()
				return ctx.Err()
			}
			return echo(ctx, req, reply)
		}))
		stop := w.start(nil)
		id := w.chat.Say("10", shop, "promote")
		<-time.After(time.Minute)
		require.Equal(t, []string{bots.ReactionHeard}, w.marks(id))
		stop()
		first = false
		defer w.start(nil)()
		until(t, "settled", w.over)
		assert.Equal(t, []string{bots.ReactionDone}, w.marks(id))
	})
}

func TestShortReadsAreLimitedAndObservedAsAnyOther(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var mu sync.Mutex
		var seen []bots.Observation
		w := newRepeated(t, command("status", commands.Read, echo))
		w.config = func(c *bots.Config) {
			c.Rate = bots.DefaultRate
			c.Observe = func(o bots.Observation) { mu.Lock(); defer mu.Unlock(); seen = append(seen, o) }
		}
		defer w.start(nil)()
		awake()
		for range 15 {
			w.chat.Say("10", shop, "status")
		}
		until(t, "answered", func() bool { return w.over() && len(w.titles(shop)) == 11 })
		<-time.After(time.Second)
		found := map[string]int{}
		for _, kind := range w.kinds(shop) {
			found[kind]++
		}
		assert.Equal(t, map[string]int{"test.echo": 10, "bots.limited": 1}, found)
		assert.Equal(t, []string{bots.DecidedLimited}, w.decisions())
		assert.Len(t, seen, 15)
		for _, o := range seen {
			assert.Equal(t, "status read", o.Verb+" "+string(o.Effect), "what was not looked at is counted as what it asked for")
		}
		assert.Equal(t, bots.Observation{Bot: "platform", Verb: "status", Effect: commands.Read, Outcome: bots.ReactionDone}, seen[0])
		assert.Len(t, w.store.Outcomes(), 5, "what was too fast is recorded")
	})
}
