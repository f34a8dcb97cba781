package flowtest

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"platform.dev/platform/flowclient"
)

// PullsWorld is a git server as Pulls needs it: the two ports, and what people
// do to a pull request that the port does not.
type PullsWorld struct {
	Git      flowclient.Git
	Pulls    flowclient.Pulls
	Close    func(ctx context.Context, repo string, number int) error
	Label    func(ctx context.Context, repo string, number int, name string) error // a label that the repository may not have yet
	Labels   func(ctx context.Context, repo string) ([]string, error)              // those that the repository has
	Comments func(ctx context.Context, repo string, number int) ([]string, error)  // their texts, oldest first
}

// pullsWait is how long a server may take to notice what it has answered already.
const pullsWait = 20 * time.Second

// Pulls is the contract of flowclient.Pulls: every implementation passes it
// against every server. open gives a world whose clients may write to GitOwner
// and wait a few seconds at most for a merge; each case works in a repository
// of its own.
func Pulls(t *testing.T, open func(t *testing.T) PullsWorld) {
	cases := map[string]func(*testing.T, pullsCase){
		"a pull request is opened once for its branches":      pullsOpened,
		"a push to its branch moves the head":                 pullsPushed,
		"a merge puts the change on the base, once":           pullsMerged,
		"a merge that was asked for many times is done once":  pullsMergedAtOnce,
		"a head that moved is not merged":                     pullsMoved,
		"a conflict is refused and merges nothing":            pullsConflict,
		"a closed pull request is not merged, nor listed":     pullsClosed,
		"every open pull request is listed, over pages":       pullsListed,
		"labels are told by name":                             pullsLabels,
		"a repository is given a label once":                  pullsLabelMade,
		"one comment is kept per key":                         pullsComments,
		"a branch is deleted, and its pull request closed":    pullsBranchDeleted,
		"a merged pull request keeps its head":                pullsKeepHead,
		"a comparison lists what head has and base has not":   pullsCompare,
		"files are read below a directory, as of one commit":  pullsFiles,
		"what does not exist is not found":                    pullsUnknown,
		"bad input names its field and is asked of no server": pullsBadInput,
	}
	for name, run := range cases {
		t.Run(name, func(t *testing.T) {
			w := open(t)
			repo := fresh(t, w.Git)
			_, err := w.Git.Push(t.Context(), push(repo, "first", map[string]string{"README.md": "one\n", "page": "first\n"}))
			require.NoError(t, err)
			run(t, pullsCase{w, repo.Name})
		})
	}
}

// pullsCase is a repository with a first commit on main.
type pullsCase struct {
	PullsWorld
	repo string
}

// change pushes one file to a branch, which begins at the default branch.
func (c pullsCase) change(t *testing.T, branch, file, content string) flowclient.Commit {
	t.Helper()
	made, err := c.Git.Push(t.Context(), flowclient.Push{
		Repo: c.repo, Branch: branch, Key: strings.TrimSpace(branch + " " + file + " " + content), Message: "Change " + file + " to " + content, Author: "Dev Developer",
		Files: map[string]string{file: content},
	})
	require.NoError(t, err)
	return made
}

// opened is a pull request of a branch that changes a file.
func (c pullsCase) opened(t *testing.T, branch, file, content string) flowclient.Pull {
	t.Helper()
	c.change(t, branch, file, content)
	p, err := c.Pulls.EnsurePull(t.Context(), c.repo, branch, "main", "Change "+file, "Because.")
	require.NoError(t, err)
	return p
}

func (c pullsCase) read(t *testing.T, number int) flowclient.Pull {
	t.Helper()
	p, err := c.Pulls.Pull(t.Context(), c.repo, number)
	require.NoError(t, err)
	return p
}

func (c pullsCase) main(t *testing.T) string {
	t.Helper()
	head, err := c.Git.Commit(t.Context(), c.repo, "main")
	require.NoError(t, err)
	return head.SHA
}

// requireRefusal wants a decision whose sentence holds the words.
func requireRefusal(t *testing.T, err error, words ...string) {
	t.Helper()
	var refusal *flowclient.Refusal
	require.True(t, errors.As(err, &refusal), "want *flowclient.Refusal, got %v", err)
	for _, w := range words {
		require.Contains(t, refusal.Sentence, w)
	}
}

func pullsOpened(t *testing.T, c pullsCase) {
	head := c.change(t, "feature/one", "page", "second\n")
	p, err := c.Pulls.EnsurePull(t.Context(), c.repo, "feature/one", "main", "Second page", "It is better.")
	require.NoError(t, err)
	assert.Equal(t, c.repo, p.Repo)
	assert.Equal(t, "Second page", p.Title)
	assert.Equal(t, "open", p.State)
	assert.Equal(t, "feature/one", p.Branch)
	assert.Equal(t, "main", p.Base)
	assert.Equal(t, head.SHA, p.Head)
	assert.NotEmpty(t, p.Author)
	assert.Contains(t, p.URL, "/"+c.repo+"/pulls/")
	assert.False(t, p.Merged)
	assert.Empty(t, p.MergeCommit)
	assert.Empty(t, p.Labels)
	assert.False(t, p.Updated.IsZero())
	again, err := c.Pulls.EnsurePull(t.Context(), c.repo, "feature/one", "main", "Another title", "")
	require.NoError(t, err)
	assert.Equal(t, p.Number, again.Number)
	assert.Equal(t, "Second page", again.Title, "the one there is stays as it is")
	other := c.opened(t, "feature/two", "other", "x\n")
	assert.NotEqual(t, p.Number, other.Number)
}

