package server

import (
	"fmt"
	"net/http"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"platform.dev/platform/bots"
	"platform.dev/platform/flowclient"
)

// ask asks the bot as the developer in a topic of its own, and gives what it said to that.
func (s *started) ask(topic, text, outcome string) string {
	s.t.Helper()
	before := len(s.read(StreamSandbox, topic))
	got := s.outcome(s.say("developer", StreamSandbox, topic, "@**platform** "+text), 30*time.Second)
	var said []string
	for _, m := range s.read(StreamSandbox, topic)[before+1:] {
		said = append(said, m.Content)
	}
	all := strings.Join(said, "\n")
	require.Equal(s.t, outcome, got, "%s\n%s", text, all)
	return all
}

// TestAnUndoIsShownBeforeItIsConfirmed asks to take a promotion back, where that
// is confirmed by a reply: another promotion meanwhile makes the plan stale, and
// what is confirmed in the end is what was shown in the end.
func TestAnUndoIsShownBeforeItIsConfirmed(t *testing.T) {
	cfg := config(t, t.TempDir())
	cfg.Confirm = bots.Confirmations{{Environment: flowclient.Production, Command: "platform undo", By: bots.WayReply}}
	p := start(t, cfg)
	var commits []string
	released := func(sha string) {
		t.Helper()
		commits = append(commits, flowclient.ShortSHA(sha))
		p.ask("release", "promote shop", bots.ReactionDone)
		p.deployed("shop-web", flowclient.Production, sha)
	}
	assert.Contains(t, p.ask("undo", "undo nothing", bots.ReactionRefused), "nothing")
	released(p.scaffold("shop").Commit.SHA)
	assert.Contains(t, p.ask("undo", "undo shop", bots.ReactionRefused), "displaced nothing of shop-web")
	page := repositoryFile(t, "index.html")
	push := func(name string) string {
		return p.push("shop", name, map[string]string{"index.html": page + "<!-- " + name + " -->"}).SHA
	}
	released(push("second"))

	dry := p.ask("undo", "undo shop --dry-run", bots.ReactionDone)
	asked := p.ask("undo", "undo shop", bots.ReactionAsked)
	for _, said := range []string{dry, asked} {
		assert.Contains(t, said, "Would take back the last promotion of **shop**")
		assert.Contains(t, said, "**promoted by:** developer")
		assert.Regexp(t, fmt.Sprintf(`(?s)%s.*→.*%s`, commits[1], commits[0]), said, "from, and to")
	}
	first := codeUnder.FindStringSubmatch(asked)
	require.NotNil(t, first)

	released(push("third")) // the state moves
	changed := p.ask("undo", "confirm "+first[1], bots.ReactionRefused)
	assert.Contains(t, changed, "What it would do has changed since it was asked about.")
	second := codeUnder.FindStringSubmatch(changed)
	require.NotNil(t, second, "%s", changed)
	var question string
	for _, m := range p.read(StreamSandbox, "undo") {
		if strings.Contains(m.Content, first[1]) && strings.Contains(m.Content, "would no longer do what was shown") {
			question = m.Content
		}
	}
	assert.Regexp(t, fmt.Sprintf(`(?s)%s.*→.*%s.*\(was .*%s`, commits[2], commits[1], commits[1]), question, "it says what changed")
	require.Equal(t, commits[2], flowclient.ShortSHA(p.deployment(t, "shop-web", flowclient.Production).Commit), "nothing was undone")

	p.ask("undo", "confirm "+second[1], bots.ReactionDone)
	p.eventually(20*time.Second, "production is back", func() bool {
		return flowclient.ShortSHA(p.deployment(t, "shop-web", flowclient.Production).Commit) == commits[1]
	})
	assert.Contains(t, p.ask("undo", "undo shop", bots.ReactionRefused), "shop-web was rolled back by developer on")
}

// TestPeopleAreReadAnewWhileThePlatformRuns takes somebody out of people.yaml, then
// spoils it: the first holds within a second, the second is told by the surface's health.
func TestPeopleAreReadAnewWhileThePlatformRuns(t *testing.T) {
	cfg := config(t, t.TempDir())
	cfg.Rate = bots.Rate{PerMinute: -1}
	p := start(t, cfg)
	health := func() (int, string) {
		a := ask(t, http.MethodGet, p.ports.URL("flow")+"/healthz", "", "", "")
		return a.status, a.body
	}
	p.ask("people", "status", bots.ReactionRefused) // there is no project, and the developer is known
	whole, err := os.ReadFile(p.Path("people.yaml"))
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(p.Path("people.yaml"), []byte("people: []\n"), 0o600))
	p.eventually(10*time.Second, "nobody is known", func() bool {
		return strings.Contains(p.ask("people", "status", bots.ReactionRefused), "I do not know you yet")
	})
	require.NoError(t, os.WriteFile(p.Path("people.yaml"), []byte("people: [{chat: ten}]\n"), 0o600))
	p.eventually(10*time.Second, "the surface is red", func() bool {
		status, body := health()
		return status == http.StatusServiceUnavailable && strings.Contains(body, p.Path("people.yaml")) && strings.Contains(body, "write transport and user id")
	})
	assert.Contains(t, p.ask("people", "status", bots.ReactionRefused), "I do not know you yet", "what was good holds")
	require.NoError(t, os.WriteFile(p.Path("people.yaml"), whole, 0o600))
	p.eventually(10*time.Second, "the surface is well", func() bool { status, _ := health(); return status == http.StatusOK })
	assert.NotContains(t, p.ask("people", "status", bots.ReactionRefused), "I do not know you yet")
}
