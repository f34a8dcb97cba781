package git_test

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	sdk "code.gitea.io/sdk/gitea"
	"github.com/google/uuid"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"platform.dev/platform/flowclient"
	"platform.dev/platform/flowclient/flowtest"
	"platform.dev/platform/flowclient/gitea"
)

// people do to pull requests, through the SDK, what the port does not.
func people(t *testing.T, client *gitea.Client, base, token string, through http.RoundTripper) flowtest.PullsWorld {
	t.Helper()
	open := func(ctx context.Context) *sdk.Client {
		api, err := sdk.NewClient(base, sdk.SetToken(token), sdk.SetContext(ctx), sdk.SetGiteaVersion(""), sdk.SetHTTPClient(&http.Client{Transport: through}))
		require.NoError(t, err)
		return api
	}
	return flowtest.PullsWorld{
		Git: client, Pulls: client,
		Close: func(ctx context.Context, repo string, number int) error {
			closed := sdk.StateClosed
			_, _, err := open(ctx).EditPullRequest("platform", filepath.Base(repo), int64(number), sdk.EditPullRequestOption{State: &closed})
			return err
		},
		Label: func(ctx context.Context, repo string, number int, name string) error {
			api := open(ctx)
			l, _, err := api.CreateLabel("platform", filepath.Base(repo), sdk.CreateLabelOption{Name: name, Color: "#00aabb"})
			if err != nil {
				return err
			}
			_, _, err = api.AddIssueLabels("platform", filepath.Base(repo), int64(number), sdk.IssueLabelsOption{Labels: []int64{l.ID}})
			return err
		},
		Labels: func(ctx context.Context, repo string) (names []string, err error) {
			list, _, err := open(ctx).ListRepoLabels("platform", filepath.Base(repo), sdk.ListLabelsOptions{})
			for _, l := range list {
				names = append(names, l.Name)
			}
			return names, err
		},
		Comments: func(ctx context.Context, repo string, number int) (texts []string, err error) {
			list, _, err := open(ctx).ListIssueComments("platform", filepath.Base(repo), int64(number), sdk.ListIssueCommentOptions{})
			for _, c := range list {
				texts = append(texts, c.Body)
			}
			return texts, err
		},
	}
}

func TestTheClientKeepsThePullsContractOverASocket(t *testing.T) {
	w := begin(t, nil)
	flowtest.Pulls(t, func(t *testing.T) flowtest.PullsWorld { return people(t, w.client(), w.base, adminToken, nil) })
}

func TestTheClientKeepsThePullsContractInProcess(t *testing.T) {
	w := begin(t, nil)
	client, transport := inProcess(t, w)
	flowtest.Pulls(t, func(t *testing.T) flowtest.PullsWorld { return people(t, client, w.base, adminToken, transport) })
}

func TestTheClientKeepsThePullsContractAgainstARealGitea(t *testing.T) {
	base, token, client := realGitea(t)
	flowtest.Pulls(t, func(t *testing.T) flowtest.PullsWorld { return people(t, client, base, token, nil) })
}

// pullsFiller makes a repository with an open pull request, and one that is merged.
type pullsFiller struct{ client *gitea.Client }

func (f pullsFiller) fill(t *testing.T) (repo string) {
	t.Helper()
	repo = "platform/shape-" + uuid.NewString()[:8]
	_, err := f.client.EnsureRepository(t.Context(), repo, "of a test")
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, f.client.DeleteRepository(context.WithoutCancel(t.Context()), repo)) })
	for _, branch := range []string{"main", "one", "two"} {
		_, err := f.client.Push(t.Context(), flowclient.Push{Repo: repo, Branch: branch, Key: branch, Message: branch, Files: map[string]string{branch: branch}})
		require.NoError(t, err)
	}
	for _, branch := range []string{"one", "two"} {
		_, err := f.client.EnsurePull(t.Context(), repo, branch, "main", branch, "body")
		require.NoError(t, err)
	}
	_, err = f.client.MergePull(t.Context(), repo, 2, "")
	require.NoError(t, err)
	return repo
}

