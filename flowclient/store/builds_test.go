package store_test

import (
	"context"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"platform.dev/platform/flowclient"
	"platform.dev/platform/flowclient/store"
)

func TestAControllerThatStartsAnewAsksNobodyAboutBuildsThatWereNoted(t *testing.T) {
	b := newBench(t)
	b.shop()
	b.push("second")
	require.NoError(t, b.Pass(t.Context(), true))
	before, err := b.store.Events(t.Context(), 0, 1000)
	require.NoError(t, err)
	require.Len(t, b.events(flowclient.EventBuildPassed), 2)
	deps := b.deps
	git := &asked{Git: b.plane}
	deps.Git = git
	c, err := flowclient.New(deps)
	require.NoError(t, err)
	require.NoError(t, c.Pass(t.Context(), true))
	assert.Zero(t, git.commits.Load(), "commits that the git server was asked for")
	b.push("third")
	require.NoError(t, c.Pass(t.Context(), true))
	assert.EqualValues(t, 1, git.commits.Load(), "a build that is new is looked up")
	after, err := b.store.Events(t.Context(), 0, 1000)
	require.NoError(t, err)
	assert.Equal(t, before, after[:len(before)])
	assert.Len(t, b.events(flowclient.EventBuildPassed), 3)
}

// asked is a git server that counts the commits that it is asked for.
type asked struct {
	flowclient.Git
	commits atomic.Int64
}

func (a *asked) Commit(ctx context.Context, repo, ref string) (flowclient.Commit, error) {
	a.commits.Add(1)
	return a.Git.Commit(ctx, repo, ref)
}

func TestABuildOfBeforeWhatIsKeptIsNotNotedAgain(t *testing.T) {
	b := newBench(t)
	b.shop()
	require.NoError(t, b.Pass(t.Context(), true))
	require.Len(t, b.events(flowclient.EventBuildPassed), 1)
	b.now = b.now.Add(flowclient.HistoryNeeded + time.Hour)
	b.push("second")
	require.NoError(t, b.Pass(t.Context(), true))
	require.NoError(t, b.store.SetCursor(t.Context(), "announcer", "1000"))
	require.NoError(t, b.store.Compact(t.Context(), b.now, store.Keep{History: flowclient.HistoryNeeded, Announced: "announcer"}, func(string, int64) {}))
	kept := b.events(flowclient.EventBuildPassed)
	require.Len(t, kept, 1, "a newer build of the component was noted")

	deps := b.deps
	git := &asked{Git: b.plane}
	deps.Git, deps.Settings.KeepHistory = git, flowclient.HistoryNeeded
	c, err := flowclient.New(deps)
	require.NoError(t, err)
	require.NoError(t, c.Pass(t.Context(), true))
	assert.Equal(t, kept, b.events(flowclient.EventBuildPassed), "the control plane still has its run")
	assert.Zero(t, git.commits.Load(), "and nobody is asked about it at every start")
}
