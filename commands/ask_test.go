package commands_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"platform.dev/platform/bots/markup"
	"platform.dev/platform/commands"
	"platform.dev/platform/commands/commandstest"
)

// raze is a command whose arguments say everything that arguments can say.
type razeArgs struct {
	Project string `arg:"" help:"The project."`
	Force   bool   `help:"Even so."`
	DryRun  bool   `help:"Only tell."`
}

func (a *razeArgs) Forced() bool          { return a.Force }
func (a *razeArgs) Dry() bool             { return a.DryRun }
func (a *razeArgs) Aim() (string, string) { return a.Project, "production" }

func raze() commands.Command {
	c := commands.Typed(commands.Command{
		Bot: "sample", Verb: "raze", Summary: "raze a project", Examples: []string{"raze shop"}, Effect: commands.Write, Action: "project:raze",
	}, nothing[razeArgs])
	return commands.Planned(c, func(_ context.Context, _ commands.Request, a *razeArgs) (commands.Plan, error) {
		return commands.Plan{Message: markup.Message{Kind: "raze.plan", Title: markup.Spans(markup.T("raze "), markup.B(a.Project))}, Fingerprint: a.Project}, nil
	})
}

func TestACallTellsWhatItIsAboutAndHowFarItGoes(t *testing.T) {
	r, err := commands.NewRegistry(raze(), ship(), list())
	require.NoError(t, err)
	for _, c := range []struct {
		text                 string
		forced, changes      bool
		project, environment string
	}{
		{"raze shop", false, true, "shop", "production"},
		{"raze shop --force", true, true, "shop", "production"},
		{"raze shop --force --dry-run", true, false, "shop", "production"},
		{"ship shop --force", false, true, commands.AnyProject, ""}, // its arguments say nothing
		{"list", false, false, "garden", ""},
	} {
		call, err := r.Parse("sample", c.text)
		require.NoError(t, err, c.text)
		assert.Equal(t, c.forced, call.Forced(), c.text)
		assert.Equal(t, c.changes, call.Changes(), c.text)
		project, environment := call.Aim("garden")
		assert.Equal(t, []string{c.project, c.environment}, []string{project, environment}, c.text)
	}
}

func TestAPlanIsMadeOfItsOwnArgumentsAlone(t *testing.T) {
	plan, err := raze().Plan(t.Context(), commands.Request{Args: &razeArgs{Project: "shop"}})
	require.NoError(t, err)
	assert.Equal(t, "shop", plan.Fingerprint)
	_, err = raze().Plan(t.Context(), commands.Request{Bot: "sample", Verb: "raze", Args: new(int)})
	require.ErrorContains(t, err, "*int")
}

// knowing is a Reply that explains, and takes words.
type knowing struct {
	commands.Reply
	said  []markup.Message
	asked []commands.Call
	code  string
	yes   bool
}

func (k *knowing) Answer(_ context.Context, m markup.Message) error {
	k.said = append(k.said, m)
	return nil
}

func (k *knowing) Explain(_ context.Context, call commands.Call) (markup.Message, error) {
	k.asked = append(k.asked, call)
	return markup.Message{Kind: "known", Title: markup.Spans(markup.T(call.Text))}, nil
}

func (k *knowing) Settle(code string, yes bool) { k.code, k.yes = code, yes }

func TestExplainAsksAboutTheCommandAsItWouldBeAsked(t *testing.T) {
	r, err := commands.NewRegistry(raze())
	require.NoError(t, err)
	for _, c := range []struct {
		text string
		want any
	}{
		{"explain raze", &razeArgs{}},
		{"explain RAZE", &razeArgs{}},
		{"explain raze shop --force", &razeArgs{Project: "shop", Force: true}},
		{`explain raze "my \"own\" shop"`, &razeArgs{Project: `my "own" shop`}},
	} {
		call, err := r.Parse("sample", c.text)
		require.NoError(t, err, c.text)
		k := &knowing{}
		require.NoError(t, call.Command.Run(t.Context(), commands.Request{Bot: "sample", Verb: call.Verb, Args: call.Args}, k), c.text)
		require.Len(t, k.asked, 1)
		assert.Equal(t, "raze", k.asked[0].Verb)
		assert.Equal(t, c.want, k.asked[0].Args, c.text)
		assert.Equal(t, "known", k.said[0].Kind)
	}
	for _, text := range []string{"explain", "explain rase", "explain raze shop --fast"} {
		rec := commandstest.Run(t, raze(), commandstest.Ask{Text: text})
		var usage *commands.UsageError
		require.ErrorAs(t, rec.Err, &usage, text)
	}
	rec := commandstest.Run(t, raze(), commandstest.Ask{Text: "explain raze"})
	assert.Equal(t, "help.command", rec.Answer().Kind, "where nobody knows who may, there is what everybody is told")
}

func TestAWordGoesToWhoAsked(t *testing.T) {
	r, err := commands.NewRegistry(raze(), list())
	require.NoError(t, err)
	for text, yes := range map[string]bool{"confirm k7m2qx": true, "Cancel k7m2qx": false} {
		call, err := r.Parse("sample", text)
		require.NoError(t, err)
		k := &knowing{yes: !yes}
		require.NoError(t, call.Command.Run(t.Context(), commands.Request{Args: call.Args}, k))
		assert.Equal(t, "k7m2qx", k.code)
		assert.Equal(t, yes, k.yes)
	}
	rec := commandstest.Run(t, raze(), commandstest.Ask{Text: "confirm k7m2qx"})
	assert.ErrorContains(t, rec.Err, "There is nothing to confirm")
	reading, err := commands.NewRegistry(list())
	require.NoError(t, err)
	_, err = reading.Parse("sample", "confirm k7m2qx")
	require.ErrorContains(t, err, "There is no command confirm", "who changes nothing asks nothing")
}
