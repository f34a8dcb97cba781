package bots_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"platform.dev/platform/bots"
	"platform.dev/platform/bots/botstest"
	"platform.dev/platform/bots/markup"
	"platform.dev/platform/commands"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

var (
	shop  = commands.Place{Stream: "shop", Topic: "talk"}
	other = commands.Place{Stream: "shop", Topic: "other"}
	news  = commands.Place{Stream: "news", Topic: "promotions"}
)

// said is a message of one line.
func said(kind, text string, status markup.Status) markup.Message {
	return markup.Message{Kind: kind, Status: status, Title: markup.Spans(markup.T(text))}
}

// effects counts what commands did. Like the controller's journal it does each key once.
type effects struct {
	mu   sync.Mutex
	done []string
}

func (e *effects) do(key string) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if !slices.Contains(e.done, key) {
		e.done = append(e.done, key)
	}
}

func (e *effects) list() []string {
	e.mu.Lock()
	defer e.mu.Unlock()
	return slices.Clone(e.done)
}

// command is a command without arguments.
func command(verb string, effect commands.Effect, run func(ctx context.Context, req commands.Request, reply commands.Reply) error) commands.Command {
	c := commands.Command{Bot: "platform", Verb: verb, Summary: "do " + verb, Examples: []string{verb}, Effect: effect, Run: run}
	if effect == commands.Write {
		c.Action = "component:" + verb
	}
	return c
}

// echo answers with the verb.
func echo(ctx context.Context, req commands.Request, reply commands.Reply) error {
	return reply.Answer(ctx, said("test.echo", req.Verb+" for "+req.Key, markup.Done))
}

// registry makes a registry of commands.
func registry(t *testing.T, cmds ...commands.Command) *commands.Registry {
	t.Helper()
	r, err := commands.NewRegistry(cmds...)
	require.NoError(t, err)
	return r
}

// world is a chat and a store that outlive the processes over them.
type world struct {
	t      *testing.T
	chat   *botstest.Chat
	store  *botstest.Store
	router bots.Commands
	config func(*bots.Config)
	// repeated makes the chat one that tells again of what was not acknowledged, and messages marked only after a moment.
	repeated bool
}

func newWorld(t *testing.T, cmds ...commands.Command) *world {
	return &world{t: t, chat: botstest.NewChat(nil), store: botstest.NewStore(), router: registry(t, cmds...)}
}

// runtime makes a process, which is not begun.
func (w *world) runtime(life *botstest.Mortal) *bots.Runtime {
	w.t.Helper()
	var storage interface {
		botstest.Storage
		bots.Auditor
	} = w.store
	if life != nil {
		storage = life
	}
	cfg := bots.Config{
		Bot: "platform", Transport: w.chat.Connect("platform", life), Commands: w.router, Inbox: storage, Outbox: storage, Questions: storage, Auditor: storage,
		Directory: botstest.Everybody{"admins"}, Policy: bots.Grants{"admins": {"*"}},
		Project: func(stream string) (string, bool) { return stream, stream == "shop" },
		Log:     slog.New(slog.NewTextHandler(w.t.Output(), nil)),
	}
	if w.repeated {
		cfg.Transport, cfg.Marks = w.chat.ConnectRepeated("platform", life), 500*time.Millisecond
	}
	if w.config != nil {
		w.config(&cfg)
	}
	r, err := bots.New(cfg)
	require.NoError(w.t, err)
	return r
}

// start begins a process; the returned function ends it and waits for its end.
func (w *world) start(life *botstest.Mortal) (stop func()) {
	w.t.Helper()
	r := w.runtime(life)
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- r.Run(ctx) }()
	return func() {
		cancel()
		if err := <-ended; life == nil {
			require.NoError(w.t, err)
		}
	}
}

// until lets the bubble's time run until cond holds, for at most ten minutes of it.
func until(t *testing.T, what string, cond func() bool) {
	t.Helper()
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	for range 12000 {
		synctest.Wait()
		if cond() {
			return
		}
		<-tick.C
	}
	require.FailNow(t, "never: "+what)
}

