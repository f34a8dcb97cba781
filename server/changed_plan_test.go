package server

import (
	"context"
	"log/slog"
	"regexp"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"platform.dev/platform/bots"
	"platform.dev/platform/bots/botstest"
	"platform.dev/platform/bots/markup"
	"platform.dev/platform/commands"
)

// shipArgs are those of a command that is confirmed.
type shipArgs struct {
	Project string `arg:"" help:"The project."`
}

// Aim is production of the project.
func (a *shipArgs) Aim() (project, environment string) { return a.Project, "production" }

// ship is a command whose plan changes: commit is what it would ship.
func ship(t *testing.T, commit *atomic.Value, shipped *atomic.Int64) *commands.Registry {
	t.Helper()
	c := commands.Typed(commands.Command{
		Bot: "platform", Verb: "ship", Summary: "ship a project", Examples: []string{"ship shop"}, Effect: commands.Write, Action: "component:ship",
	}, func(ctx context.Context, _ commands.Request, _ *shipArgs, reply commands.Reply) error {
		shipped.Add(1)
		return reply.Answer(ctx, markup.Message{Kind: "ship.done", Status: markup.Done, Title: markup.Spans(markup.T("shipped"))})
	})
	registry, err := commands.NewRegistry(commands.Planned(c, func(_ context.Context, _ commands.Request, a *shipArgs) (commands.Plan, error) {
		to, _ := commit.Load().(string)
		return commands.Plan{Fingerprint: to, Message: markup.Message{
			Kind: "ship.plan", Title: markup.Spans(markup.T("Would ship "), markup.B(a.Project)),
			Blocks: []markup.Block{markup.List(
				markup.Spans(markup.C("checkout"), markup.T(": "), markup.C("1a2b3c4"), markup.T(" → "), markup.C(to)),
				markup.Spans(markup.C("cart"), markup.T(": "), markup.C("0a1b2c3"), markup.T(" → "), markup.C("7d8e9f0")))},
		}}, nil
	}))
	require.NoError(t, err)
	return registry
}

// underQuestion is the code that a chat shows, with whatever forms around it.
var underQuestion = regexp.MustCompile("@platform confirm ([a-z2-7]{6})")

// TestAStalePlanIsRefusedWithWhatChangedInEveryChat confirms a plan that no longer
// holds: the old message says what changed, a new one asks anew, and its code goes on.
func TestAStalePlanIsRefusedWithWhatChangedInEveryChat(t *testing.T) {
	for _, c := range stages {
		t.Run(c.name, func(t *testing.T) {
			var commit atomic.Value
			var shipped atomic.Int64
			commit.Store("9f8e7d6")
			s := c.open(t)
			store, place := botstest.NewStore(), commands.Place{Stream: "shop", Topic: "release"}
			runtime, err := bots.New(bots.Config{
				Bot: "platform", Transport: s.connect(store), Commands: ship(t, &commit, &shipped), Inbox: store, Outbox: store, Questions: store,
				Directory: botstest.Everybody{"admins"}, Policy: bots.Grants{"admins": {"*"}}, Log: slog.New(slog.NewTextHandler(t.Output(), nil)),
				Confirm: bots.Confirmations{{Environment: "production", Command: "platform ship", By: bots.WayReply}},
			})
			require.NoError(t, err)
			ctx, cancel := context.WithCancel(context.WithoutCancel(t.Context()))
			ended := make(chan error, 1)
			go func() { ended <- runtime.Run(ctx) }()
			defer func() {
				cancel()
				require.NoError(t, <-ended)
			}()
			says := func(n int, text string) string {
				t.Helper()
				var said []string
				require.Eventually(t, func() bool {
					said = s.said(place)
					return len(said) >= n && strings.Contains(said[n-1], text) && store.Settled()
				}, botstest.Patience, 5*time.Millisecond, "%d: %s", n, text)
				return said[n-1]
			}
			ask := func(text string) { s.ask(botstest.Turn{Place: place, Text: text}) }
			code := func(said string) string {
				found := underQuestion.FindStringSubmatch(said)
				require.NotNil(t, found, "%s", said)
				return found[1]
			}
			ask("ship shop")
			first := code(says(1, "9f8e7d6"))
			commit.Store("4d5e6f7")
			ask("confirm " + first)
			second := code(says(2, "4d5e6f7"))
			stale := unformed(says(1, "would no longer do what was shown"))
			assert.Contains(t, stale, "checkout: 1a2b3c4 → 4d5e6f7 (was 9f8e7d6)")
			assert.NotContains(t, stale, "cart", "what is as it was is not told")
			assert.Zero(t, shipped.Load())
			ask("confirm " + first)
			says(3, "asked about anew already")
			assert.Zero(t, shipped.Load())
			ask("confirm " + second)
			says(4, "shipped")
			assert.EqualValues(t, 1, shipped.Load())
		})
	}
}

// unformed is a text of any chat without the marks of code.
func unformed(text string) string { return strings.ReplaceAll(text, "`", "") }
