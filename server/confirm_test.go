package server

import (
	"net/http"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"platform.dev/platform/bots"
	"platform.dev/platform/flowclient"
)

var codeUnder = regexp.MustCompile("`@platform confirm ([a-z2-7]{6})`")

// TestWhatThePolicyNamesIsConfirmedInTheChat asks for a freeze that the policy
// wants confirmed by a reaction, and for its end, by a reply that comes after a restart.
func TestWhatThePolicyNamesIsConfirmedInTheChat(t *testing.T) {
	cfg := config(t, t.TempDir())
	cfg.Confirm = bots.Confirmations{{Command: "platform freeze", By: bots.WayReaction}, {Command: "platform thaw", By: bots.WayReply, FourEyes: true}}
	p := start(t, cfg)
	frozen := func() int {
		freezes, err := p.Flow().Freezes(t.Context())
		require.NoError(t, err)
		return len(freezes)
	}
	asked := p.say("sre", StreamSandbox, "freeze", "@**platform** freeze all --until 2h --reason fair")
	require.Equal(t, bots.ReactionAsked, p.outcome(asked, 20*time.Second))
	said := p.read(StreamSandbox, "freeze")
	require.Len(t, said, 2)
	assert.Contains(t, said[1].Content, "Go on with `freeze all --until 2h --reason fair`?")
	assert.Zero(t, frozen())
	require.NoError(t, p.as("developer").React(t.Context(), said[1].ID, "check", true))
	require.NoError(t, p.as("sre").React(t.Context(), said[1].ID, "+1", true))
	p.eventually(20*time.Second, "the freeze", func() bool { return frozen() == 1 })
	p.eventually(20*time.Second, "its outcome", func() bool { return p.outcome(asked, time.Second) == bots.ReactionDone })
	assert.Contains(t, p.read(StreamSandbox, "freeze")[1].Content, "Sam SRE went on with")

	asked = p.say("sre", StreamSandbox, "thaw", "@**platform** thaw 1")
	require.Equal(t, bots.ReactionAsked, p.outcome(asked, 20*time.Second))
	code := codeUnder.FindStringSubmatch(p.read(StreamSandbox, "thaw")[1].Content)
	require.NotNil(t, code)
	metrics := ask(t, http.MethodGet, p.ports.URL("flow")+"/metrics", "", "", "").body
	for _, line := range []string{
		`platform_commands_total{bot="platform",effect="write",outcome="question",verb="thaw"} 1`, `platform_commands_total{bot="platform",effect="write",outcome="check",verb="freeze"} 1`,
		`platform_command_duration_seconds_count{bot="platform",effect="write",verb="freeze"} 2`, `platform_bot_messages_waiting{bot="platform"} 0`, `platform_bot_connected{bot="platform"} 1`,
		`platform_bot_reconnects_total{bot="walkthrough"} 0`,
	} {
		assert.Contains(t, metrics, line)
	}
	p.stop()

	cfg.Ports = PortChoice{}
	p = start(t, cfg)
	own := p.say("sre", StreamSandbox, "thaw", "@**platform** confirm "+code[1])
	assert.Equal(t, bots.ReactionRefused, p.outcome(own, 20*time.Second), "four eyes are wanted")
	other := p.say("admin", StreamSandbox, "thaw", "@**platform** confirm "+code[1])
	assert.Equal(t, bots.ReactionDone, p.outcome(other, 20*time.Second))
	p.eventually(20*time.Second, "the outcome", func() bool { return p.outcome(asked, time.Second) == bots.ReactionDone })
	assert.Zero(t, frozen())

	decided, err := p.elsewhere(&http.Transport{}).Audit(t.Context(), flowclient.AuditQuery{})
	require.NoError(t, err)
	var trail []string
	for _, e := range decided.Entries {
		if strings.HasPrefix(e.Ref, "decision/") {
			trail = append([]string{e.Kind + " " + e.Who}, trail...)
		}
		assert.True(t, strings.HasPrefix(e.Link, p.ports.URL("chat")+"/#narrow/channel/"), "%s: the permalink of what was said: %q", e.Ref, e.Link)
	}
	newest := decided.Entries[slices.IndexFunc(decided.Entries, func(e flowclient.AuditEntry) bool { return e.Kind == "confirmed" })]
	assert.Equal(t, "Asked of platform: confirm "+code[1]+". Confirmed: thaw 1.", newest.Outcome)
	assert.Equal(t, []string{
		"allowed sre", "asked sre", "denied developer", "confirmed sre",
		"allowed sre", "asked sre", "refused sre", "confirmed admin",
	}, trail)
	assert.Equal(t, http.StatusOK, ask(t, http.MethodGet, p.ports.URL("flow")+"/healthz", "", "", "").status)
}
