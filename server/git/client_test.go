package git_test

import (
	"crypto/sha1"
	"encoding/base64"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"platform.dev/platform/flowclient"
	"platform.dev/platform/flowclient/gitea"
	"platform.dev/platform/server/git"
)

// everyCall calls each method of the port once.
func everyCall(t *testing.T, c flowclient.Git) map[string]error {
	t.Helper()
	errs := map[string]error{}
	_, errs["EnsureRepository"] = c.EnsureRepository(t.Context(), "platform/demo", "")
	_, errs["Push"] = c.Push(t.Context(), flowclient.Push{Repo: "platform/demo", Key: "k", Message: "m", Files: map[string]string{"a": "1"}})
	_, errs["Commit"] = c.Commit(t.Context(), "platform/demo", "main")
	_, errs["Commits"] = c.Commits(t.Context(), "platform/demo", "main", 1)
	errs["EnsureHook"] = c.EnsureHook(t.Context(), "platform/demo", flowclient.Hook{URL: "http://127.0.0.1:1/", Secret: "s", Events: []string{"push"}})
	errs["SetStatus"] = c.SetStatus(t.Context(), "platform/demo", strings.Repeat("1", 40), flowclient.CommitStatus{Context: "c", State: "success"})
	errs["DeleteRepository"] = c.DeleteRepository(t.Context(), "platform/demo")
	return errs
}

// safeLog collects what is logged.
type safeLog struct {
	mu   sync.Mutex
	text strings.Builder
}

func (l *safeLog) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(p)
}

func TestWhatTheServerRefusesIsAnUpstreamErrorWithoutTheToken(t *testing.T) {
	const secret = "a-token-that-must-not-be-seen"
	w := begin(t, nil)
	w.seeded("demo")
	down, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	require.NoError(t, down.Close())
	for name, base := range map[string]string{"a wrong token": w.base, "a server that is down": "http://" + down.Addr().String()} {
		t.Run(name, func(t *testing.T) {
			log := &safeLog{}
			scratch := filepath.Join(t.TempDir(), "scratch")
			c, err := gitea.New(gitea.Config{BaseURL: base, Token: secret, User: admin, Dir: scratch, Now: time.Now, Log: slog.New(slog.NewTextHandler(log, nil))})
			require.NoError(t, err)
			for method, err := range everyCall(t, c) {
				var upstream *flowclient.Upstream
				require.True(t, errors.As(err, &upstream), "%s: %v", method, err)
				assert.Equal(t, "git server", upstream.Part)
				for _, form := range []string{secret, base64.StdEncoding.EncodeToString([]byte(admin + ":" + secret))} {
					assert.NotContains(t, err.Error()+log.text.String(), form, method)
				}
			}
			left, err := os.ReadDir(scratch)
			require.NoError(t, err)
			assert.Empty(t, left, "nothing is left behind")
		})
	}
}

func TestAClientThatIsNotToldEnoughIsNotMade(t *testing.T) {
	good := gitea.Config{BaseURL: "http://127.0.0.1:1", Token: "t", User: "u", Dir: t.TempDir(), Now: time.Now, Log: testLog(t)}
	for name, change := range map[string]func(*gitea.Config){
		"no address":                 func(c *gitea.Config) { c.BaseURL = "" },
		"an address with a password": func(c *gitea.Config) { c.BaseURL = "http://u:secret@127.0.0.1:1" },
		"an address of another kind": func(c *gitea.Config) { c.BaseURL = "ssh://127.0.0.1" },
		"no token":                   func(c *gitea.Config) { c.Token = "" },
		"no user":                    func(c *gitea.Config) { c.User = "" },
		"no directory":               func(c *gitea.Config) { c.Dir = "" },
		"no clock":                   func(c *gitea.Config) { c.Now = nil },
	} {
		cfg := good
		change(&cfg)
		_, err := gitea.New(cfg)
		require.Error(t, err, name)
		assert.NotContains(t, err.Error(), "secret")
	}
}

