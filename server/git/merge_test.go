package git_test

import (
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
)

// commitOn reads lines of a commit by git's format.
func (w pullWorld) commitOn(t *testing.T, ref, format string) string {
	t.Helper()
	return tool(t, "", "--git-dir", w.cfg.Dir+"/platform/demo.git", "log", "-1", "--format="+format, ref)
}

func TestAMergeIsMadeInTheStyleAskedFor(t *testing.T) {
	for style, want := range map[string]struct {
		parents         int
		subject, author string
	}{
		"":                  {2, "Merge pull request 'Change page' (#1) from feature into main", admin},
		"merge":             {2, "Merge pull request 'Change page' (#1) from feature into main", admin},
		"squash":            {1, "Change page (#1)", "A"},
		"fast-forward-only": {1, "add page", "A"},
	} {
		t.Run("style "+style, func(t *testing.T) {
			w := pulling(t)
			base := w.main(t)
			p := w.open(t, "feature", "page", "x")
			w.do(t, 404, "GET", "/pulls/1/merge", nil)
			w.do(t, 200, "POST", "/pulls/1/merge", map[string]any{"Do": style, "head_commit_id": p.Head.SHA})
			w.do(t, 204, "GET", "/pulls/1/merge", nil)
			main := w.main(t)
			merged := w.read(t, 1)
			assert.True(t, merged.Merged)
			assert.Equal(t, "closed", merged.State)
			assert.Equal(t, main, merged.MergeCommitSHA)
			assert.Equal(t, base, merged.MergeBase)
			assert.Equal(t, 1, merged.ChangedFiles)
			assert.Len(t, strings.Fields(w.commitOn(t, "main", "%P")), want.parents)
			assert.Equal(t, want.subject, w.commitOn(t, "main", "%s"))
			assert.Equal(t, want.author, w.commitOn(t, "main", "%an"))
			assert.Equal(t, p.Head.SHA, w.sha(t, "refs/heads/feature"), "the branch stays")
			if style != "fast-forward-only" {
				assert.Contains(t, w.commitOn(t, "main", "%b"), "Reviewed-on: "+w.base+"/platform/demo/pulls/1")
			}
		})
	}
}

func TestAMergeTakesTheMessageAndRemovesTheBranchWhenAsked(t *testing.T) {
	w := pulling(t)
	p := w.open(t, "feature", "page", "x")
	w.do(t, 200, "POST", "/pulls/1/merge", map[string]any{"MergeTitleField": "My own title", "MergeMessageField": "And why.", "delete_branch_after_merge": true})
	assert.Equal(t, "My own title\n\nAnd why.", w.commitOn(t, "main", "%B"))
	assert.Empty(t, w.sha(t, "refs/heads/feature"))
	merged := w.read(t, 1)
	assert.True(t, merged.Merged, "a branch that goes with the merge does not close it unmerged")
	assert.Equal(t, p.Head.SHA, merged.Head.SHA)
	assert.Equal(t, p.Head.SHA, w.sha(t, "refs/pull/1/head"))
}

