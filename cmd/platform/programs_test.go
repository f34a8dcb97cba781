package main

import (
	"context"
	"log/slog"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"platform.dev/platform/bots"
	"platform.dev/platform/bots/botstest"
	"platform.dev/platform/bots/markup"
	"platform.dev/platform/commands"
	"platform.dev/platform/commands/commandstest"
	"platform.dev/platform/commands/exec"
	"platform.dev/platform/flowclient/store"
)

// lasting is a program that takes hold of a gate, waits there the first time,
// and answers each later time.
func lasting(gate, ran, verb, more string) string {
	return `#!/bin/sh
if [ "$1" = --describe ]; then
	echo '{"version":1,"bot":"platform","verb":"` + verb + `","summary":"do it","examples":["` + verb + `"],` + more + `}'
	exit
fi
echo ran >>` + ran + `
if [ "$(wc -l <` + ran + `)" = 1 ]; then echo held >` + gate + `; exec sleep 100; fi
echo '{"message":{"status":"done","title":[{"text":"` + verb + ` is done"}]}}'
`
}

// TestWhatAStopInterruptsIsRunAgainOnlyWhereNothingHappensTwice stops a bot over
// the real store while a program is at work, and starts it again.
func TestWhatAStopInterruptsIsRunAgainOnlyWhereNothingHappensTwice(t *testing.T) {
	const write = `"effect":"write","action":"report:send"`
	for _, c := range []struct {
		verb, more, says string
		runs             int
	}{
		{"look", `"effect":"read"`, "✓ look is done", 2},
		{"again", write + `,"idempotent":true`, "✓ again is done", 2},
		{"send", write, "✗ send was interrupted; ask again", 1},
	} {
		t.Run(c.verb, func(t *testing.T) {
			dir, gate, ran := t.TempDir(), filepath.Join(t.TempDir(), "gate"), filepath.Join(t.TempDir(), "ran")
			require.NoError(t, syscall.Mkfifo(gate, 0o600))
			commandstest.WriteProgram(t, dir, "platform-"+c.verb, lasting(gate, ran, c.verb, c.more))
			s, err := store.Open(t.Context(), filepath.Join(t.TempDir(), "flow.db"), nil)
			require.NoError(t, err)
			t.Cleanup(func() { require.NoError(t, s.Close()) })
			chat, place := botstest.NewChat(nil), commands.Place{Stream: "shop", Topic: "talk"}
			start := func() (stop func()) {
				programs, err := exec.Open(t.Context(), exec.Config{Dir: dir, Ledger: s})
				require.NoError(t, err)
				registry, err := commands.NewRegistry(programs.Commands...)
				require.NoError(t, err)
				bot, err := bots.New(bots.Config{
					Bot: "platform", Transport: chat.Connect("platform", nil), Commands: registry, Inbox: s, Outbox: s,
					Directory: botstest.Everybody{"admins"}, Policy: bots.Grants{"admins": {"*"}}, Log: slog.New(slog.NewTextHandler(t.Output(), nil)),
				})
				require.NoError(t, err)
				ctx, cancel := context.WithCancel(t.Context())
				ended := make(chan error, 1)
				go func() { ended <- bot.Run(ctx) }()
				return func() { cancel(); require.NoError(t, <-ended) }
			}
			stop := start()
			id := chat.Say("ada", place, c.verb)
			held, err := os.ReadFile(gate) // returns once the program is there
			require.NoError(t, err)
			assert.Equal(t, "held\n", string(held))
			stop()
			for range 2 { // at the second start everything was said
				stop = start()
				chat.Await(t, id)
				stop()
			}
			said := chat.Bots(place)
			require.Len(t, said, 1)
			assert.Contains(t, markup.Plain(said[0].Message), c.says)
			text, err := os.ReadFile(ran)
			require.NoError(t, err)
			assert.Len(t, text, c.runs*len("ran\n"))
		})
	}
}
