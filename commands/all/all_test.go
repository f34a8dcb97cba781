package all_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"platform.dev/platform/bots/markup"
	"platform.dev/platform/commands"
	"platform.dev/platform/commands/all"
	"platform.dev/platform/commands/commandstest"
	"platform.dev/platform/flowclient"
)

const goldens = "../../fixtures/golden"

// nobody is a flow controller that is never asked: only the commands' values are looked at.
type nobody struct{ flowclient.Flow }

func registry(t *testing.T) *commands.Registry {
	t.Helper()
	r, err := all.New(all.Deps{
		Flow: nobody{}, Now: time.Now,
		Fetch: func(context.Context, string) (int, []byte, error) { return 0, nil, nil },
	})
	require.NoError(t, err)
	return r
}

func TestTheDocumentsCommandsAreThere(t *testing.T) {
	r := registry(t)
	var helps []markup.Message // each under the name of its golden files
	assert.Equal(t, []string{"platform", "walkthrough"}, r.Bots())
	for bot, verbs := range map[string][]string{
		"platform": {"status", "where", "diff", "why", "watch", "promote", "rollback", "undo", "builds", "lock", "unlock", "locks", "window", "freeze", "thaw", "freezes",
			"state", "evidence", "audit", "dora", "explain", "confirm", "cancel", "help"},
		"walkthrough": {"static", "rails", "status", "stop", "teardown", "explain", "confirm", "cancel", "help"},
	} {
		var got []string
		for _, c := range r.Commands(bot) {
			got = append(got, c.Verb)
		}
		assert.Equal(t, verbs, got)
		list := r.Help(bot)
		list.Kind = bot
		helps = append(helps, list)
		for _, verb := range verbs {
			m, err := r.HelpFor(bot, verb)
			require.NoError(t, err)
			m.Kind = bot + "." + verb
			helps = append(helps, m)
		}
	}
	commandstest.Catalogue(t, goldens+"/help", helps)
	commandstest.Complete(t, goldens+"/help", helps)
}

func TestWritesAskForAPermissionAndReadsAreOpen(t *testing.T) {
	r := registry(t)
	got := map[string]string{}
	for _, bot := range r.Bots() {
		for _, c := range r.Commands(bot) {
			if c.Effect == commands.Write {
				got[bot+" "+c.Verb] = c.Action
			} else {
				assert.Empty(t, c.Action, c.Verb)
			}
		}
	}
	assert.Equal(t, map[string]string{
		"platform promote": "component:promote", "platform rollback": "component:rollback", "platform undo": "component:undo", "platform lock": "lock:create", "platform unlock": "lock:delete",
		"platform freeze": "project:freeze", "platform thaw": "project:freeze",
		"walkthrough static": "walkthrough:run", "walkthrough stop": "walkthrough:stop", "walkthrough teardown": "walkthrough:teardown",
	}, got)
}

func TestWithoutItsDepsNothingIsMade(t *testing.T) {
	_, err := all.New(all.Deps{})
	require.Error(t, err)
}
