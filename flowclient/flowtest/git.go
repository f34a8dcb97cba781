package flowtest

import (
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"platform.dev/platform/flowclient"
)

// GitOwner is the organisation that Git makes its repositories in. It must exist.
const GitOwner = "platform"

// Git is the contract of flowclient.Git: every implementation passes it
// against every server. open gives a client that may write to GitOwner; each
// case works in a repository of its own.
func Git(t *testing.T, open func(t *testing.T) flowclient.Git) {
	cases := map[string]func(*testing.T, flowclient.Git){
		"a repository is made once and found again":               gitRepository,
		"the first push makes the branch":                         gitFirstPush,
		"a push adds, changes and deletes, and keeps the rest":    gitPush,
		"a key that was pushed is not pushed again":               gitSameKey,
		"a push that would change nothing is refused":             gitNoChange,
		"bad input is refused and changes nothing":                gitBadInput,
		"a new branch begins at the default branch":               gitNewBranch,
		"pushes at one time all land":                             gitConcurrent,
		"commits are found by branch and by abbreviation":         gitResolve,
		"commits are listed newest first, over pages":             gitCommits,
		"hooks and statuses are written again without complaint":  gitHooksAndStatuses,
		"what does not exist is not found":                        gitUnknown,
		"content comes back byte for byte, whatever it is called": gitContent,
	}
	for name, run := range cases {
		t.Run(name, func(t *testing.T) { run(t, open(t)) })
	}
}

// fresh makes an empty repository that goes with the test.
func fresh(t *testing.T, git flowclient.Git) flowclient.Repository {
	t.Helper()
	repo, err := git.EnsureRepository(t.Context(), GitOwner+"/contract-"+uuid.NewString()[:8], "of the contract suite")
	require.NoError(t, err)
	t.Cleanup(func() {
		if err := git.DeleteRepository(t.Context(), repo.Name); err != nil && t.Context().Err() == nil {
			assert.True(t, flowclient.IsNotFound(err), "%v", err)
		}
	})
	return repo
}

func push(repo flowclient.Repository, key string, files map[string]string) flowclient.Push {
	return flowclient.Push{Repo: repo.Name, Branch: "main", Key: key, Message: "Change for " + key + "\n\nWith a body.", Author: "Dev Developer", Files: files}
}

// requireInvalid wants bad input of the field; "" for any.
func requireInvalid(t *testing.T, err error, field string) {
	t.Helper()
	var invalid *flowclient.Invalid
	require.True(t, errors.As(err, &invalid), "want *flowclient.Invalid, got %v", err)
	if field != "" {
		require.Equal(t, field, invalid.Field, "%v", err)
	}
}

func requireNotFound(t *testing.T, err error) {
	t.Helper()
	require.True(t, flowclient.IsNotFound(err), "want *flowclient.NotFound, got %v", err)
}

func gitRepository(t *testing.T, git flowclient.Git) {
	repo := fresh(t, git)
	assert.True(t, strings.HasSuffix(repo.CloneURL, "/"+repo.Name+".git"), repo.CloneURL)
	assert.NotContains(t, repo.CloneURL, "@", "a clone URL carries no credential")
	assert.True(t, strings.HasSuffix(repo.WebURL, "/"+repo.Name), repo.WebURL)
	assert.Equal(t, "main", repo.DefaultBranch)
	again, err := git.EnsureRepository(t.Context(), repo.Name, "another description")
	require.NoError(t, err)
	assert.Equal(t, repo, again)
	commits, err := git.Commits(t.Context(), repo.Name, "main", 5)
	require.NoError(t, err)
	assert.Empty(t, commits)

	require.NoError(t, git.DeleteRepository(t.Context(), repo.Name))
	requireNotFound(t, git.DeleteRepository(t.Context(), repo.Name))
	_, err = git.Commit(t.Context(), repo.Name, "main")
	requireNotFound(t, err)
}

