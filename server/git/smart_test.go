package git_test

import (
	"bytes"
	"compress/gzip"
	"crypto/rand"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"platform.dev/platform/server/git"
)

func TestAPushOfFiveMegabytesIsClonedBackWhole(t *testing.T) {
	w := begin(t, nil)
	w.repository("demo", true)
	dir := w.checkout("demo", adminToken)
	content := make([]byte, 5<<20) // random: it does not compress, so that git sends it in chunks
	_, err := rand.Read(content)
	require.NoError(t, err)
	commitFile(t, dir, "large.bin", content)
	tool(t, dir, "push", "--quiet", "origin", "HEAD:main")

	again := w.checkout("demo", readToken)
	got, err := os.ReadFile(filepath.Join(again, "large.bin"))
	require.NoError(t, err)
	assert.True(t, bytes.Equal(content, got))
	left, err := os.ReadDir(filepath.Join(w.cfg.Dir, ".spool"))
	require.NoError(t, err)
	assert.Empty(t, left, "spooled bodies are removed")
}

func TestAPushOverTheLimitIsRefusedAndChangesNothing(t *testing.T) {
	for name, size := range map[string]int{"sent with a length": 600 << 10, "sent in chunks": 3 << 20} {
		t.Run(name, func(t *testing.T) {
			w := begin(t, func(c *git.Config) { c.MaxPush = 512 << 10 })
			w.repository("demo", true)
			dir := w.checkout("demo", adminToken)
			content := make([]byte, size)
			_, err := rand.Read(content)
			require.NoError(t, err)
			commitFile(t, dir, "large.bin", content)
			out, err := toolErr(t, dir, "push", "origin", "HEAD:main")
			require.Error(t, err)
			assert.Contains(t, out, "413", "the refusal is told")
			assert.Empty(t, tool(t, dir, "ls-remote", "origin"))

			tool(t, dir, "checkout", "--quiet", "--orphan", "small")
			tool(t, dir, "rm", "--quiet", "-rf", ".")
			commitFile(t, dir, "small", []byte("x"))
			tool(t, dir, "push", "--quiet", "origin", "HEAD:main")
		})
	}
}

func TestACompressedPushIsLimitedByWhatItHolds(t *testing.T) {
	w := begin(t, func(c *git.Config) { c.MaxPush = 64 << 10 })
	w.repository("demo", true)
	var body bytes.Buffer
	z := gzip.NewWriter(&body)
	_, err := z.Write([]byte("00a0" + strings.Repeat("0", 40) + " " + strings.Repeat("1", 40) + " refs/heads/main\x00 report-status agent=test      "))
	require.NoError(t, err)
	_, err = z.Write(make([]byte, 30<<20))
	require.NoError(t, err)
	require.NoError(t, z.Close())
	require.Less(t, body.Len(), 64<<10, "a bomb passes the limit on the wire")
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, w.base+"/platform/demo.git/git-receive-pack", &body)
	require.NoError(t, err)
	req.Header.Set("Authorization", asAdmin)
	req.Header.Set("Content-Encoding", "gzip")
	req.Header.Set("Content-Type", "application/x-git-receive-pack-request")
	resp, err := http.DefaultClient.Do(req)
	require.NoError(t, err)
	require.NoError(t, resp.Body.Close())
	assert.Empty(t, tool(t, "", "ls-remote", w.url("demo", adminToken)), "no ref was made")
}

func TestWhoMayCloneAndPush(t *testing.T) {
	w := begin(t, nil)
	for name, private := range map[string]bool{"hidden": true, "open": false} {
		w.repository(name, private)
		require.NoError(t, w.srv.Seed(t.Context(), "platform/"+name, os.DirFS("testdata/seed"), "first"))
	}
	cases := []struct {
		token, repo, clone, push string // what git says; empty when it succeeds
	}{
		{adminToken, "hidden", "", ""},
		{adminToken, "open", "", ""},
		{readToken, "hidden", "", "403"},
		{readToken, "open", "", "403"},
		{"", "hidden", "could not read Username", "could not read Username"},
		{"", "open", "", "could not read Username"},
		{"wrong", "hidden", "Authentication failed", "Authentication failed"},
		{"wrong", "open", "", "Authentication failed"}, // git sends a credential when it is asked for one
		{adminToken, "absent", "not found", "not found"},
		{readToken, "absent", "not found", "not found"},
		{"", "absent", "could not read Username", "could not read Username"},
	}
	for _, c := range cases {
		t.Run(fmt.Sprintf("%q with token %q", c.repo, c.token), func(t *testing.T) {
			dir := filepath.Join(t.TempDir(), "work")
			out, err := toolErr(t, "", "clone", w.url(c.repo, c.token), dir)
			if c.clone == "" {
				require.NoError(t, err, out)
			} else {
				require.Error(t, err)
				assert.Contains(t, out, c.clone)
				tool(t, "", "init", "--quiet", dir)
				tool(t, dir, "remote", "add", "origin", w.url(c.repo, c.token))
			}
			commitFile(t, dir, "f", []byte(c.token+c.repo))
			out, err = toolErr(t, dir, "push", "origin", "HEAD:refs/heads/by-"+c.repo)
			if c.push == "" {
				require.NoError(t, err, out)
			} else {
				require.Error(t, err)
				assert.Contains(t, out, c.push)
			}
		})
	}
}

