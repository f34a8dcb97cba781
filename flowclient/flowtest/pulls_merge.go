package flowtest

import (
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"platform.dev/platform/flowclient"
)

func pullsMerged(t *testing.T, c pullsCase) {
	p := c.opened(t, "feature", "page", "second\n")
	other := c.change(t, "main", "elsewhere", "x\n")
	merged, err := c.Pulls.MergePull(t.Context(), c.repo, p.Number, p.Head)
	require.NoError(t, err)
	assert.True(t, merged.Merged)
	assert.Equal(t, "closed", merged.State)
	assert.Equal(t, p.Head, merged.Head)
	assert.Equal(t, c.main(t), merged.MergeCommit)
	for _, sha := range []string{p.Head, other.SHA} {
		behind, _, err := c.Pulls.Compare(t.Context(), c.repo, "main", sha, 5)
		require.NoError(t, err)
		assert.Empty(t, behind, "main holds %s", sha)
	}
	files, err := c.Pulls.Files(t.Context(), c.repo, "main", "")
	require.NoError(t, err)
	assert.Equal(t, map[string]string{"README.md": "one\n", "page": "second\n", "elsewhere": "x\n"}, files)
	again, err := c.Pulls.MergePull(t.Context(), c.repo, p.Number, "")
	require.NoError(t, err)
	assert.Equal(t, merged.MergeCommit, again.MergeCommit)
	assert.Equal(t, merged.MergeCommit, c.main(t), "a merge that is asked for again does nothing")
}

func pullsMergedAtOnce(t *testing.T, c pullsCase) {
	p := c.opened(t, "feature", "page", "second\n")
	before := c.main(t)
	var all sync.WaitGroup
	got := make([]flowclient.Pull, 4)
	errs := make([]error, len(got))
	for i := range got {
		all.Go(func() { got[i], errs[i] = c.Pulls.MergePull(t.Context(), c.repo, p.Number, p.Head) })
	}
	all.Wait()
	for i := range got {
		require.NoError(t, errs[i])
		assert.Equal(t, got[0].MergeCommit, got[i].MergeCommit)
	}
	commits, _, err := c.Pulls.Compare(t.Context(), c.repo, before, "main", 10)
	require.NoError(t, err)
	assert.Len(t, commits, 2, "the change and one merge")
}

func pullsMoved(t *testing.T, c pullsCase) {
	p := c.opened(t, "feature", "page", "second\n")
	before := c.main(t)
	c.change(t, "feature", "page", "third\n")
	_, err := c.Pulls.MergePull(t.Context(), c.repo, p.Number, p.Head)
	requireRefusal(t, err, p.Head[:10], "merge that")
	assert.Equal(t, before, c.main(t))
	assert.Equal(t, "open", c.read(t, p.Number).State)
}

func pullsConflict(t *testing.T, c pullsCase) {
	p := c.opened(t, "feature", "page", "theirs\n")
	before := c.change(t, "main", "page", "ours\n").SHA
	for _, head := range []string{p.Head, ""} {
		_, err := c.Pulls.MergePull(t.Context(), c.repo, p.Number, head)
		requireRefusal(t, err, "merge main into feature", "resolve")
	}
	assert.Equal(t, before, c.main(t))
	assert.Equal(t, "open", c.read(t, p.Number).State)
}

func pullsClosed(t *testing.T, c pullsCase) {
	p := c.opened(t, "feature", "page", "second\n")
	require.NoError(t, c.Close(t.Context(), c.repo, p.Number))
	before := c.main(t)
	_, err := c.Pulls.MergePull(t.Context(), c.repo, p.Number, "")
	requireRefusal(t, err, "closed", "reopen")
	assert.Equal(t, before, c.main(t))
	closed := c.read(t, p.Number)
	assert.Equal(t, "closed", closed.State)
	assert.False(t, closed.Merged)
	list, err := c.Pulls.OpenPulls(t.Context(), c.repo)
	require.NoError(t, err)
	assert.Empty(t, list)
	again, err := c.Pulls.EnsurePull(t.Context(), c.repo, "feature", "main", "Once more", "")
	require.NoError(t, err)
	assert.NotEqual(t, p.Number, again.Number, "a closed one is not the open one")
}

func pullsKeepHead(t *testing.T, c pullsCase) {
	p := c.opened(t, "feature", "page", "second\n")
	merged, err := c.Pulls.MergePull(t.Context(), c.repo, p.Number, "")
	require.NoError(t, err)
	require.NoError(t, c.Pulls.DeleteBranch(t.Context(), c.repo, "feature"))
	after := c.read(t, p.Number)
	assert.True(t, after.Merged)
	assert.Equal(t, p.Head, after.Head)
	assert.Equal(t, "feature", after.Branch)
	assert.Equal(t, merged.MergeCommit, after.MergeCommit)
}