func gitFirstPush(t *testing.T, git flowclient.Git) {
	repo := fresh(t, git)
	made, err := git.Push(t.Context(), push(repo, "k1", map[string]string{"README.md": "hello\n"}))
	require.NoError(t, err)
	assert.Regexp(t, `^[0-9a-f]{40}$`, made.SHA)
	assert.Equal(t, "Change for k1", made.Subject)
	assert.Equal(t, "Dev Developer", made.Author)
	assert.True(t, strings.HasSuffix(made.WebURL, "/"+repo.Name+"/commit/"+made.SHA), made.WebURL)
	got, err := git.Commit(t.Context(), repo.Name, "main")
	require.NoError(t, err)
	assert.Equal(t, made.SHA, got.SHA)
	assert.Equal(t, made.Subject, got.Subject)
	assert.Equal(t, made.Author, got.Author)
	assert.True(t, made.At.Equal(got.At), "%s and %s", made.At, got.At)
	assert.Equal(t, made.WebURL, got.WebURL)
}

func gitPush(t *testing.T, git flowclient.Git) {
	repo := fresh(t, git)
	_, err := git.Push(t.Context(), push(repo, "k1", map[string]string{"a": "1", "dir/b": "2", "c": "3"}))
	require.NoError(t, err)
	p := push(repo, "k2", map[string]string{"a": "changed", "dir/deep/new": "4"})
	p.Delete = []string{"c"}
	second, err := git.Push(t.Context(), p)
	require.NoError(t, err)
	// What the branch holds now is told by what may be deleted and what changes nothing.
	requireInvalid(t, pushError(t, git, flowclient.Push{Repo: repo.Name, Branch: "main", Key: "k3", Message: "m", Delete: []string{"c"}}), "delete")
	err = pushError(t, git, push(repo, "k3", map[string]string{"a": "changed", "dir/b": "2", "dir/deep/new": "4"}))
	requireInvalid(t, err, "files")
	require.ErrorContains(t, err, "no change")
	head, err := git.Commit(t.Context(), repo.Name, "main")
	require.NoError(t, err)
	assert.Equal(t, second.SHA, head.SHA)
}

func pushError(t *testing.T, git flowclient.Git, p flowclient.Push) error {
	t.Helper()
	made, err := git.Push(t.Context(), p)
	require.Error(t, err, "made %s", made.SHA)
	return err
}

func gitSameKey(t *testing.T, git flowclient.Git) {
	repo := fresh(t, git)
	first, err := git.Push(t.Context(), push(repo, "zulip:31", map[string]string{"a": "1"}))
	require.NoError(t, err)
	_, err = git.Push(t.Context(), push(repo, "zulip:32", map[string]string{"a": "2"}))
	require.NoError(t, err)
	again, err := git.Push(t.Context(), push(repo, "zulip:31", map[string]string{"a": "1"}))
	require.NoError(t, err)
	assert.Equal(t, first.SHA, again.SHA, "the commit of the first push is the answer")
	_, err = git.Push(t.Context(), push(repo, "zulip:3", map[string]string{"a": "3"}))
	require.NoError(t, err, "a key that begins another is another")
	commits, err := git.Commits(t.Context(), repo.Name, "main", 10)
	require.NoError(t, err)
	assert.Len(t, commits, 3)
}

func gitNoChange(t *testing.T, git flowclient.Git) {
	repo := fresh(t, git)
	first, err := git.Push(t.Context(), push(repo, "k1", map[string]string{"a": "1"}))
	require.NoError(t, err)
	err = pushError(t, git, push(repo, "k2", map[string]string{"a": "1"}))
	requireInvalid(t, err, "files")
	require.ErrorContains(t, err, `"a"`, "the files are named")
	head, err := git.Commit(t.Context(), repo.Name, "main")
	require.NoError(t, err)
	assert.Equal(t, first.SHA, head.SHA)
}

