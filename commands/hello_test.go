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

// The README shows what stands between the two marks; a test in cmd/platform compares them.

// README begin
type hello struct {
	Name string `arg:"" help:"Whom to greet."`
	Loud bool   `help:"Say it so that everybody hears."`
}

// Hello is "@platform hello Ada --loud".
func Hello() commands.Command {
	return commands.Typed(commands.Command{
		Bot: "platform", Verb: "hello", Summary: "greet somebody",
		Examples: []string{"hello Ada", "hello Ada --loud"}, Effect: commands.Read,
	}, func(ctx context.Context, req commands.Request, args *hello, reply commands.Reply) error {
		greeting := "Hello, "
		if args.Loud {
			greeting = "HELLO, "
		}
		return reply.Answer(ctx, markup.Message{
			Kind: "hello.said", Status: markup.Done,
			Title: markup.Spans(markup.T(greeting), markup.F(args.Name), markup.T("!")),
		})
	})
}

// README end

func TestTheCommandOfTheREADMEAnswersAndExplainsItself(t *testing.T) {
	registry, err := commands.NewRegistry(Hello())
	require.NoError(t, err)
	call, err := registry.Parse("platform", "hello Ada —loud")
	require.NoError(t, err)
	assert.Equal(t, &hello{Name: "Ada", Loud: true}, call.Args)

	said := commandstest.Run(t, Hello(), commandstest.Ask{Text: "hello Ada"})
	require.NoError(t, said.Err)
	require.Len(t, said.Answers, 1)
	assert.Equal(t, "✓ Hello, Ada!", markup.Plain(said.Answers[0]))

	_, err = registry.Parse("platform", "helo Ada")
	assert.ErrorContains(t, err, "hello", "did you mean")
	assert.Contains(t, markup.Plain(registry.Help("platform")), "greet somebody")
}
