package main

import (
	"context"
	"log/slog"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"platform.dev/platform/bots"
	"platform.dev/platform/bots/botstest"
	"platform.dev/platform/bots/markup"
	"platform.dev/platform/commands"
	"platform.dev/platform/commands/commandstest"
	"platform.dev/platform/commands/exec"
)

// TestTheProgramOfTheREADMEAnswersInChat takes the program out of the README and
// asks it in a chat, beside a command of the bot's own.
func TestTheProgramOfTheREADMEAnswersInChat(t *testing.T) {
	shown := between(t, "README.md", "<!-- program begin -->", "<!-- program end -->")
	text, ok := strings.CutPrefix(shown, "```sh\n")
	require.True(t, ok)
	dir := t.TempDir()
	commandstest.WriteProgram(t, dir, "platform-greet", strings.TrimSuffix(text, "```"))
	commandstest.WriteProgram(t, dir, "platform-sloppy", "#!/bin/sh\n")
	require.NoError(t, os.Chmod(dir+"/platform-sloppy", 0o722))
	own := commands.Command{Bot: "platform", Verb: "status", Summary: "show nothing", Examples: []string{"status"}, Effect: commands.Read}
	own = commands.Typed(own, func(_ context.Context, _ commands.Request, _ *struct{}, _ commands.Reply) error { return nil })

	programs, err := exec.Open(t.Context(), exec.Config{Dir: dir, Ledger: commandstest.NewLedger(), Beside: []commands.Command{own}, Log: slog.New(slog.NewTextHandler(t.Output(), nil))})
	require.NoError(t, err)
	registry, err := commands.NewRegistry(append([]commands.Command{own}, programs.Commands...)...)
	require.NoError(t, err)
	chat := botstest.Converse(t, "platform", registry)
	for text, want := range map[string][2]string{
		"greet Ada":                     {"✓ Hello, Ada!", bots.ReactionDone},
		"greet Ada —loud":               {"✓ HELLO, Ada!", bots.ReactionDone},
		`greet 'a "b" \c {"name":"d"}'`: {`✓ Hello, a "b" \c {"name":"d"}!`, bots.ReactionDone},
		"greet '@**all**'":              {"✓ Hello, @**all**!", bots.ReactionDone},
		"greet":                         {"missing: <name>", bots.ReactionFailed},
		"gret Ada":                      {"Did you mean greet?", bots.ReactionFailed},
		"help greet":                    {"Whom to greet.", bots.ReactionDone},
		"help":                          {"sloppy: left out: it may be written by others", bots.ReactionDone},
		"sloppy":                        {"platform-sloppy is left out", bots.ReactionRefused},
	} {
		said, reaction := chat.Ask("ada", text)
		require.Len(t, said, 1, text)
		assert.Contains(t, markup.Plain(said[0]), want[0], text)
		assert.Equal(t, want[1], reaction, text)
	}
}
