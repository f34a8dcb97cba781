package slack_test

import (
	"context"
	"log/slog"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"platform.dev/platform/bots"
	"platform.dev/platform/bots/botstest"
	"platform.dev/platform/commands"
)

type razeArgs struct {
	Project string `arg:""`
}

// Aim is what the confirmation is about.
func (a *razeArgs) Aim() (string, string) { return a.Project, "production" }

// A question is put with buttons, and the one who presses is the one who confirms:
// whoever asked may not be the only one.
func TestAQuestionIsSettledByAButton(t *testing.T) {
	w := newWorkspace(t, botstest.SlackConfig{})
	second := w.Person("Sam SRE")
	raze := commands.Typed(commands.Command{
		Bot: "platform", Verb: "raze", Summary: "raze a project", Examples: []string{"raze shop"}, Effect: commands.Write, Action: "component:raze",
	}, func(ctx context.Context, req commands.Request, a *razeArgs, reply commands.Reply) error {
		return reply.Answer(ctx, line("razed "+a.Project+" as "+req.Who.Name+" asked"))
	})
	registry, err := commands.NewRegistry(commands.Planned(raze, func(_ context.Context, _ commands.Request, a *razeArgs) (commands.Plan, error) {
		return commands.Plan{Message: line("would raze " + a.Project), Fingerprint: a.Project}, nil
	}))
	require.NoError(t, err)
	r, err := bots.New(bots.Config{
		Bot: "platform", Transport: w.connect(), Commands: registry, Inbox: w.store, Outbox: w.store, Questions: w.store, Auditor: w.store,
		Directory: botstest.Everybody{"admins"}, Policy: bots.Grants{"admins": {"*"}}, Log: slog.New(slog.NewTextHandler(t.Output(), nil)),
		Confirm: bots.Confirmations{{Environment: "production", Command: "platform raze", By: bots.WayButton, FourEyes: true}},
	})
	require.NoError(t, err)
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- r.Run(ctx) }()
	defer func() {
		cancel()
		require.NoError(t, <-ended)
	}()
	w.AwaitStreams(t, 2)
	w.Say(w.person, w.channel, w.root, w.mention("raze shop"))
	w.AwaitPosts(t, w.channel, 1, botstest.Patience)
	question := w.Said(w.channel, w.root)[1]
	require.Len(t, question.Buttons, 2)
	press := func(who string) { w.Press(t, who, w.channel, question.TS, question.Buttons[0]) }
	press(w.person)
	w.AwaitPosts(t, w.channel, 2, botstest.Patience)
	press(second)
	w.AwaitPosts(t, w.channel, 3, botstest.Patience)
	texts := ""
	for _, m := range w.Said(w.channel, w.root) {
		texts += m.Text + "\n"
	}
	assert.Equal(t, 1, strings.Count(texts, "razed shop as Dev Developer asked"), "%s", texts)
}