func gitBadInput(t *testing.T, git flowclient.Git) {
	repo := fresh(t, git)
	first, err := git.Push(t.Context(), push(repo, "k1", map[string]string{"a": "1", "dir/b": "2"}))
	require.NoError(t, err)
	change := func(change func(*flowclient.Push)) flowclient.Push {
		p := push(repo, "k2", map[string]string{"new": "x"})
		change(&p)
		return p
	}
	files := func(names ...string) flowclient.Push {
		return change(func(p *flowclient.Push) {
			p.Files = map[string]string{}
			for _, n := range names {
				p.Files[n] = "x"
			}
		})
	}
	cases := map[string]flowclient.Push{
		"a path upwards":                 files("../x"),
		"a path upwards inside":          files("dir/../../x"),
		"an absolute path":               files("/etc/passwd"),
		"git's own directory":            files(".git/config"),
		"git's own directory, shouting":  files("dir/.GIT/hooks/x"),
		"an empty path":                  files(""),
		"a path of a dot":                files("."),
		"a path with a line break":       files("a\nb"),
		"a path with a backslash":        files(`a\b`),
		"a file where a directory is":    files("dir"),
		"a file below a file":            files("a/x"),
		"files that contradict":          files("n", "n-x", "n/x"),
		"no files":                       files(),
		"a deletion of nothing":          change(func(p *flowclient.Push) { p.Delete = []string{"gone"} }),
		"a path deleted and written":     change(func(p *flowclient.Push) { p.Files["a"] = "y"; p.Delete = []string{"a"} }),
		"no key":                         change(func(p *flowclient.Push) { p.Key = "" }),
		"a key of two lines":             change(func(p *flowclient.Push) { p.Key = "a\nb" }),
		"no message":                     change(func(p *flowclient.Push) { p.Message = "\n" }),
		"a branch that is an option":     change(func(p *flowclient.Push) { p.Branch = "--mirror" }),
		"a branch that is an expression": change(func(p *flowclient.Push) { p.Branch = "main:other" }),
		"a repository that is a path":    change(func(p *flowclient.Push) { p.Repo = "platform/../x" }),
		"a repository without an owner":  change(func(p *flowclient.Push) { p.Repo = "demo" }),
	}
	for name, p := range cases {
		t.Run(name, func(t *testing.T) { requireInvalid(t, pushError(t, git, p), "") })
	}
	head, err := git.Commit(t.Context(), repo.Name, "main")
	require.NoError(t, err)
	assert.Equal(t, first.SHA, head.SHA, "nothing was pushed")
}

func gitNewBranch(t *testing.T, git flowclient.Git) {
	repo := fresh(t, git)
	first, err := git.Push(t.Context(), push(repo, "k1", map[string]string{"a": "1"}))
	require.NoError(t, err)
	p := push(repo, "k2", map[string]string{"b": "2"})
	p.Branch = "feature/two"
	_, err = git.Push(t.Context(), p)
	require.NoError(t, err)
	commits, err := git.Commits(t.Context(), repo.Name, "feature/two", 5)
	require.NoError(t, err)
	require.Len(t, commits, 2)
	assert.Equal(t, first.SHA, commits[1].SHA)
	head, err := git.Commit(t.Context(), repo.Name, "main")
	require.NoError(t, err)
	assert.Equal(t, first.SHA, head.SHA, "main stays")
}

func gitConcurrent(t *testing.T, git flowclient.Git) {
	repo := fresh(t, git)
	const pushes = 4
	var all sync.WaitGroup
	errs := make([]error, pushes)
	for i := range pushes {
		all.Go(func() {
			_, errs[i] = git.Push(t.Context(), push(repo, fmt.Sprintf("k%d", i), map[string]string{fmt.Sprintf("file%d", i): "x"}))
		})
	}
	all.Wait()
	require.NoError(t, errors.Join(errs...))
	commits, err := git.Commits(t.Context(), repo.Name, "main", 10)
	require.NoError(t, err)
	assert.Len(t, commits, pushes)
}

func gitResolve(t *testing.T, git flowclient.Git) {
	repo := fresh(t, git)
	made, err := git.Push(t.Context(), push(repo, "k1", map[string]string{"a": "1"}))
	require.NoError(t, err)
	for _, ref := range []string{"main", made.SHA, made.SHA[:10], made.SHA[:7]} {
		got, err := git.Commit(t.Context(), repo.Name, ref)
		require.NoError(t, err, ref)
		assert.Equal(t, made.SHA, got.SHA, ref)
	}
	for _, ref := range []string{"nowhere", "0123456789", strings.Repeat("0", 40)} {
		_, err := git.Commit(t.Context(), repo.Name, ref)
		requireNotFound(t, err)
	}
	_, err = git.Commit(t.Context(), repo.Name, "")
	requireInvalid(t, err, "commit")
}

