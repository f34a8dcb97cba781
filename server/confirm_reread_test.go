package server

import (
	"net/http"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"platform.dev/platform/bots"
	"platform.dev/platform/bots/zulip"
	"platform.dev/platform/commands"
)

// TestThePolicyOfConfirmingIsReadAnewWhileThePlatformRuns starts with a policy that
// asks for nothing, and has it ask for a reaction, then spoils it, then relaxes it:
// what was asked under it before keeps its terms.
func TestThePolicyOfConfirmingIsReadAnewWhileThePlatformRuns(t *testing.T) {
	path := filepath.Join(t.TempDir(), "confirm.yaml")
	write := func(text string) { require.NoError(t, os.WriteFile(path, []byte(text), 0o600)) }
	write("confirm: []\n")
	cfg := config(t, t.TempDir())
	policy, err := bots.OpenConfirmations(path, cfg.Now, cfg.Log)
	require.NoError(t, err)
	cfg.Confirm, cfg.Rate = policy, bots.Rate{PerMinute: -1}
	p := start(t, cfg)
	frozen := func() int {
		freezes, err := p.Flow().Freezes(t.Context())
		require.NoError(t, err)
		return len(freezes)
	}
	well := func() int { return ask(t, http.MethodGet, p.ports.URL("flow")+"/healthz", "", "", "").status }
	question := func() zulip.Message { // the newest one
		all := p.read(StreamSandbox, "freeze")
		return all[len(all)-1]
	}
	// say asks as the sre and gives the mark that the bot then puts on it.
	say := func(text string) (mark string, id int64) {
		id = p.say("sre", StreamSandbox, "freeze", "@**platform** "+text)
		return p.outcome(id, 20*time.Second), id
	}

	mark, _ := say("freeze all --until 2h --reason fair")
	require.Equal(t, bots.ReactionDone, mark)
	require.Equal(t, 1, frozen(), "nothing is asked")

	write("confirm: [{command: platform freeze, by: reaction, four-eyes: true}, {command: platform thaw, by: reaction}]\n")
	p.eventually(10*time.Second, "the policy of now", func() bool {
		thaw := commands.Call{Command: commands.Command{Bot: "platform", Effect: commands.Write}, Verb: "thaw"}
		return policy.Need(thaw, "").Asks()
	})
	mark, thaw := say("thaw 1")
	require.Equal(t, bots.ReactionAsked, mark)
	require.NoError(t, p.as("sre").React(t.Context(), question().ID, "+1", true), "reactions are heard, though they were not wanted at the start")
	p.eventually(20*time.Second, "the freeze is over", func() bool { return frozen() == 0 })
	p.eventually(20*time.Second, "its outcome", func() bool { return p.outcome(thaw, time.Second) == bots.ReactionDone })

	write("confirm: [{command: platform freeze, by: shout}]\n")
	p.eventually(10*time.Second, "the surface is red", func() bool { return well() == http.StatusServiceUnavailable })
	body := ask(t, http.MethodGet, p.ports.URL("flow")+"/healthz", "", "", "").body
	assert.Contains(t, body, path+" does not hold as it stands, and what it said before does: confirm: row 1: by ")
	mark, freeze := say("freeze all --until 2h --reason night")
	require.Equal(t, bots.ReactionAsked, mark, "what was good holds")
	code := codeUnder.FindStringSubmatch(question().Content)
	require.NotNil(t, code)

	write("confirm: []\n")
	p.eventually(10*time.Second, "the surface is well", func() bool { return well() == http.StatusOK })
	own := p.say("sre", StreamSandbox, "freeze", "@**platform** confirm "+code[1])
	assert.Equal(t, bots.ReactionRefused, p.outcome(own, 20*time.Second), "four eyes are wanted of what was asked before")
	assert.Zero(t, frozen())
	other := p.say("admin", StreamSandbox, "freeze", "@**platform** confirm "+code[1])
	assert.Equal(t, bots.ReactionDone, p.outcome(other, 20*time.Second))
	p.eventually(20*time.Second, "the freeze", func() bool { return frozen() == 1 })
	p.eventually(20*time.Second, "its outcome", func() bool { return p.outcome(freeze, time.Second) == bots.ReactionDone })
	mark, _ = say("thaw 2")
	assert.Equal(t, bots.ReactionDone, mark, "nothing is asked any more")
}
