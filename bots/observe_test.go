package bots_test

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
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

func TestEveryAnswerIsObserved(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var mu sync.Mutex
		var seen []bots.Observation
		w, done, standing := asking(t, nil)
		before := w.config
		w.config = func(c *bots.Config) {
			before(c)
			c.Observe = func(o bots.Observation) { mu.Lock(); defer mu.Unlock(); seen = append(seen, o) }
			c.Commands = registry(t, raze(done, standing), command("slow", commands.Read, func(_ context.Context, _ commands.Request, reply commands.Reply) error {
				traced, ok := reply.(interface{ Traced(id string) })
				require.True(t, ok)
				traced.Traced("0af7651916cd43dd8448eb211c80319c")
				<-time.After(2 * time.Second)
				return errors.New("git server: read: connection reset")
			}))
		}
		stop := w.start(nil)
		defer stop()
		a := ask(t, w, done, standing, "raze shop --force")
		for _, text := range []string{"confirm " + a.code, "slow", "what", "raze shop"} {
			w.chat.Say("10", shop, text)
			until(t, "settled", w.settled)
		}
		assert.Equal(t, []bots.Observation{
			{Bot: "platform", Verb: "raze", Effect: commands.Write, Outcome: bots.ReactionAsked},
			{Bot: "platform", Verb: "raze", Effect: commands.Write, Outcome: bots.ReactionDone},
			{Bot: "platform", Verb: "confirm", Effect: commands.Read, Outcome: bots.ReactionDone},
			{Bot: "platform", Verb: "slow", Effect: commands.Read, Outcome: bots.ReactionFailed, Took: 2 * time.Second, Trace: "0af7651916cd43dd8448eb211c80319c"},
			{Bot: "platform", Outcome: bots.ReactionFailed},
			{Bot: "platform", Verb: "raze", Effect: commands.Write, Outcome: bots.ReactionDone},
		}, seen)
	})
}

// wired is a chat that can tell how it is connected.
type wired struct {
	*botstest.Account
	cut atomic.Bool
}

func (w *wired) Connected() bool { return !w.cut.Load() }
func (*wired) Reconnects() int64 { return 2 }

func TestAChatOutOfHearingForThreeMinutesIsDead(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, command("status", commands.Read, echo))
		line := &wired{Account: w.chat.Connect("platform", nil)}
		var r *bots.Runtime
		r, err := bots.New(bots.Config{
			Bot: "platform", Transport: line, Commands: w.router, Inbox: w.store, Outbox: w.store, Directory: botstest.Everybody{}, Policy: bots.Grants{},
		})
		require.NoError(t, err)
		require.NoError(t, r.Health(time.Now()), "it has not begun")
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan error, 1)
		go func() { ended <- r.Run(ctx) }()
		<-time.After(time.Hour)
		connected, reconnects, ok := r.Connection()
		assert.True(t, connected && ok)
		assert.Equal(t, int64(2), reconnects)
		line.cut.Store(true)
		<-time.After(3*time.Minute - 2*time.Second) // it looks every second
		require.NoError(t, r.Health(time.Now()))
		<-time.After(4 * time.Second)
		require.ErrorContains(t, r.Health(time.Now()), "bot platform has not heard its chat for 3m")
		line.cut.Store(false)
		require.NoError(t, r.Health(time.Now()))
		cancel()
		require.NoError(t, <-ended)
	})
}

func TestTheDepthOfTheQueueIsToldBesideWhatRuns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		release := make(chan struct{})
		w := newWorld(t, command("slow", commands.Read, func(ctx context.Context, _ commands.Request, _ commands.Reply) error { <-release; return nil }))
		r, err := bots.New(bots.Config{
			Bot: "platform", Transport: w.chat.Connect("platform", nil), Commands: w.router, Inbox: w.store, Outbox: w.store,
			Directory: botstest.Everybody{"admins"}, Policy: bots.Grants{"admins": {"*"}},
		})
		require.NoError(t, err)
		for range 3 {
			w.chat.Say("10", shop, "slow")
		}
		w.chat.Say("10", other, "slow")
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan error, 1)
		go func() { ended <- r.Run(ctx) }()
		synctest.Wait()
		waiting, running := r.Depth()
		assert.Equal(t, []int{2, 2}, []int{waiting, running})
		_, _, ok := r.Connection()
		assert.False(t, ok, "this chat cannot tell")
		close(release)
		until(t, "settled", w.settled)
		waiting, running = r.Depth()
		assert.Equal(t, []int{0, 0}, []int{waiting, running})
		cancel()
		require.NoError(t, <-ended)
	})
}

func TestExplainTellsWhoMayAndWhy(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, done, _ := asking(t, by(bots.WayReply, false))
		before := w.config
		w.config = func(c *bots.Config) { before(c); c.Rate = bots.DefaultRate }
		stop := w.start(nil)
		defer stop()
		for _, c := range []struct {
			user, text, kind string
			says             []string
		}{
			{"10", "explain raze shop --force", "bots.explained", []string{"component:raze: admins", "because it goes on against a gate", "20 messages a minute, 10 at once"}},
			{"11", "explain raze", "bots.explained.no", []string{"(developers); you lack component:raze", "Ask somebody in admins."}},
			{"10", "explain raze shop --dry-run", "bots.explained", []string{"asked like this it changes nothing", "it is run at once"}},
			{"12", "explain help", "bots.explained", []string{"none: everybody whom the bot knows may", "it only reads"}},
		} {
			seen := len(w.kinds(shop))
			w.chat.Say(c.user, shop, c.text)
			until(t, "settled", func() bool { return len(w.kinds(shop)) > seen && w.settled() })
			said := w.chat.Bots(shop)[seen].Message
			assert.Equal(t, c.kind, said.Kind, c.text)
			for _, words := range c.says {
				assert.Contains(t, markup.Plain(said), words, c.text)
			}
		}
		assert.Empty(t, done.list())
	})
}