func gitCommits(t *testing.T, git flowclient.Git) {
	repo := fresh(t, git)
	var want []string
	for i := range 4 {
		made, err := git.Push(t.Context(), push(repo, fmt.Sprintf("k%d", i), map[string]string{"n": fmt.Sprint(i)}))
		require.NoError(t, err)
		want = append([]string{made.SHA}, want...)
	}
	for limit, n := range map[int]int{1: 1, 3: 3, 100: 4} {
		commits, err := git.Commits(t.Context(), repo.Name, "main", limit)
		require.NoError(t, err)
		var got []string
		for _, c := range commits {
			got = append(got, c.SHA)
		}
		assert.Equal(t, want[:n], got)
	}
	_, err := git.Commits(t.Context(), repo.Name, "nowhere", 3)
	requireNotFound(t, err)
}

func gitHooksAndStatuses(t *testing.T, git flowclient.Git) {
	repo := fresh(t, git)
	made, err := git.Push(t.Context(), push(repo, "k1", map[string]string{"a": "1"}))
	require.NoError(t, err)
	for _, secret := range []string{"one", "two"} {
		require.NoError(t, git.EnsureHook(t.Context(), repo.Name, flowclient.Hook{URL: "http://127.0.0.1:9/hook", Secret: secret, Events: []string{"push"}}))
	}
	requireInvalid(t, git.EnsureHook(t.Context(), repo.Name, flowclient.Hook{URL: "http://127.0.0.1:9/hook", Events: []string{"push"}}), "secret")
	for _, state := range []string{"pending", "success"} {
		require.NoError(t, git.SetStatus(t.Context(), repo.Name, made.SHA, flowclient.CommitStatus{Context: "platform/manifests", State: state, Description: "created 1", URL: "http://127.0.0.1:9/run"}))
	}
	requireInvalid(t, git.SetStatus(t.Context(), repo.Name, made.SHA[:8], flowclient.CommitStatus{Context: "x", State: "success"}), "sha")
	requireInvalid(t, git.SetStatus(t.Context(), repo.Name, made.SHA, flowclient.CommitStatus{Context: "x", State: "splendid"}), "state")
}

func gitUnknown(t *testing.T, git flowclient.Git) {
	nobody := flowclient.Repository{Name: GitOwner + "/contract-nobody"}
	_, err := git.Push(t.Context(), push(nobody, "k1", map[string]string{"a": "1"}))
	requireNotFound(t, err)
	_, err = git.Commit(t.Context(), nobody.Name, "main")
	requireNotFound(t, err)
	_, err = git.Commits(t.Context(), nobody.Name, "main", 1)
	requireNotFound(t, err)
	requireNotFound(t, git.DeleteRepository(t.Context(), nobody.Name))
	requireNotFound(t, git.EnsureHook(t.Context(), nobody.Name, flowclient.Hook{URL: "http://127.0.0.1:9/", Secret: "s", Events: []string{"push"}}))
	requireNotFound(t, git.SetStatus(t.Context(), nobody.Name, strings.Repeat("1", 40), flowclient.CommitStatus{Context: "x", State: "success"}))
	_, err = git.EnsureRepository(t.Context(), "no-such-organization/x", "")
	requireNotFound(t, err)
}

func gitContent(t *testing.T, git flowclient.Git) {
	repo := fresh(t, git)
	files := map[string]string{
		"ünïcode \"quoted\" name.txt": "a\r\nb\x00c",
		":(glob)*":                    "not magic",
		"-rf":                         "not an option",
		"empty":                       "",
		"deep/er/and/deeper":          strings.Repeat("line\n", 50_000),
	}
	_, err := git.Push(t.Context(), push(repo, "k1", files))
	require.NoError(t, err)
	require.ErrorContains(t, pushError(t, git, push(repo, "k2", files)), "no change", "what is pushed again equals what is there")
	made, err := git.Push(t.Context(), flowclient.Push{Repo: repo.Name, Branch: "main", Key: "k3", Message: "Remove: odd names", Delete: []string{":(glob)*", "-rf"}})
	require.NoError(t, err)
	assert.Equal(t, "Remove: odd names", made.Subject)
}
