package git_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

const demo = "/api/v1/repos/platform/demo"

// said is a pull request as the API gives it, as far as tests look.
type said struct {
	ID, Number                     int64
	Title, Body, State             string
	Merged, Mergeable              bool
	MergeCommitSHA                 string `json:"merge_commit_sha"`
	MergeBase                      string `json:"merge_base"`
	Additions, Deletions, Comments int
	ChangedFiles                   int `json:"changed_files"`
	Base, Head                     struct{ Label, Ref, SHA string }
	Labels                         []struct{ Name string }
	CreatedAt, UpdatedAt, ClosedAt *time.Time
	Message                        string // of an error
}

// pullWorld is a repository with a checkout in which branches are made.
type pullWorld struct {
	*world
	dir string
}

func pulling(t *testing.T) pullWorld {
	t.Helper()
	w := begin(t, nil)
	w.seeded("demo")
	return pullWorld{w, w.checkout("demo", adminToken)}
}

// branch pushes a branch off main with a file and gives its head.
func (w pullWorld) branch(t *testing.T, name, file, content string) string {
	t.Helper()
	tool(t, w.dir, "fetch", "--quiet", "origin")
	tool(t, w.dir, "checkout", "--quiet", "-B", name, "origin/main")
	return w.commit(t, name, file, content)
}

// commit adds a commit to the branch that is checked out, pushes it and gives it.
func (w pullWorld) commit(t *testing.T, to, file, content string) string {
	t.Helper()
	commitFile(t, w.dir, file, []byte(content))
	tool(t, w.dir, "push", "--quiet", "origin", "HEAD:"+to)
	return tool(t, w.dir, "rev-parse", "HEAD")
}

// onMain commits a file to main.
func (w pullWorld) onMain(t *testing.T, file, content string) string {
	t.Helper()
	tool(t, w.dir, "fetch", "--quiet", "origin")
	tool(t, w.dir, "checkout", "--quiet", "-B", "main", "origin/main")
	return w.commit(t, "main", file, content)
}

// do calls the API of the repository as the admin, and wants the status.
func (w pullWorld) do(t *testing.T, want int, method, path string, body any) (answer said) {
	t.Helper()
	var out any = &answer
	if want == 204 || method == "POST" && want == 200 {
		out = nil
	}
	require.Equal(t, want, w.call(method, demo+path, asAdmin, body, out), "%s %s: %s", method, path, answer.Message)
	return answer
}

// open opens a pull request of a branch that changes a file.
func (w pullWorld) open(t *testing.T, branch, file, content string) said {
	t.Helper()
	w.branch(t, branch, file, content)
	return w.do(t, 201, "POST", "/pulls", map[string]any{"head": branch, "base": "main", "title": "Change " + file, "body": "hello"})
}

// read is the pull request as it is now.
func (w pullWorld) read(t *testing.T, number int64) said {
	t.Helper()
	return w.do(t, 200, "GET", fmt.Sprintf("/pulls/%d", number), nil)
}

// main is the head of main.
func (w pullWorld) main(t *testing.T) string {
	t.Helper()
	return w.sha(t, "refs/heads/main")
}

// sha is what a ref names on the server's disk; empty when there is none.
func (w pullWorld) sha(t *testing.T, ref string) string {
	t.Helper()
	out, err := toolErr(t, "", "--git-dir", w.cfg.Dir+"/platform/demo.git", "rev-parse", "--verify", "--quiet", ref)
	if err != nil {
		return ""
	}
	assert.Len(t, out, 41)
	return out[:40]
}
