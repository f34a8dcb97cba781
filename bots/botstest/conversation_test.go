package botstest_test

import (
	"context"
	"errors"
	"testing"
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

// greet is a command of somebody's own.
var greet = commands.Command{
	Bot: "platform", Verb: "greet", Summary: "greet whoever asks", Examples: []string{"greet"}, Effect: commands.Read,
	Run: func(ctx context.Context, req commands.Request, reply commands.Reply) error {
		return reply.Answer(ctx, markup.Message{Kind: "greet", Status: markup.Done, Title: markup.Spans(markup.T("hello "), markup.F(req.Who.Name))})
	},
}

func TestAConversation(t *testing.T) {
	registry, err := commands.NewRegistry(greet)
	require.NoError(t, err)
	c := botstest.Converse(t, "platform", registry)
	said, reaction := c.Ask("10", "greet")
	require.Len(t, said, 1)
	assert.Equal(t, "✓ hello User 10", markup.Plain(said[0]))
	assert.Equal(t, bots.ReactionDone, reaction)
	said, reaction = c.Ask("10", "gret")
	require.Len(t, said, 1)
	assert.Contains(t, markup.Plain(said[0]), "Did you mean greet?")
	assert.Equal(t, bots.ReactionFailed, reaction)
}

// paint is a command of somebody's own that tells what it would do, and is asked about when it is forced.
func paint(colour *string) commands.Command {
	c := commands.Typed(commands.Command{
		Bot: "platform", Verb: "paint", Summary: "paint the shed", Examples: []string{"paint red --force"}, Effect: commands.Write, Action: "shed:paint",
	}, func(ctx context.Context, req commands.Request, args *paintArgs, reply commands.Reply) error {
		*colour = args.Colour
		return reply.Answer(ctx, markup.Message{Kind: "paint.done", Status: markup.Done, Title: markup.Spans(markup.T("painted it "), markup.F(args.Colour))})
	})
	return commands.Planned(c, func(_ context.Context, _ commands.Request, args *paintArgs) (commands.Plan, error) {
		return commands.Plan{
			Message:     markup.Message{Kind: "paint.plan", Title: markup.Spans(markup.T("would paint it "), markup.F(args.Colour))},
			Fingerprint: *colour + " to " + args.Colour,
		}, nil
	})
}

type paintArgs struct {
	Colour string `arg:"" help:"Which."`
	Force  bool   `help:"Over wet paint."`
}

func (a *paintArgs) Forced() bool { return a.Force }

func TestAConversationAboutSomethingThatIsConfirmed(t *testing.T) {
	colour := "green"
	registry, err := commands.NewRegistry(paint(&colour))
	require.NoError(t, err)
	c := botstest.Converse(t, "platform", registry)
	said, reaction := c.Ask("10", "paint red --force")
	require.Len(t, said, 1)
	assert.Equal(t, bots.ReactionAsked, reaction)
	assert.Contains(t, markup.Plain(said[0]), "would paint it red")
	assert.Equal(t, "green", colour)

	said, reaction = c.Ask("10", "confirm "+botstest.Code(said[0]))
	assert.Equal(t, bots.ReactionDone, reaction)
	require.Len(t, said, 1)
	assert.Equal(t, "✓ painted it red", markup.Plain(said[0]))
	assert.Equal(t, "red", colour)
	assert.Empty(t, botstest.Code(said[0]))
}

func TestAMortalKeepsItsLastWriteAndNoneAfter(t *testing.T) {
	store := botstest.NewStore()
	m := botstest.NewMortal(store, 2)
	require.NoError(t, m.SetCursor(t.Context(), "a", "1"))
	select {
	case <-m.Died():
		require.FailNow(t, "it died early")
	default:
	}
	require.ErrorIs(t, m.SetCursor(t.Context(), "a", "2"), botstest.ErrDead)
	<-m.Died()
	require.ErrorIs(t, m.SetCursor(t.Context(), "a", "3"), botstest.ErrDead)
	value, err := store.Cursor(t.Context(), "a")
	require.NoError(t, err)
	assert.Equal(t, "2", value)
	assert.Equal(t, []string{"cursor", "cursor"}, m.Writes())

	account := botstest.NewChat(nil).Connect("platform", m)
	_, err = account.Send(t.Context(), bots.Outgoing{})
	require.ErrorIs(t, err, botstest.ErrDead, "the dead reach nothing")
}

func TestTheFaultsOfAChat(t *testing.T) {
	place := commands.Place{Stream: "shop", Topic: "talk"}
	for _, c := range []struct {
		name            string
		kind            botstest.FaultKind
		arrived, retry  bool
		unknown, limits bool
	}{
		{"none", botstest.None, true, false, false, false},
		{"lost", botstest.Lost, true, true, true, false},
		{"vanished", botstest.Vanished, false, true, true, false},
		{"limited", botstest.Limited, false, true, false, true},
		{"down", botstest.Down, false, true, false, false},
		{"refused", botstest.Refused, false, false, false, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			chat := botstest.NewChat(nil)
			chat.Fail(botstest.Fault{Kind: c.kind, After: time.Second})
			_, err := chat.Connect("platform", nil).Send(t.Context(), bots.Outgoing{Key: "k", Place: place})
			assert.Equal(t, c.arrived, len(chat.Bots(place)) == 1)
			var again *bots.RetryError
			require.Equal(t, c.retry, errors.As(err, &again), "%v", err)
			if c.retry {
				assert.Equal(t, c.unknown, again.Unknown)
				assert.Equal(t, c.limits, again.After == time.Second)
			}
		})
	}
}
