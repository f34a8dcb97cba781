package bots_test

import (
	"context"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"

	"platform.dev/platform/bots"
	"platform.dev/platform/bots/markup"
	"platform.dev/platform/commands"
)

func TestWhoAsksTooFastIsToldSoOnceAnEpisode(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, command("status", commands.Read, echo))
		w.config = func(c *bots.Config) { c.Rate = bots.DefaultRate }
		stop := w.start(nil)
		defer stop()
		kinds := func() map[string]int {
			found := map[string]int{}
			for _, k := range w.kinds(shop) {
				found[k]++
			}
			return found
		}
		var ids []string
		for range 15 {
			ids = append(ids, w.chat.Say("10", shop, "status"))
		}
		w.chat.Say("11", shop, "status")
		until(t, "settled", w.settled)
		assert.Equal(t, map[string]int{"test.echo": 11, "bots.limited": 1}, kinds(), "ten at once, one word of warning, and nobody else is meant")
		assert.Contains(t, markup.Plain(w.chat.Bots(shop)[10].Message), "Slow down; ask again in 3 s")
		for i, id := range ids {
			want := bots.ReactionDone
			if i >= 10 {
				want = bots.ReactionRefused
			}
			assert.Equal(t, []string{want}, w.marks(id), "message %d", i)
		}
		<-time.After(3 * time.Second)
		for range 3 {
			w.chat.Say("10", shop, "status")
		}
		until(t, "settled", w.settled)
		assert.Equal(t, map[string]int{"test.echo": 12, "bots.limited": 2}, kinds(), "another episode, another word")
		assert.Equal(t, []string{bots.DecidedLimited, bots.DecidedLimited}, w.decisions(), "an open read is no decision")
		<-time.After(time.Minute)
		for range 10 {
			w.chat.Say("10", shop, "status")
		}
		until(t, "settled", w.settled)
		assert.Equal(t, 22, kinds()["test.echo"])
	})
}

func TestARestartMakesNobodyTooFast(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		interrupted := true
		w := newWorld(t, command("status", commands.Read, func(ctx context.Context, req commands.Request, reply commands.Reply) error {
			if interrupted {
				<-ctx.Done()
				return ctx.Err()
			}
			return echo(ctx, req, reply)
		}))
		w.config = func(c *bots.Config) { c.Rate = bots.Rate{PerMinute: 60, Burst: 1} }
		stop := w.start(nil)
		for i := range 5 {
			w.chat.Say("10", commands.Place{Stream: "shop", Topic: fmt.Sprint(i)}, "status")
			<-time.After(time.Second)
		}
		until(t, "all are heard", func() bool { return len(w.store.Outcomes()) == 5 })
		stop()
		interrupted = false
		defer w.start(nil)() // all five at once, a second apart when they were heard
		until(t, "settled", w.settled)
		for key, outcome := range w.store.Outcomes() {
			assert.Equal(t, bots.ReactionDone, outcome, key)
		}
	})
}