func TestAServerThatIsNotToldEnoughIsNotMade(t *testing.T) {
	dir := t.TempDir()
	good := git.Config{Dir: dir, Path: filepath.Join(dir, "git.db"), BaseURL: "http://127.0.0.1:1", AdminUser: admin, AdminToken: "t", Organization: "platform", Now: time.Now, Log: testLog(t)}
	for name, c := range map[string]struct {
		change func(*git.Config)
		says   string
	}{
		"no directory":                         {func(c *git.Config) { c.Dir = "" }, "Dir"},
		"no file":                              {func(c *git.Config) { c.Path = "" }, "Path"},
		"an address without a host":            {func(c *git.Config) { c.BaseURL = "/git" }, `BaseURL "/git"`},
		"an account that is no name":           {func(c *git.Config) { c.AdminUser = "a/b" }, `AdminUser "a/b"`},
		"an organisation named as the account": {func(c *git.Config) { c.Organization = strings.ToUpper(admin) }, "Organization"},
		"a reserved organisation":              {func(c *git.Config) { c.Organization = "api" }, "reserved"},
		"no token":                             {func(c *git.Config) { c.AdminToken = "" }, "AdminToken"},
		"no clock":                             {func(c *git.Config) { c.Now = nil }, "Now"},
	} {
		cfg := good
		c.change(&cfg)
		_, err := git.New(t.Context(), cfg)
		require.ErrorContains(t, err, c.says, name)
	}
}

func TestAHookIsUpdatedRatherThanMadeTwice(t *testing.T) {
	w := begin(t, nil)
	hooks := listenForHooks(t)
	w.seeded("demo")
	for _, h := range []flowclient.Hook{
		{URL: hooks.URL + "/a", Secret: "old", Events: []string{"push"}},
		{URL: hooks.URL + "/b", Secret: "s", Events: []string{"pull_request"}},
		{URL: hooks.URL + "/a", Secret: hookSecret, Events: []string{"push", "create"}},
	} {
		require.NoError(t, w.client().EnsureHook(t.Context(), "platform/demo", h))
	}
	var listed []struct {
		Config map[string]string
		Events []string
		Active bool
	}
	require.Equal(t, 200, w.call("GET", "/api/v1/repos/platform/demo/hooks", asAdmin, nil, &listed))
	require.Len(t, listed, 2)
	assert.Equal(t, []string{"push", "create"}, listed[0].Events)
	assert.NotContains(t, fmt.Sprint(listed), hookSecret, "a secret is never told")
	pushFile(t, w.checkout("demo", adminToken), "one")
	w.idle()
	require.Equal(t, 1, len(hooks.all()))
	assert.Equal(t, "/a", hooks.all()[0].Path)
}

func TestTidyingPacksAndKeepsEverything(t *testing.T) {
	w := begin(t, nil)
	w.seeded("demo")
	dir := w.checkout("demo", adminToken)
	for i := range 3 {
		pushFile(t, dir, fmt.Sprintf("f%d", i))
	}
	repo := filepath.Join(w.cfg.Dir, "platform", "demo.git")
	loose := func() string { return strings.SplitN(tool(t, "", "--git-dir", repo, "count-objects"), " ", 2)[0] }
	before := loose()
	require.NoError(t, w.srv.Tidy(t.Context(), 1_000_000))
	assert.Equal(t, before, loose(), "few objects are left as they are")
	// git guesses how many loose objects there are from the directory 17.
	for i, found := 0, 0; found < 3; i++ {
		content := fmt.Sprintf("content %d", i)
		sum := sha1.Sum(fmt.Appendf(nil, "blob %d\x00%s", len(content), content))
		if sum[0] == 0x17 {
			found++
			commitFile(t, dir, fmt.Sprintf("seventeen%d", found), []byte(content))
		}
	}
	tool(t, dir, "push", "--quiet", "origin", "HEAD:main")
	require.NoError(t, w.srv.Tidy(t.Context(), 1))
	assert.Equal(t, "0", loose())
	again := w.checkout("demo", readToken)
	assert.Equal(t, tool(t, dir, "rev-parse", "HEAD"), tool(t, again, "rev-parse", "HEAD"))
}
