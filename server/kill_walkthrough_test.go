package server

import (
	"fmt"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"platform.dev/platform/bots"
	"platform.dev/platform/flowclient"
)

// kills is at how many of a walkthrough's durable writes the process is killed,
// spread over all of them: the promotion's test goes through every one of its own.
const kills = 12

func TestAWalkthroughKilledAtDurableWritesEndsTheSame(t *testing.T) {
	if testing.Short() {
		t.Skip("starts the platform two dozen times; unset -short to run it")
	}
	whole, killed := runChild(t, fresh(t), "walkthrough", 1<<30)
	require.False(t, killed)
	// Twelve steps, each recorded, told and made somewhere: fewer would mean that something is not durable.
	require.GreaterOrEqual(t, len(whole), 100, "durable writes of a walkthrough")
	for i := range kills {
		n := 1 + i*(len(whole)-1)/kills
		dir := fresh(t)
		seen, killed := runChild(t, dir, "walkthrough", n)
		require.True(t, killed)
		walked := checkWalked(t, dir, fmt.Sprintf("killed at write %d of about %d (%s)", n, len(whole), seen[len(seen)-1]))
		assert.True(t, walked || i == 0, "asked, and nothing came of it")
	}
}

// fresh is a data directory with ports of its own and nothing else in it.
func fresh(t *testing.T) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "data")
	p := start(t, config(t, dir))
	require.NoError(t, settled(t.Context(), p.Platform))
	p.stop()
	return dir
}

// checkWalked starts the platform again and looks at what the walkthrough came
// to; false when the question was never recorded.
func checkWalked(t *testing.T, dir, where string) bool {
	t.Helper()
	cfg := config(t, dir)
	cfg.Ports = PortChoice{}
	p := start(t, cfg)
	defer p.stop()
	asked := p.read(StreamWalkthroughs, "static")
	if len(asked) == 0 { // the process died of what it was still writing down when it was asked
		runs, err := p.Flow().Walkthroughs(t.Context())
		require.NoError(t, err)
		require.Empty(t, runs, where)
		return false
	}
	require.Equal(t, bots.ReactionDone, p.outcome(asked[0].ID, 30*time.Second), where)
	require.NoError(t, settled(t.Context(), p.Platform), where)

	runs, err := p.Flow().Walkthroughs(t.Context())
	require.NoError(t, err)
	require.Len(t, runs, 1, where)
	require.Equal(t, "passed", runs[0].Result, "%s: %s", where, runs[0].Message)
	assert.Len(t, p.read(StreamWalkthroughs, "static"), 2, "%s: the question and one answer", where)
	said := p.read(StreamWalkthroughs, runs[0].Topic)
	assert.Len(t, said, 13, "%s: one message per step and the closing one", where)
	for i, m := range said {
		assert.Contains(t, m.Content, "✅", "%s: message %d", where, i+1)
	}

	commits, err := p.rooms.repos.Commits(t.Context(), organisation+"/"+runs[0].Project, "main", 10)
	require.NoError(t, err)
	require.Len(t, commits, 5, "%s: each push once, and the pull request's commit with its merge", where)
	component := runs[0].Project + "-web"
	production := p.deployed(component, flowclient.Production, commits[4].SHA)
	assert.Contains(t, get(t, production.URL), commits[4].SHA, where)
	p.deployed(component, flowclient.Staging, commits[1].SHA)

	happened := map[string]int{}
	events, err := p.rooms.store.Events(t.Context(), 0, 1000)
	require.NoError(t, err)
	for _, e := range events {
		happened[e.Kind]++
	}
	assert.Equal(t, map[string]int{
		flowclient.EventScaffolded: 1, flowclient.EventBuildStarted: 4, flowclient.EventBuildPassed: 3, flowclient.EventBuildFailed: 1,
		flowclient.EventPromoted: 2, flowclient.EventPromoteRefuse: 1, flowclient.EventRolledBack: 1, flowclient.EventLockSet: 1, flowclient.EventLockCleared: 1,
		flowclient.EventPullOpened: 1, flowclient.EventReviewCreated: 1, flowclient.EventPullMerged: 1, flowclient.EventReviewDestroyed: 1,
	}, happened, where)
	assert.Len(t, p.read(StreamSandbox, runs[0].Project+": builds"), 5, "%s: the project, and one announcement of each build", where)
	assert.Len(t, p.read(StreamSandbox, runs[0].Project+": promotions"), 6, "%s: two promotions, a rollback, a refusal, a lock and its end", where)
	assert.Len(t, p.read(StreamSandbox, runs[0].Project+": pull requests"), 3, "%s: opened, merged, and one message of the review environment", where)
	return true
}