// titles are the titles of what a bot said in a place.
func (w *world) titles(place commands.Place) (titles []string) {
	for _, s := range w.chat.Bots(place) {
		titles = append(titles, s.Message.Title[0].Text)
	}
	return titles
}

func (w *world) settled() bool { return len(w.store.Outcomes()) > 0 && w.store.Settled() }

func TestAMessageIsAnsweredOnceHoweverOftenItIsDelivered(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var done effects
		w := newWorld(t, command("promote", commands.Write, func(ctx context.Context, req commands.Request, reply commands.Reply) error {
			done.do(req.Key)
			return reply.Answer(ctx, said("test.done", "promoted", markup.Done))
		}))
		id := w.chat.Say("10", shop, "promote")
		for range 3 { // every start delivers every message again
			stop := w.start(nil)
			until(t, "settled", w.settled)
			stop()
		}
		assert.Equal(t, []string{"test:platform:1"}, done.list())
		assert.Equal(t, []string{"promoted"}, w.titles(shop))
		m, _ := w.chat.Message(id)
		assert.Equal(t, []string{bots.ReactionDone}, m.Reactions, "the final reaction takes the place of eyes")
	})
}

func TestARequestSaysWhoAskedWhereAndWhen(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var got commands.Request
		w := newWorld(t, command("status", commands.Read, func(_ context.Context, req commands.Request, _ commands.Reply) error {
			got = req
			return nil
		}))
		stop := w.start(nil)
		defer stop()
		at := time.Now()
		w.chat.Say("10", shop, "status")
		until(t, "settled", w.settled)
		assert.Equal(t, commands.Request{
			Key: "test:platform:1", Bot: "platform", Verb: "status", Text: "status",
			Who:   commands.Person{ChatID: "test:10", UserID: "10", Name: "User 10", Persona: "test:10", Groups: []string{"admins"}},
			Place: shop, Link: "http://chat.test/1", Project: "shop", At: at,
		}, got)
		assert.Equal(t, "status", w.chat.Bots(shop)[0].Message.Title[0].Text, "a command that says nothing is answered for")
	})
}

func TestCommandsOfOneTopicKeepTheirOrderAndOtherTopicsDoNotWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t,
			command("slow", commands.Write, func(ctx context.Context, req commands.Request, reply commands.Reply) error {
				<-time.After(5 * time.Second)
				return echo(ctx, req, reply)
			}),
			command("quick", commands.Write, echo))
		stop := w.start(nil)
		defer stop()
		w.chat.Say("10", shop, "slow")
		w.chat.Say("10", shop, "quick")
		w.chat.Say("10", other, "quick")
		until(t, "the other topic is answered", func() bool { return len(w.titles(other)) == 1 })
		assert.Empty(t, w.titles(shop))
		until(t, "settled", w.settled)
		assert.Equal(t, []string{"slow for test:platform:1", "quick for test:platform:2"}, w.titles(shop))
	})
}

func TestAfterProgressTheNextCommandOfATopicDoesNotWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		release := make(chan struct{})
		w := newWorld(t,
			command("walk", commands.Write, func(ctx context.Context, _ commands.Request, reply commands.Reply) error {
				for i := range 3 {
					if err := reply.Progress(ctx, said("test.step", fmt.Sprintf("step %d", i), markup.Working)); err != nil {
						return err
					}
				}
				<-release
				return reply.Answer(ctx, said("test.walked", "walked", markup.Done))
			}),
			command("stop", commands.Write, func(ctx context.Context, req commands.Request, reply commands.Reply) error {
				close(release)
				return echo(ctx, req, reply)
			}))
		stop := w.start(nil)
		defer stop()
		w.chat.Say("10", shop, "walk")
		w.chat.Say("10", shop, "stop")
		until(t, "settled", w.settled)
		assert.Equal(t, []string{"walked", "stop for test:platform:2"}, w.titles(shop), "the progress message became the answer, in place")
	})
}