// inFront stands between the client and the server: it answers instead of the
// server where answer gives a status.
func inFront(t *testing.T, w *world, answer func(r *http.Request) int) *gitea.Client {
	t.Helper()
	to, err := url.Parse(w.base)
	require.NoError(t, err)
	behind := httputil.NewSingleHostReverseProxy(to)
	front := httptest.NewServer(http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		if status := answer(r); status != 0 {
			rw.WriteHeader(status)
			return
		}
		behind.ServeHTTP(rw, r)
	}))
	t.Cleanup(front.Close)
	client, err := gitea.New(gitea.Config{
		BaseURL: front.URL, Token: adminToken, User: admin, Dir: filepath.Join(t.TempDir(), "scratch"), Now: time.Now, Log: w.cfg.Log, MergePatience: 300 * time.Millisecond,
	})
	require.NoError(t, err)
	return client
}

func TestAMergeIsAskedForAgainWhileTheServerComputes(t *testing.T) {
	w := pulling(t)
	w.open(t, "one", "f1", "x")
	w.open(t, "two", "f2", "x")
	var asked atomic.Int64
	busy := int64(1)
	client := inFront(t, w.world, func(r *http.Request) int {
		if r.Method == http.MethodPost && strings.HasSuffix(r.URL.Path, "/merge") && asked.Add(1) <= busy {
			return http.StatusMethodNotAllowed
		}
		return 0
	})
	p, err := client.MergePull(t.Context(), "platform/demo", 1, "")
	require.NoError(t, err)
	assert.True(t, p.Merged)
	assert.Equal(t, int64(2), asked.Load())

	busy = 1_000_000
	_, err = client.MergePull(t.Context(), "platform/demo", 2, "")
	var refusal *flowclient.Refusal
	require.ErrorAs(t, err, &refusal, "what never can be merged is refused after a while")
	assert.Contains(t, refusal.Sentence, "merge main into two")
	assert.Less(t, asked.Load(), int64(20), "with pauses between")
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err = client.MergePull(ctx, "platform/demo", 2, "")
	require.ErrorAs(t, err, new(*flowclient.Upstream))
}

func TestAPageThatCannotBeReadIsNoShorterList(t *testing.T) {
	w := pulling(t)
	w.open(t, "one", "f1", "x")
	for i := range 50 {
		tool(t, w.dir, "push", "--quiet", "origin", fmt.Sprintf("origin/main:refs/heads/base%d", i))
		w.do(t, 201, "POST", "/pulls", map[string]any{"head": "one", "base": fmt.Sprintf("base%d", i), "title": "t"})
	}
	var second atomic.Int64
	status := http.StatusInternalServerError
	client := inFront(t, w.world, func(r *http.Request) int {
		if r.URL.Query().Get("page") == "2" {
			second.Add(1)
			return status
		}
		return 0
	})
	list, err := client.OpenPulls(t.Context(), "platform/demo")
	require.ErrorAs(t, err, new(*flowclient.Upstream))
	assert.Empty(t, list)

	// A list that is another each time it is read is none: something may be missing from it.
	second.Store(0)
	client = inFront(t, w.world, func(r *http.Request) int {
		if r.URL.Query().Get("page") == "2" {
			n := second.Add(1)
			w.do(t, 201, "PATCH", fmt.Sprintf("/pulls/%d", n), map[string]any{"state": "closed"})
			w.do(t, 201, "POST", "/pulls", map[string]any{"head": "one", "base": w.read(t, n).Base.Label, "title": "once more"})
		}
		return 0
	})
	_, err = client.OpenPulls(t.Context(), "platform/demo")
	require.ErrorAs(t, err, new(*flowclient.Upstream))
	require.ErrorContains(t, err, "changed")
	list, err = w.client().OpenPulls(t.Context(), "platform/demo")
	require.NoError(t, err)
	assert.Len(t, list, 51)
}
