package git_test

import (
	"context"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	sdk "code.gitea.io/sdk/gitea"
	"github.com/google/uuid"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"platform.dev/platform/flowclient"
	"platform.dev/platform/flowclient/flowtest"
	"platform.dev/platform/flowclient/gitea"
	"platform.dev/platform/server/web"
)

func TestTheClientKeepsTheGitContractOverASocket(t *testing.T) {
	w := begin(t, nil)
	flowtest.Git(t, func(*testing.T) flowclient.Git { return w.client() })
}

// inProcess is a client that reaches w's server without the network, and its transport.
func inProcess(t *testing.T, w *world) (*gitea.Client, *http.Transport) {
	t.Helper()
	l := web.NewMemory()
	ctx, cancel := context.WithCancel(context.Background())
	var served sync.WaitGroup
	served.Go(func() {
		if err := web.Serve(ctx, l, w.srv.Handler(), w.cfg.Log); err != nil {
			t.Error(err)
		}
	})
	transport := l.Transport()
	t.Cleanup(func() {
		transport.CloseIdleConnections()
		cancel()
		served.Wait()
	})
	client, err := gitea.New(gitea.Config{
		BaseURL: w.base, Token: adminToken, User: admin, Transport: transport, Dir: filepath.Join(t.TempDir(), "scratch"), Now: time.Now, Log: w.cfg.Log,
	})
	require.NoError(t, err)
	return client, transport
}

func TestTheClientKeepsTheGitContractInProcess(t *testing.T) {
	w := begin(t, nil)
	client, _ := inProcess(t, w)
	flowtest.Git(t, func(*testing.T) flowclient.Git { return client })
}

// realGitea is a client of the Gitea that the environment names.
func realGitea(t *testing.T) (url, token string, client *gitea.Client) {
	t.Helper()
	url, token = os.Getenv("PLATFORM_TEST_GITEA_URL"), os.Getenv("PLATFORM_TEST_GITEA_TOKEN")
	if url == "" || token == "" {
		t.Skip("PLATFORM_TEST_GITEA_URL and PLATFORM_TEST_GITEA_TOKEN name no Gitea")
	}
	api, err := sdk.NewClient(url, sdk.SetToken(token), sdk.SetContext(t.Context()), sdk.SetGiteaVersion(""))
	require.NoError(t, err)
	me, _, err := api.GetMyUserInfo()
	require.NoError(t, err)
	if _, resp, err := api.GetOrg(flowtest.GitOwner); err != nil {
		require.Equal(t, http.StatusNotFound, resp.StatusCode, "%v", err)
		_, _, err = api.CreateOrg(sdk.CreateOrgOption{Name: flowtest.GitOwner})
		require.NoError(t, err)
	}
	client, err = gitea.New(gitea.Config{
		BaseURL: url, Token: token, User: me.UserName, Dir: filepath.Join(t.TempDir(), "scratch"), Now: time.Now, Log: testLog(t), MergePatience: 5 * time.Second,
	})
	require.NoError(t, err)
	return url, token, client
}

func TestTheClientKeepsTheGitContractAgainstARealGitea(t *testing.T) {
	_, _, client := realGitea(t)
	flowtest.Git(t, func(*testing.T) flowclient.Git { return client })
}

func TestAnswersHaveTheKeysOfARealGiteas(t *testing.T) {
	url, token, vendor := realGitea(t)
	w := begin(t, nil)
	repo := "platform/shape-" + uuid.NewString()[:8]
	fill := func(c flowclient.Git) {
		_, err := c.EnsureRepository(t.Context(), repo, "of a test")
		require.NoError(t, err)
		for i, content := range []string{"one", "two"} {
			made, err := c.Push(t.Context(), flowclient.Push{Repo: repo, Key: content, Message: content, Files: map[string]string{"a": content, fmt.Sprintf("dir/%d", i): content}})
			require.NoError(t, err)
			require.NoError(t, c.SetStatus(t.Context(), repo, made.SHA, flowclient.CommitStatus{Context: "c", State: "success"}))
		}
		require.NoError(t, c.EnsureHook(t.Context(), repo, flowclient.Hook{URL: "http://127.0.0.1:9/", Secret: "s", Events: []string{"push"}}))
	}
	fill(vendor)
	t.Cleanup(func() { assert.NoError(t, vendor.DeleteRepository(context.WithoutCancel(t.Context()), repo)) })
	fill(w.client())
	theirs := &world{t: t, base: url}
	require.Eventually(t, func() bool { // Gitea takes note of a push after it has answered
		return theirs.call("GET", "/api/v1/repos/"+repo+"/branches/main", "token "+token, nil, nil) == http.StatusOK
	}, 20*time.Second, 50*time.Millisecond)
	for _, path := range []string{
		"/version", "/user", "/orgs/platform", "/repos/" + repo, "/repos/" + repo + "/branches", "/repos/" + repo + "/branches/main",
		"/repos/" + repo + "/git/refs", "/repos/" + repo + "/git/commits/main", "/repos/" + repo + "/commits",
		"/repos/" + repo + "/commits/main/status", "/repos/" + repo + "/commits/main/statuses",
		"/repos/" + repo + "/contents", "/repos/" + repo + "/contents/a", "/repos/" + repo + "/contents/dir",
		"/repos/" + repo + "/hooks", "/repos/platform/nothing", "/repos/" + repo + "/git/commits/nothing",
	} {
		wantStatus := theirs.call("GET", "/api/v1"+path, "token "+token, nil, nil)
		assert.Equal(t, wantStatus, w.call("GET", "/api/v1"+path, asAdmin, nil, nil), path)
		if wantStatus == http.StatusOK {
			var want, got any
			theirs.call("GET", "/api/v1"+path, "token "+token, nil, &want)
			w.call("GET", "/api/v1"+path, asAdmin, nil, &got)
			lacks := slices.DeleteFunc(missing(shape(want), shape(got)), func(p string) bool {
				return strings.HasPrefix(p, "[].last_") // of a directory's entries: a walk through the history for each
			})
			assert.Empty(t, lacks, "%s: keys that Gitea answers", path)
		}
	}
}

// missing lists the keys of want that got has not, whatever their types.
func missing(want, got []string) []string {
	have := map[string]bool{}
	for _, p := range got {
		key, _, _ := strings.Cut(p, " ")
		have[key] = true
	}
	var list []string
	for _, p := range want {
		if key, _, _ := strings.Cut(p, " "); !have[key] {
			list = append(list, p)
		}
	}
	return list
}
