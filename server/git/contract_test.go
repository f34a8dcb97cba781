package git_test

import (
	"context"
	"net/http"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	sdk "code.gitea.io/sdk/gitea"
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

func TestTheClientKeepsTheGitContractInProcess(t *testing.T) {
	w := begin(t, nil)
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
	flowtest.Git(t, func(*testing.T) flowclient.Git { return client })
}

func TestTheClientKeepsTheGitContractAgainstARealGitea(t *testing.T) {
	url, token := os.Getenv("PLATFORM_TEST_GITEA_URL"), os.Getenv("PLATFORM_TEST_GITEA_TOKEN")
	if url == "" || token == "" {
		t.Skip("PLATFORM_TEST_GITEA_URL and PLATFORM_TEST_GITEA_TOKEN name no Gitea")
	}
	api, err := sdk.NewClient(url, sdk.SetToken(token), sdk.SetContext(t.Context()))
	require.NoError(t, err)
	me, _, err := api.GetMyUserInfo()
	require.NoError(t, err)
	if _, resp, err := api.GetOrg(flowtest.GitOwner); err != nil {
		require.Equal(t, http.StatusNotFound, resp.StatusCode, "%v", err)
		_, _, err = api.CreateOrg(sdk.CreateOrgOption{Name: flowtest.GitOwner})
		require.NoError(t, err)
	}
	client, err := gitea.New(gitea.Config{
		BaseURL: url, Token: token, User: me.UserName, Dir: filepath.Join(t.TempDir(), "scratch"), Now: time.Now, Log: testLog(t),
	})
	require.NoError(t, err)
	flowtest.Git(t, func(*testing.T) flowclient.Git { return client })
}