func TestAMergeThatCannotBeIsRefusedAndChangesNothing(t *testing.T) {
	w := pulling(t)
	w.open(t, "feature", "page", "theirs\n")
	w.open(t, "closed", "other", "x")
	w.do(t, 201, "PATCH", "/pulls/2", map[string]any{"state": "closed"})
	w.open(t, "behind", "third", "x")
	w.onMain(t, "page", "ours\n")
	tool(t, w.dir, "push", "--quiet", "origin", "origin/behind:refs/heads/within")
	main := w.main(t)
	assert.False(t, w.read(t, 1).Mergeable)
	assert.True(t, w.read(t, 3).Mergeable)
	before := w.dump()
	for name, c := range map[string]struct {
		number, status int
		body           map[string]any
		says           string
	}{
		"a conflict":                     {1, 409, map[string]any{"Do": "merge"}, "feature conflicts with main in page; merge main into feature, resolve and push"},
		"a conflict, squashed":           {1, 409, map[string]any{"Do": "squash"}, "conflicts"},
		"a head that is another":         {3, 409, map[string]any{"head_commit_id": main}, "head out of date"},
		"a base that went on":            {3, 409, map[string]any{"Do": "fast-forward-only"}, "main has commits that behind has not"},
		"a closed one":                   {2, 404, map[string]any{}, "reopen"},
		"a style that is none":           {3, 405, map[string]any{"Do": "octopus"}, "octopus"},
		"a style that is not made here":  {3, 405, map[string]any{"Do": "rebase"}, "rebase"},
		"one that does not exist":        {9, 404, map[string]any{}, "does not exist"},
		"a merge that waits for checks":  {3, 422, map[string]any{"merge_when_checks_succeed": true}, "merge_when_checks_succeed"},
		"a title that is too long":       {3, 422, map[string]any{"Do": "merge", "MergeTitleField": strings.Repeat("x", 256)}, "MergeTitleField"},
		"a head that is of another kind": {3, 422, map[string]any{"head_commit_id": 7}, "head_commit_id"},
	} {
		answer := w.do(t, c.status, "POST", fmt.Sprintf("/pulls/%d/merge", c.number), c.body)
		assert.Contains(t, answer.Message, c.says, name)
	}
	assert.Equal(t, before, w.dump())
	assert.Equal(t, main, w.main(t))
	w.do(t, 200, "POST", "/pulls/3/merge", map[string]any{})
	assert.Contains(t, w.do(t, 405, "POST", "/pulls/3/merge", map[string]any{}).Message, "already merged")
}

func TestABranchThatMainHoldsAlreadyHasNothingToMerge(t *testing.T) {
	w := pulling(t)
	w.open(t, "feature", "page", "x")
	tool(t, w.dir, "push", "--quiet", "origin", "feature:main")
	assert.Equal(t, "open", w.read(t, 1).State)
	assert.Contains(t, w.do(t, 409, "POST", "/pulls/1/merge", map[string]any{}).Message, "already")
}

func TestMergesAtOneTimeMergeOnce(t *testing.T) {
	w := pulling(t)
	base := w.main(t)
	w.open(t, "feature", "page", "x")
	var all sync.WaitGroup
	statuses := make([]int, 6)
	for i := range statuses {
		all.Go(func() { statuses[i] = w.call("POST", demo+"/pulls/1/merge", asAdmin, map[string]any{}, nil) })
	}
	all.Wait()
	count := map[int]int{}
	for _, s := range statuses {
		count[s]++
	}
	assert.Equal(t, map[int]int{200: 1, 405: 5}, count)
	assert.Equal(t, "2", tool(t, "", "--git-dir", w.cfg.Dir+"/platform/demo.git", "rev-list", "--count", base+"..main"))
}

// decided leaves a decision to merge behind as a crash does.
func (w pullWorld) decided(t *testing.T, before, sha string) {
	t.Helper()
	w.exec(`INSERT INTO merges (pull_id, before, sha, delete_branch) VALUES (1, ?, ?, 0)`, before, sha)
}

func TestADecisionToMergeIsCarriedOutAtTheNextStartOrGivenUp(t *testing.T) {
	for name, c := range map[string]struct {
		elsewhere bool // main went on without it
		moved     bool // main was moved, and nothing recorded of it
		merged    bool
	}{
		"main is where it was":              {false, false, true},
		"main was moved and nothing told":   {false, true, true},
		"main has gone elsewhere meanwhile": {true, false, false},
	} {
		t.Run(name, func(t *testing.T) {
			w := pulling(t)
			before := w.main(t)
			p := w.open(t, "feature", "page", "x")
			if c.elsewhere {
				w.onMain(t, "other", "x")
			}
			w.restart(func() {
				w.decided(t, before, p.Head.SHA)
				if c.moved {
					w.move("demo", p.Head.SHA)
				}
			})
			after := w.read(t, 1)
			assert.Equal(t, c.merged, after.Merged)
			if c.merged {
				assert.Equal(t, p.Head.SHA, w.main(t))
				assert.Equal(t, p.Head.SHA, after.MergeCommitSHA)
			} else {
				assert.Equal(t, "open", after.State)
				w.do(t, 200, "POST", "/pulls/1/merge", map[string]any{}) // and it can be merged again
			}
		})
	}
}