func TestEverySpellingOfACredentialWorks(t *testing.T) {
	w := begin(t, nil)
	w.repository("demo", true)
	basic := func(user, password string) string {
		req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://x", nil)
		require.NoError(t, err)
		req.SetBasicAuth(user, password)
		return req.Header.Get("Authorization")
	}
	for name, c := range map[string]struct {
		authorization string
		status        int
	}{
		"token":                         {"token " + adminToken, 200},
		"bearer":                        {"Bearer " + adminToken, 200},
		"user and token":                {basic(admin, adminToken), 200},
		"any user and token":            {basic("x-access-token", adminToken), 200},
		"token as user":                 {basic(adminToken, ""), 200},
		"token as user, OAuth's manner": {basic(adminToken, "x-oauth-basic"), 200},
		"user alone":                    {basic(admin, ""), 401},
		"empty":                         {basic("", ""), 401},
		"an unknown scheme":             {"Digest " + adminToken, 401},
		"a beginning of the token":      {"token " + adminToken[:5], 401},
		"nothing":                       {"", 401},
	} {
		t.Run(name, func(t *testing.T) {
			req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, w.base+"/platform/demo.git/info/refs?service=git-receive-pack", nil)
			require.NoError(t, err)
			if c.authorization != "" {
				req.Header.Set("Authorization", c.authorization)
			}
			resp, err := http.DefaultClient.Do(req)
			require.NoError(t, err)
			require.NoError(t, resp.Body.Close())
			assert.Equal(t, c.status, resp.StatusCode)
			if c.status == 401 {
				assert.Contains(t, resp.Header.Get("WWW-Authenticate"), "Basic ", "so that git asks")
			}
		})
	}
}

func TestPathsBesideSmartHTTPAreNotServed(t *testing.T) {
	w := begin(t, nil)
	w.repository("demo", false)
	for path, status := range map[string]int{
		"/platform/demo.git/info/refs":                                 403, // dumb HTTP
		"/platform/demo.git/info/refs?service=git-upload-archive":      403,
		"/platform/demo.git/HEAD":                                      404,
		"/platform/demo.git/objects/info/packs":                        404,
		"/platform/..%2f..%2fgit.db/info/refs?service=git-upload-pack": 404,
		"/platform/demo/info/refs?service=git-upload-pack":             404,
	} {
		assert.Equal(t, status, w.call("GET", path, asAdmin, nil, nil), path)
	}
}

func TestPushesAtOneTimeAreEachToldOnce(t *testing.T) {
	w := begin(t, nil)
	hooks := listenForHooks(t)
	w.repository("demo", true)
	require.NoError(t, w.srv.Seed(t.Context(), "platform/demo", os.DirFS("testdata/seed"), "first"))
	w.hook("demo", hooks.URL)
	const pushes = 5
	var all sync.WaitGroup
	for i := range pushes {
		dir := w.checkout("demo", adminToken)
		commitFile(t, dir, fmt.Sprintf("f%d", i), []byte("x"))
		all.Go(func() {
			out, err := toolErr(t, dir, "push", "--quiet", "origin", fmt.Sprintf("HEAD:refs/heads/b%d", i))
			assert.NoError(t, err, out)
		})
	}
	all.Wait()
	w.idle()
	told := map[string]int{}
	for _, one := range hooks.all() {
		told[one.json(t)["ref"].(string)]++
	}
	assert.Len(t, told, pushes)
	for ref, n := range told {
		assert.Equal(t, 1, n, ref)
	}
}
