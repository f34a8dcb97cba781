package bots_test

import (
	"context"
	"fmt"
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

func TestOneFaultOfEachKindDeliversOnce(t *testing.T) {
	for _, c := range []struct {
		name  string
		fault botstest.Fault
		after time.Duration // at least
	}{
		{"a lost answer", botstest.Fault{Kind: botstest.Lost}, 0},
		{"a lost request", botstest.Fault{Kind: botstest.Vanished}, time.Second},
		{"a rate limit", botstest.Fault{Kind: botstest.Limited, After: 28700 * time.Millisecond}, 28700 * time.Millisecond},
		{"no connection", botstest.Fault{Kind: botstest.Down}, time.Second},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newWorld(t, command("status", commands.Read, echo))
				w.chat.Fail(c.fault)
				stop := w.start(nil)
				defer stop()
				began := time.Now()
				w.chat.Say("10", shop, "status")
				until(t, "settled", w.settled)
				assert.Equal(t, []string{"status for test:platform:1"}, w.titles(shop))
				assert.GreaterOrEqual(t, time.Since(began), c.after)
			})
		})
	}
}

func TestAPlaceThatWaitsHoldsUpNoOther(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, command("status", commands.Read, echo))
		w.chat.Fail(botstest.Fault{Kind: botstest.Limited, After: time.Minute})
		stop := w.start(nil)
		defer stop()
		w.chat.Say("10", shop, "status")
		until(t, "put off", func() bool { return len(w.store.Rows()) > 0 && w.store.Rows()[0].Why != "" })
		began := time.Now()
		w.chat.Say("10", shop, "status")
		w.chat.Say("10", other, "status")
		until(t, "the other place is served", func() bool { return len(w.titles(other)) == 1 })
		assert.Less(t, time.Since(began), 2*time.Second)
		assert.Empty(t, w.titles(shop))
		until(t, "settled", w.settled)
		assert.Equal(t, []string{"status for test:platform:1", "status for test:platform:2"}, w.titles(shop))
	})
}

func TestWithTheChatDownCommandsRunAndEverythingArrivesLaterOnceInOrder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var done effects
		w := newWorld(t, command("promote", commands.Write, func(ctx context.Context, req commands.Request, reply commands.Reply) error {
			done.do(req.Key)
			return echo(ctx, req, reply)
		}))
		var want []string
		for i := range 20 {
			w.chat.Say("10", shop, "promote")
			want = append(want, fmt.Sprintf("promote for test:platform:%d", i+1))
		}
		stop := w.start(nil)
		defer stop()
		until(t, "all are heard", func() bool { return len(w.store.Outcomes()) == 20 })
		w.chat.SetDown(true)
		until(t, "all are run", func() bool { return len(done.list()) == 20 })
		calls := w.chat.Calls()
		<-time.After(time.Hour)
		assert.Less(t, w.chat.Calls()-calls, 600, "an outage is no busy loop")
		w.chat.SetDown(false)
		until(t, "settled", w.settled)
		assert.Equal(t, want, w.titles(shop))
	})
}

func TestWhatOthersPutIsDeliveredBesideAnswers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, command("status", commands.Read, echo))
		stop := w.start(nil)
		defer stop()
		announce := func(text string) {
			require.NoError(t, bots.Say(t.Context(), w.store, "event/1", "platform", news, said("test.news", text, markup.Notice), time.Now()))
		}
		announce("built")
		until(t, "delivered without being woken", func() bool { return len(w.titles(news)) == 1 })
		announce("built")
		announce("built and promoted")
		until(t, "revised", func() bool { return w.titles(news)[0] == "built and promoted" })
		assert.Len(t, w.chat.Bots(news), 1, "a revision is an edit")
		require.ErrorContains(t, bots.Say(t.Context(), w.store, "k", "platform", commands.Place{Topic: "x"}, markup.Message{}, time.Now()), "a stream or a person")
	})
}

func TestAnAnswerTooLateForAnEditIsPostedAnewOnce(t *testing.T) {
	for _, fault := range []botstest.FaultKind{botstest.None, botstest.Lost, botstest.Vanished} {
		t.Run(fmt.Sprintf("fault %d", fault), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newWorld(t, command("walk", commands.Write, func(ctx context.Context, req commands.Request, reply commands.Reply) error {
					if err := reply.Progress(ctx, said("test.step", "walking", markup.Working)); err != nil {
						return err
					}
					<-time.After(12 * time.Minute)
					return reply.Answer(ctx, said("test.walked", "walked", markup.Done))
				}))
				stop := w.start(nil)
				defer stop()
				w.chat.Say("10", shop, "walk")
				until(t, "progress is shown", func() bool { return len(w.titles(shop)) == 1 })
				w.chat.Fail(botstest.Fault{}, botstest.Fault{Kind: fault}) // the edit is answered; the post meets the fault
				<-time.After(12 * time.Minute)
				until(t, "settled", w.settled)
				assert.Equal(t, []string{"walking", "walked"}, w.titles(shop))
			})
		})
	}
}

