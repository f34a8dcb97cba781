package flowtest

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"platform.dev/platform/flowclient"
)

func pullsCompare(t *testing.T, c pullsCase) {
	first := c.main(t)
	var want []string
	for i := range 4 {
		want = append([]string{c.change(t, "main", "page", fmt.Sprint(i)).SHA}, want...)
	}
	shas := func(commits []flowclient.Commit) (list []string) {
		for _, one := range commits {
			list = append(list, one.SHA)
		}
		return list
	}
	for limit, n := range map[int]int{1: 1, 3: 3, 4: 4, 50: 4} {
		commits, more, err := c.Pulls.Compare(t.Context(), c.repo, first, "main", limit)
		require.NoError(t, err)
		assert.Equal(t, want[:n], shas(commits))
		assert.Equal(t, n < 4, more, "limit %d", limit)
		assert.Equal(t, "Dev Developer", commits[0].Author)
	}
	for _, same := range [][2]string{{"main", "main"}, {"main", first}} {
		commits, more, err := c.Pulls.Compare(t.Context(), c.repo, same[0], same[1], 5)
		require.NoError(t, err)
		assert.Empty(t, commits)
		assert.False(t, more)
	}
	side := c.change(t, "feature/side", "other", "x")
	c.change(t, "main", "page", "last")
	commits, _, err := c.Pulls.Compare(t.Context(), c.repo, "main", "feature/side", 5)
	require.NoError(t, err)
	assert.Equal(t, []string{side.SHA}, shas(commits), "what main has beside it does not count")
}

func pullsFiles(t *testing.T, c pullsCase) {
	before := c.main(t)
	_, err := c.Git.Push(t.Context(), flowclient.Push{Repo: c.repo, Branch: "main", Key: "files", Message: "m", Files: map[string]string{
		"openchoreo/a.yaml": "a: 1\n", "openchoreo/deep/er/b.yaml": "b: ü\r\n", "openchoreo/empty": "", "openchoreo-not/c.yaml": "c", "big": strings.Repeat("x", 1<<20+1),
	}})
	require.NoError(t, err)
	want := map[string]string{"openchoreo/a.yaml": "a: 1\n", "openchoreo/deep/er/b.yaml": "b: ü\r\n", "openchoreo/empty": ""}
	for _, dir := range []string{"openchoreo", "openchoreo/"} {
		files, err := c.Pulls.Files(t.Context(), c.repo, "main", dir)
		require.NoError(t, err)
		assert.Equal(t, want, files)
	}
	for _, none := range [][2]string{{before, "openchoreo"}, {"main", "nothing"}, {"main", "README.md"}} {
		files, err := c.Pulls.Files(t.Context(), c.repo, none[0], none[1])
		require.NoError(t, err)
		assert.Empty(t, files)
	}
	_, err = c.Pulls.Files(t.Context(), c.repo, "main", "")
	requireInvalid(t, err, "file")
	require.ErrorContains(t, err, "big")
}

func pullsUnknown(t *testing.T, c pullsCase) {
	nobody := GitOwner + "/contract-nobody"
	_, err := c.Pulls.EnsurePull(t.Context(), c.repo, "nothing", "main", "t", "")
	requireNotFound(t, err)
	_, err = c.Pulls.EnsurePull(t.Context(), nobody, "feature", "main", "t", "")
	requireNotFound(t, err)
	for _, repo := range []string{c.repo, nobody} {
		_, err = c.Pulls.Pull(t.Context(), repo, 77)
		requireNotFound(t, err)
		_, err = c.Pulls.MergePull(t.Context(), repo, 77, "")
		requireNotFound(t, err)
		requireNotFound(t, c.Pulls.Comment(t.Context(), repo, 77, "k", "text"))
		requireNotFound(t, c.Pulls.DeleteBranch(t.Context(), repo, "nothing"))
		_, _, err = c.Pulls.Compare(t.Context(), repo, "main", "nothing", 5)
		requireNotFound(t, err)
		_, err = c.Pulls.Files(t.Context(), repo, "nothing", "dir")
		requireNotFound(t, err)
	}
	_, err = c.Pulls.OpenPulls(t.Context(), nobody)
	requireNotFound(t, err)
	requireNotFound(t, c.Pulls.EnsureLabel(t.Context(), nobody, flowclient.Label{Name: "promote", Color: "#1d7f4e"}))
}

func pullsBadInput(t *testing.T, c pullsCase) {
	ctx, nobody := t.Context(), "no-owner"
	compare := func(repo, base, head string) error {
		_, _, err := c.Pulls.Compare(ctx, repo, base, head, 1)
		return err
	}
	ensure := func(repo, branch, base, title string) error {
		_, err := c.Pulls.EnsurePull(ctx, repo, branch, base, title, "")
		return err
	}
	pull := func(repo string, number int) error {
		_, err := c.Pulls.Pull(ctx, repo, number)
		return err
	}
	merge := func(number int, head string) error {
		_, err := c.Pulls.MergePull(ctx, c.repo, number, head)
		return err
	}
	files := func(dir string) error {
		_, err := c.Pulls.Files(ctx, c.repo, "main", dir)
		return err
	}
	for name, one := range map[string]struct {
		err   error
		field string
	}{
		"a repository without an owner":    {ensure(nobody, "b", "main", "t"), "repository"},
		"a branch that is an option":       {ensure(c.repo, "--all", "main", "t"), "branch"},
		"a base of another fork":           {ensure(c.repo, "b", "other:main", "t"), "base"},
		"no title":                         {ensure(c.repo, "b", "main", " "), "title"},
		"a number below one":               {pull(c.repo, 0), "number"},
		"a pull request of no repository":  {pull("a/../b", 1), "repository"},
		"a head that is abbreviated":       {merge(1, "0123456"), "head"},
		"a branch to delete that is none":  {c.Pulls.DeleteBranch(ctx, c.repo, "a..b"), "branch"},
		"a base that is an expression":     {compare(c.repo, "main~1", "main"), "base"},
		"a head that is an expression":     {compare(c.repo, "main", "main^{tree}"), "head"},
		"a comparison of no repository":    {compare(nobody, "main", "main"), "repository"},
		"a directory upwards":              {files("../x"), "dir"},
		"a label without a name":           {c.Pulls.EnsureLabel(ctx, c.repo, flowclient.Label{Color: "#1d7f4e"}), "name"},
		"a label of no repository":         {c.Pulls.EnsureLabel(ctx, nobody, flowclient.Label{Name: "x", Color: "#1d7f4e"}), "repository"},
		"a comment without a key":          {c.Pulls.Comment(ctx, c.repo, 1, "", "text"), "key"},
		"a key that ends the marker":       {c.Pulls.Comment(ctx, c.repo, 1, "k --> x", "text"), "key"},
		"a key of two lines":               {c.Pulls.Comment(ctx, c.repo, 1, "a\nb", "text"), "key"},
		"a comment without a text":         {c.Pulls.Comment(ctx, c.repo, 1, "k", "\n"), "text"},
		"a comment of more than its limit": {c.Pulls.Comment(ctx, c.repo, 1, "k", strings.Repeat("x", 100<<10)), "text"},
	} {
		t.Run(name, func(t *testing.T) { requireInvalid(t, one.err, one.field) })
	}
}