func pullsPushed(t *testing.T, c pullsCase) {
	p := c.opened(t, "feature", "page", "second\n")
	head := c.change(t, "feature", "page", "third\n")
	require.Eventually(t, func() bool { return c.read(t, p.Number).Head == head.SHA }, pullsWait, 20*time.Millisecond)
}

func pullsListed(t *testing.T, c pullsCase) {
	const heads, bases = 8, 7
	for i := range heads {
		c.change(t, fmt.Sprintf("head%d", i), fmt.Sprintf("h%d", i), "x")
	}
	for i := range bases {
		c.change(t, fmt.Sprintf("base%d", i), fmt.Sprintf("b%d", i), "x")
	}
	want := map[int]string{}
	for i := range heads {
		for j := range bases {
			p, err := c.Pulls.EnsurePull(t.Context(), c.repo, fmt.Sprintf("head%d", i), fmt.Sprintf("base%d", j), "One of many", "")
			require.NoError(t, err)
			want[p.Number] = p.Branch + " " + p.Base
		}
	}
	require.Len(t, want, heads*bases, "more than one page")
	list, err := c.Pulls.OpenPulls(t.Context(), c.repo)
	require.NoError(t, err)
	got := map[int]string{}
	for i, p := range list {
		got[p.Number] = p.Branch + " " + p.Base
		assert.True(t, i == 0 || list[i-1].Number < p.Number, "by number")
	}
	assert.Equal(t, want, got)
}

func pullsLabels(t *testing.T, c pullsCase) {
	p := c.opened(t, "feature", "page", "second\n")
	require.NoError(t, c.Label(t.Context(), c.repo, p.Number, "promote"))
	require.NoError(t, c.Label(t.Context(), c.repo, p.Number, "again"))
	assert.Equal(t, []string{"again", "promote"}, c.read(t, p.Number).Labels)
	list, err := c.Pulls.OpenPulls(t.Context(), c.repo)
	require.NoError(t, err)
	require.Len(t, list, 1)
	assert.Equal(t, []string{"again", "promote"}, list[0].Labels)
}

func pullsLabelMade(t *testing.T, c pullsCase) {
	l := flowclient.Label{Name: "promote", Color: "#1d7f4e", Description: "to production"}
	require.NoError(t, c.Pulls.EnsureLabel(t.Context(), c.repo, l))
	l.Color = "#000000"
	require.NoError(t, c.Pulls.EnsureLabel(t.Context(), c.repo, l), "one of another colour is that label too")
	labels, err := c.Labels(t.Context(), c.repo)
	require.NoError(t, err)
	assert.Equal(t, []string{"promote"}, labels)
}

func pullsComments(t *testing.T, c pullsCase) {
	p := c.opened(t, "feature", "page", "second\n")
	say := func(key, text string) {
		t.Helper()
		require.NoError(t, c.Pulls.Comment(t.Context(), c.repo, p.Number, key, text))
	}
	hears := func(want ...string) {
		t.Helper()
		got, err := c.Comments(t.Context(), c.repo, p.Number)
		require.NoError(t, err)
		require.Len(t, got, len(want))
		for i := range want {
			visible, _, _ := strings.Cut(got[i], "<!--")
			assert.Equal(t, want[i], strings.TrimSpace(visible))
		}
	}
	say("review", "Being made.")
	say("promote", "Promoted.")
	hears("Being made.", "Promoted.")
	say("review", "See http://pr-1-shop.apps.platform.localhost/\n")
	hears("See http://pr-1-shop.apps.platform.localhost/", "Promoted.")
	say("review", "See http://pr-1-shop.apps.platform.localhost/")
	hears("See http://pr-1-shop.apps.platform.localhost/", "Promoted.")
	say("review-1", "A key that begins with another is another.")
	hears("See http://pr-1-shop.apps.platform.localhost/", "Promoted.", "A key that begins with another is another.")

	var all sync.WaitGroup
	for i := range 4 {
		all.Go(func() {
			assert.NoError(t, c.Pulls.Comment(t.Context(), c.repo, p.Number, "at once", fmt.Sprint("Version ", i)))
		})
	}
	all.Wait()
	got, err := c.Comments(t.Context(), c.repo, p.Number)
	require.NoError(t, err)
	assert.Len(t, got, 4, "one more, whoever came first")
	require.NoError(t, c.Close(t.Context(), c.repo, p.Number))
	say("review", "Gone.")
	hears("Gone.", "Promoted.", "A key that begins with another is another.", strings.TrimSpace(strings.Split(got[3], "<!--")[0]))
}

func pullsBranchDeleted(t *testing.T, c pullsCase) {
	p := c.opened(t, "feature/gone", "page", "second\n")
	require.NoError(t, c.Pulls.DeleteBranch(t.Context(), c.repo, "feature/gone"))
	requireNotFound(t, c.Pulls.DeleteBranch(t.Context(), c.repo, "feature/gone"))
	require.Eventually(t, func() bool { return c.read(t, p.Number).State == "closed" }, pullsWait, 20*time.Millisecond)
	after := c.read(t, p.Number)
	assert.False(t, after.Merged)
	assert.Equal(t, "feature/gone", after.Branch, "the name outlives the branch")
	requireRefusal(t, c.Pulls.DeleteBranch(t.Context(), c.repo, "main"), "default branch")
	_, err := c.Git.Commit(t.Context(), c.repo, "main")
	require.NoError(t, err)
}
