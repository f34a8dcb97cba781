package git_test

import (
	"errors"
	"fmt"
	"net/http"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"platform.dev/platform/flowclient"
	"platform.dev/platform/flowclient/gitea"
)

// killedAct is something that people do to pull request 1, and do again when
// the server has died under it.
type killedAct struct {
	do     func(w pullWorld, client *gitea.Client) error
	writes int            // at least so many durable ones
	told   map[string]int // deliveries by event type
	after  func(t *testing.T, w pullWorld, is said)
}

// patched is an act by the API alone.
func patched(method, path string, body any) func(pullWorld, *gitea.Client) error {
	return func(w pullWorld, _ *gitea.Client) error {
		return w.send(method, demo+path, body)
	}
}

var killedActs = map[string]killedAct{
	"a merge": {
		do: func(w pullWorld, _ *gitea.Client) error {
			return w.send("POST", demo+"/pulls/1/merge", map[string]any{"Do": "merge", "delete_branch_after_merge": true})
		},
		writes: 3, told: map[string]int{"push": 1, "pull_request": 1},
		after: func(t *testing.T, w pullWorld, is said) {
			assert.True(t, is.Merged)
			assert.Equal(t, w.main(t), is.MergeCommitSHA)
			assert.Empty(t, w.sha(t, "refs/heads/feature"))
			assert.Equal(t, is.Head.SHA, w.sha(t, "refs/pull/1/head"))
			assert.Equal(t, "2", tool(t, "", "--git-dir", w.cfg.Dir+"/platform/demo.git", "rev-list", "--count", is.MergeBase+"..main"), "the change and one merge")
		},
	},
	"an opening": {
		do: func(w pullWorld, client *gitea.Client) error {
			_, err := client.EnsurePull(w.t.Context(), "platform/demo", "second", "main", "t", "")
			return err
		},
		writes: 2, told: map[string]int{"pull_request": 1},
		after: func(t *testing.T, w pullWorld, _ said) {
			assert.Equal(t, w.sha(t, "refs/heads/second"), w.read(t, 2).Head.SHA)
			assert.Equal(t, w.sha(t, "refs/heads/second"), w.sha(t, "refs/pull/2/head"))
			assert.Empty(t, w.sha(t, "refs/pull/3/head"))
		},
	},
	"a push to its branch": {
		do: func(w pullWorld, _ *gitea.Client) error {
			_, err := toolErr(w.t, w.dir, "push", "--quiet", "origin", "HEAD:feature")
			return err
		},
		writes: 2, told: map[string]int{"push": 1, "pull_request_sync": 1},
		after: func(t *testing.T, w pullWorld, is said) {
			assert.Equal(t, tool(t, w.dir, "rev-parse", "HEAD"), is.Head.SHA)
			assert.Equal(t, is.Head.SHA, w.sha(t, "refs/pull/1/head"))
		},
	},
	"its branch's deletion": {
		do: func(w pullWorld, client *gitea.Client) error {
			err := client.DeleteBranch(w.t.Context(), "platform/demo", "feature")
			if flowclient.IsNotFound(err) { // the second time
				return nil
			}
			return err
		},
		writes: 2, told: map[string]int{"pull_request": 1},
		after: func(t *testing.T, _ pullWorld, is said) {
			assert.Equal(t, "closed", is.State)
			assert.Equal(t, 1, is.ChangedFiles)
		},
	},
	"a closing": {
		do:     patched("PATCH", "/pulls/1", map[string]any{"state": "closed"}),
		writes: 2, told: map[string]int{"pull_request": 1},
		after: func(t *testing.T, _ pullWorld, is said) { assert.Equal(t, "closed", is.State) },
	},
	"a label": {
		do:     patched("POST", "/issues/1/labels", map[string]any{"labels": []string{"promote"}}),
		writes: 2, told: map[string]int{"pull_request_label": 1},
		after: func(t *testing.T, _ pullWorld, is said) { assert.Len(t, is.Labels, 1) },
	},
	"a comment": {
		do: func(w pullWorld, client *gitea.Client) error {
			return client.Comment(w.t.Context(), "platform/demo", 1, "review", "See http://127.0.0.1/")
		},
		writes: 2, told: map[string]int{"pull_request_comment": 1},
		after: func(t *testing.T, _ pullWorld, is said) { assert.Equal(t, 1, is.Comments) },
	},
}

func TestAKillAfterAnyWriteOfWhatIsDoneToAPullRequestLeavesItDoneOnce(t *testing.T) {
	for name, act := range killedActs {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			kills := 0
			for at := int64(1); ; at++ {
				require.Less(t, at, int64(20), "the writes do not end")
				killed := true
				t.Run(fmt.Sprintf("write %d", at), func(t *testing.T) { killed = actThroughKill(t, at, act) })
				if !killed {
					break
				}
				kills++
			}
			assert.GreaterOrEqual(t, kills, act.writes, "what was done and its deliveries are recorded")
		})
	}
}

// actThroughKill acts on a server that dies at a write, starts it again, acts
// again as a person would, and looks at what is there and what was told.
func actThroughKill(t *testing.T, at int64, act killedAct) (killed bool) {
	t.Helper()
	hooks := listenForHooks(t)
	base := serial(t, nil)
	base.seeded("demo")
	w := pullWorld{base, base.checkout("demo", adminToken)}
	w.branch(t, "second", "other", "x")
	w.open(t, "feature", "page", "x")
	commitFile(t, w.dir, "more", []byte("x")) // not pushed yet
	require.Equal(t, 201, w.call("POST", demo+"/labels", asAdmin, map[string]any{"name": "promote", "color": "00aabb"}, nil))
	w.hook("demo", hooks.URL, "push", "pull_request")
	client := w.client()
	w.restart(func() {
		killed = w.runKilled(at, func() { _ = act.do(w, client) })
	})
	require.NoError(t, act.do(w, client))
	w.idle()
	act.after(t, w, w.read(t, 1))
	ids := map[string]map[string]bool{}
	for _, one := range hooks.all() {
		kind := one.Header.Get("X-Gitea-Event-Type")
		if ids[kind] == nil {
			ids[kind] = map[string]bool{}
		}
		ids[kind][one.id()] = true
	}
	told := map[string]int{}
	for kind, seen := range ids {
		told[kind] = len(seen)
	}
	assert.Equal(t, act.told, told, "once, however often it was tried")
	return killed
}

// send sends a request as the admin. What is done already is no error.
func (w *world) send(method, path string, body any) error {
	resp, err := w.request(method, path, asAdmin, body)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	if resp.StatusCode >= 300 && resp.StatusCode != http.StatusMethodNotAllowed {
		return errors.New(resp.Status)
	}
	return nil
}
