package terminal_test

import (
	"context"
	"errors"
	"log/slog"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"platform.dev/platform/bots"
	"platform.dev/platform/bots/botstest"
	"platform.dev/platform/bots/markup"
	"platform.dev/platform/bots/terminal"
	"platform.dev/platform/commands"
)

// mortal is a transport of a process that dies: each thing that it says is one of its writes.
type mortal struct {
	*terminal.Transport
	life *botstest.Mortal
}

func (m mortal) Send(ctx context.Context, out bots.Outgoing) (id string, err error) {
	err = m.life.Write("send", func() error {
		id, err = m.Transport.Send(ctx, out)
		return err
	})
	return id, err
}

func (m mortal) Edit(ctx context.Context, id string, out bots.Outgoing) error {
	return m.life.Write("edit", func() error { return m.Transport.Edit(ctx, id, out) })
}

// ship shows progress, has an effect once per key, and answers.
func ship(effects map[string]int, life *botstest.Mortal) commands.Command {
	return commands.Command{
		Bot: "platform", Verb: "ship", Summary: "ship it", Examples: []string{"ship"}, Effect: commands.Write, Action: "component:ship",
		Run: func(ctx context.Context, req commands.Request, reply commands.Reply) error {
			working := line("shipping")
			working.Status = markup.Working
			if err := reply.Progress(ctx, working); err != nil {
				return err
			}
			if err := life.Write("effect", func() error { effects[req.Key] = 1; return nil }); err != nil {
				return err
			}
			return reply.Answer(ctx, line("shipped"))
		},
	}
}

// live runs a bot over the desk until it has answered everything, or its life is over.
func (d *desk) live(t *testing.T, store *botstest.Store, life *botstest.Mortal, effects map[string]int) {
	t.Helper()
	registry, err := commands.NewRegistry(ship(effects, life))
	require.NoError(t, err)
	r, err := bots.New(bots.Config{
		Bot: "platform", Transport: mortal{d.connect(nil), life}, Commands: registry, Inbox: life, Outbox: life, Questions: life,
		Directory: botstest.Everybody{"admins"}, Policy: bots.Grants{"admins": {"*"}}, Log: slog.New(slog.NewTextHandler(t.Output(), nil)),
	})
	require.NoError(t, err)
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	ended := make(chan error, 1)
	go func() { ended <- r.Run(ctx) }()
	look := time.NewTicker(time.Millisecond)
	defer look.Stop()
	late := time.NewTimer(botstest.Patience)
	defer late.Stop()
	for done := false; !done; {
		select {
		case <-life.Died():
			done = true
		case <-look.C:
			done = !d.Waits("platform") && len(store.Outcomes()) > 0 && store.Settled()
		case <-late.C:
			require.FailNow(t, "not everything was answered")
		}
	}
	cancel()
	if err := <-ended; !errors.Is(err, botstest.ErrDead) {
		require.NoError(t, err)
	}
}

// A process dies at each of its writes, the next one reads the file and goes on:
// what was typed is answered once, in one message, and done once.
func TestDyingAtEveryWriteTheConversationGoesOn(t *testing.T) {
	for n := 0; ; n++ {
		d := newDesk(t)
		store, effects := botstest.NewStore(), map[string]int{}
		d.say(alone, "ship")
		life := botstest.NewMortal(store, n)
		d.live(t, store, life, effects)
		d.open()
		d.live(t, store, botstest.NewMortal(store, -1), effects)
		var texts []string
		for _, s := range d.Said(alone) {
			texts = append(texts, s.Text(0))
		}
		require.Equal(t, []string{"ship", "shipped"}, texts, "dead after %d writes: %v", n, life.Writes())
		require.Len(t, effects, 1)
		if len(life.Writes()) < n {
			assert.Greater(t, n, 6, "it died at each of its writes")
			return
		}
	}
}
