package server

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"platform.dev/platform/commands"
	"platform.dev/platform/commands/all"
	"platform.dev/platform/flowclient"
)

// TestEachPersonaMayDoWhatItIsFor asks the policy about every command that
// there is, as each of the seeded personas: what is not in the table is denied.
func TestEachPersonaMayDoWhatItIsFor(t *testing.T) {
	registry, err := all.New(all.Deps{Flow: struct{ flowclient.Flow }{}, Fetch: fetch, Now: time.Now})
	require.NoError(t, err)
	asked := map[string][]string{ // who may, besides admins
		"platform promote shop":                                     {"platform-engineer", "developer"},
		"platform promote shop --component shop-web --dry-run":      {"platform-engineer", "developer"},
		"platform promote shop --force":                             {"platform-engineer"},
		"platform promote shop --skip-soak hurry":                   {"platform-engineer"},
		"platform promote shop --force --skip-soak hurry --dry-run": {"platform-engineer", "developer"},
		"platform rollback shop shop-web":                           {"platform-engineer", "developer", "sre"},
		"platform undo shop":                                        {"platform-engineer", "developer", "sre"},
		"platform lock shop-web 1a2b3c4 --reason x":                 {"platform-engineer", "developer", "sre"},
		"platform unlock shop-web 1a2b3c4":                          {"platform-engineer", "developer", "sre"},
		"platform unlock shop-web 1a2b3c4 --dry-run":                {"platform-engineer", "developer", "sre"},
		"platform freeze shop --until 2h --reason x":                {"platform-engineer", "sre"},
		"platform freeze all --until 2026-12-24 --reason x":         {"platform-engineer", "sre"},
		"platform thaw 3":                                           {"platform-engineer", "sre"},
		"walkthrough static":                                        {"platform-engineer", "developer"},
		"walkthrough stop":                                          {"platform-engineer", "developer"},
		"walkthrough teardown":                                      {"platform-engineer", "developer"},
	}
	covered := map[string]bool{}
	for text, may := range asked {
		bot, words, _ := strings.Cut(text, " ")
		call, err := registry.Parse(bot, words)
		require.NoError(t, err, text)
		covered[bot+" "+call.Verb] = true
		for _, p := range personas {
			if p.Bot {
				continue
			}
			want := p.Name == "admin" || slices.Contains(may, p.Name)
			got := !slices.ContainsFunc(call.Actions(), func(action string) bool { return !grants.Allowed(p.Groups, action) })
			assert.Equal(t, want, got, "%s: %s", p.Name, text)
		}
	}
	for _, bot := range registry.Bots() {
		for _, c := range registry.Commands(bot) {
			if c.Effect == commands.Write {
				assert.True(t, covered[bot+" "+c.Verb], "%s %s is not in the table", bot, c.Verb)
				assert.False(t, grants.Allowed(nil, c.Action), "who is in no group may not %s", c.Verb)
			} else {
				assert.Empty(t, c.Action, "%s is open to everybody known", c.Verb)
			}
		}
	}
}