func TestAMessageThatTheChatRefusesIsGivenUpAndHoldsUpNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, command("status", commands.Read, echo))
		w.chat.Fail(botstest.Fault{Kind: botstest.Refused})
		stop := w.start(nil)
		defer stop()
		w.chat.Say("10", shop, "status")
		w.chat.Say("10", shop, "status")
		until(t, "settled", w.settled)
		assert.Equal(t, []string{"status for test:platform:2"}, w.titles(shop))
		row := w.store.Rows()[0]
		assert.True(t, row.Dropped)
		assert.Equal(t, "refused for good", row.Why)
	})
}

func TestAnAnswerArrivesThoughTheProgressBeforeItWasRefused(t *testing.T) {
	for name, pause := range map[string]time.Duration{"after it was given up": time.Minute, "while it is being refused": time.Second} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newWorld(t, command("walk", commands.Write, func(ctx context.Context, _ commands.Request, reply commands.Reply) error {
					if err := reply.Progress(ctx, said("test.step", "walking", markup.Working)); err != nil {
						return err
					}
					<-time.After(pause)
					return reply.Answer(ctx, said("test.walked", "walked", markup.Done))
				}))
				w.chat.SetLatency(2 * time.Second)
				w.chat.Fail(botstest.Fault{Kind: botstest.Refused})
				stop := w.start(nil)
				defer stop()
				w.chat.Say("10", shop, "walk")
				until(t, "settled", w.settled)
				assert.Equal(t, []string{"walked"}, w.titles(shop))
			})
		})
	}
}

func TestMessagesToOnePlaceKeepThePace(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, command("status", commands.Read, echo))
		w.config = func(c *bots.Config) { c.Pace = time.Second }
		stop := w.start(nil)
		defer stop()
		for range 5 {
			w.chat.Say("10", shop, "status")
		}
		until(t, "settled", w.settled)
		posts := w.chat.Bots(shop)
		require.Len(t, posts, 5)
		for i := 1; i < len(posts); i++ {
			assert.GreaterOrEqual(t, posts[i].At.Sub(posts[i-1].At), time.Second)
		}
	})
}

func TestARowThatCannotBeReadIsGivenUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, command("status", commands.Read, echo))
		require.NoError(t, w.store.Put(t.Context(), "odd", "platform", []byte(`{"stream":"shop","topic":"talk"}`), []byte("no JSON"), time.Now()))
		stop := w.start(nil)
		defer stop()
		until(t, "given up", func() bool { return w.store.Rows()[0].Dropped })
	})
}

func TestProgressThatOutlivesTheEditLimitGoesOnInANewMessageThatLinksTheOld(t *testing.T) {
	for _, fault := range []botstest.FaultKind{botstest.None, botstest.Lost, botstest.Vanished} {
		t.Run(fmt.Sprintf("fault %d", fault), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newWorld(t, command("walk", commands.Write, func(ctx context.Context, req commands.Request, reply commands.Reply) error {
					for i := range 3 {
						if err := reply.Progress(ctx, said("test.step", fmt.Sprintf("step %d", i), markup.Working)); err != nil {
							return err
						}
						<-time.After(6 * time.Minute)
					}
					return reply.Answer(ctx, said("test.walked", "walked", markup.Done))
				}))
				w.chat.Fail(botstest.Fault{}, botstest.Fault{}, botstest.Fault{}, botstest.Fault{Kind: fault}) // of the post anew
				stop := w.start(nil)
				defer stop()
				w.chat.Say("10", shop, "walk")
				<-time.After(7 * time.Minute)
				until(t, "the first message is too old", func() bool { return len(w.titles(shop)) == 2 })
				assert.Equal(t, []string{"step 1", "step 2"}, w.titles(shop))
				until(t, "settled", func() bool { return w.titles(shop)[1] == "walked" && w.settled() })
				assert.Equal(t, []string{"step 1", "walked"}, w.titles(shop), "the new message is edited in its turn")
				posts := w.chat.Bots(shop)
				link := posts[1].Message.Blocks[0].Spans[1]
				assert.Equal(t, "http://chat.test/"+posts[0].ID, link.URL, "and still links the old one")
				assert.Len(t, posts[1].Message.Blocks, 1)
			})
		})
	}
}