func TestHearingIsMarkedWithinASecondWhileCommandsRun(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, command("slow", commands.Write, func(ctx context.Context, req commands.Request, reply commands.Reply) error {
			<-time.After(5 * time.Second)
			return echo(ctx, req, reply)
		}))
		w.chat.SetLatency(50 * time.Millisecond)
		stop := w.start(nil)
		defer stop()
		for i := range 20 { // ten topics, two each
			w.chat.Say("10", commands.Place{Stream: "shop", Topic: fmt.Sprint(i % 10)}, "slow")
		}
		synctest.Wait()
		<-time.After(time.Second)
		synctest.Wait()
		for _, s := range w.chat.All() {
			assert.Equal(t, []string{bots.ReactionHeard}, s.Reactions, "message %s", s.ID)
		}
		until(t, "settled", w.settled)
		for _, s := range w.chat.All() {
			if s.Text != "" {
				assert.Equal(t, []string{bots.ReactionDone}, s.Reactions, "message %s", s.ID)
			}
		}
	})
}

func TestWhatWasHeardTooLate(t *testing.T) {
	for _, c := range []struct {
		name, text string
		age        time.Duration
		ran        bool
		reaction   string
	}{
		{"a write of five minutes ago runs", "promote", 5 * time.Minute, true, bots.ReactionDone},
		{"a write older than five minutes is answered and not run", "promote", 5*time.Minute + time.Second, false, bots.ReactionRefused},
		{"a read of yesterday runs", "status", 24 * time.Hour, true, bots.ReactionDone},
		{"a write of the future (another clock) runs", "promote", -time.Hour, true, bots.ReactionDone},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var done effects
				run := func(_ context.Context, req commands.Request, _ commands.Reply) error { done.do(req.Key); return nil }
				w := newWorld(t, command("promote", commands.Write, run), command("status", commands.Read, run))
				stop := w.start(nil)
				defer stop()
				id := w.chat.SayAt("10", shop, c.text, time.Now().Add(-c.age))
				until(t, "settled", w.settled)
				assert.Equal(t, c.ran, len(done.list()) == 1)
				m, _ := w.chat.Message(id)
				assert.Equal(t, []string{c.reaction}, m.Reactions)
			})
		})
	}
}

func TestAWriteHeardInTimeRunsAgainAfterARestartHoweverLate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var done effects
		interrupted := true
		w := newWorld(t, command("promote", commands.Write, func(ctx context.Context, req commands.Request, reply commands.Reply) error {
			if interrupted {
				<-ctx.Done()
				return ctx.Err()
			}
			done.do(req.Key)
			return echo(ctx, req, reply)
		}))
		stop := w.start(nil)
		w.chat.Say("10", shop, "promote")
		until(t, "heard", func() bool { return len(w.store.Outcomes()) == 1 })
		stop()
		assert.Empty(t, w.titles(shop), "an interruption is no failure to tell of")
		interrupted = false
		<-time.After(3 * time.Hour)
		stop = w.start(nil)
		defer stop()
		until(t, "settled", w.settled)
		assert.Len(t, done.list(), 1)
		assert.Len(t, w.titles(shop), 1)
	})
}

func TestTheRuntimeEndsWithTheTransport(t *testing.T) {
	w := newWorld(t, command("status", commands.Read, echo))
	broken := errors.New("the key is refused")
	r, err := bots.New(bots.Config{
		Bot: "platform", Transport: ending{w.chat.Connect("platform", nil), broken}, Commands: w.router, Inbox: w.store, Outbox: w.store,
		Directory: botstest.Everybody{}, Policy: bots.Grants{},
	})
	require.NoError(t, err)
	require.ErrorIs(t, r.Run(t.Context()), broken)
}

// ending is a transport that gives up.
type ending struct {
	*botstest.Account
	err error
}

func (e ending) Run(context.Context, func(context.Context, bots.Heard) error) error { return e.err }

func TestAConfigurationThatLacksSomethingIsRefusedByName(t *testing.T) {
	_, err := bots.New(bots.Config{Bot: "platform"})
	require.ErrorContains(t, err, `bot "platform": Transport is needed`)
}
