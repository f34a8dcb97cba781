package git_test

import (
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	sdk "code.gitea.io/sdk/gitea"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// sdk is Gitea's own client, which asks for the version first.
func (w *world) sdk(options ...sdk.ClientOption) *sdk.Client {
	w.t.Helper()
	if len(options) == 0 {
		options = []sdk.ClientOption{sdk.SetToken(adminToken)}
	}
	c, err := sdk.NewClient(w.base, options...)
	require.NoError(w.t, err)
	return c
}

func TestGiteasOwnClientReadsEverything(t *testing.T) {
	w := begin(t, nil)
	w.seeded("demo")
	c := w.sdk()
	me, _, err := c.GetMyUserInfo()
	require.NoError(t, err)
	assert.Equal(t, admin, me.UserName)
	assert.True(t, me.IsAdmin)

	repo, _, err := c.GetRepo("platform", "demo")
	require.NoError(t, err)
	assert.Equal(t, "platform/demo", repo.FullName)
	assert.True(t, repo.Private)
	assert.False(t, repo.Empty)
	assert.Equal(t, "platform", repo.Owner.UserName)
	assert.Equal(t, &sdk.Permission{Admin: true, Push: true, Pull: true}, repo.Permissions)

	branches, _, err := c.ListRepoBranches("platform", "demo", sdk.ListRepoBranchesOptions{})
	require.NoError(t, err)
	require.Len(t, branches, 1)
	head := branches[0].Commit.ID
	one, _, err := c.GetRepoBranch("platform", "demo", "main")
	require.NoError(t, err)
	assert.Equal(t, head, one.Commit.ID)
	ref, _, err := c.GetRepoRef("platform", "demo", "heads/main")
	require.NoError(t, err)
	assert.Equal(t, head, ref.Object.SHA)
	assert.Equal(t, "commit", ref.Object.Type)
	refs, _, err := c.ListAllGitRefs("platform", "demo")
	require.NoError(t, err)
	assert.Len(t, refs, 1)

	commit, _, err := c.GetSingleCommit("platform", "demo", head[:8])
	require.NoError(t, err)
	assert.Equal(t, head, commit.SHA)
	assert.Equal(t, "first\n", commit.RepoCommit.Message)
	assert.Equal(t, admin, commit.RepoCommit.Author.Name)
	require.Len(t, commit.Files, 2)
	assert.Equal(t, "README.md", commit.Files[0].Filename)
	assert.Equal(t, &sdk.CommitStats{Total: 2, Additions: 2}, commit.Stats)
	assert.Equal(t, admin, commit.Author.UserName, "the account's address is known")
	diff, _, err := c.GetCommitDiff("platform", "demo", head)
	require.NoError(t, err)
	assert.Contains(t, string(diff), "+hello")
	patch, _, err := c.GetCommitPatch("platform", "demo", head)
	require.NoError(t, err)
	assert.Contains(t, string(patch), "Subject: [PATCH] first")

	file, _, err := c.GetContents("platform", "demo", "main", "README.md")
	require.NoError(t, err)
	assert.Equal(t, "aGVsbG8K", *file.Content)
	assert.Equal(t, "base64", *file.Encoding)
	assert.Equal(t, head, *file.LastCommitSha)
	list, _, err := c.ListContents("platform", "demo", "main", "")
	require.NoError(t, err)
	require.Len(t, list, 2)
	assert.Equal(t, []string{"file", "dir"}, []string{list[0].Type, list[1].Type})
	list, _, err = c.ListContents("platform", "demo", "main", "ci")
	require.NoError(t, err)
	require.Len(t, list, 1)
	assert.Equal(t, "ci/test.sh", list[0].Path)
	raw, _, err := c.GetFile("platform", "demo", "main", "ci/test.sh")
	require.NoError(t, err)
	assert.Equal(t, "echo test\n", string(raw))

	found, _, err := c.SearchRepos(sdk.SearchRepoOptions{Keyword: "DEM"})
	require.NoError(t, err)
	assert.Len(t, found, 1)
	mine, _, err := c.ListOrgRepos("platform", sdk.ListOrgReposOptions{})
	require.NoError(t, err)
	assert.Len(t, mine, 1)
}

func TestStatusesAddUpToTheWorstOfTheNewest(t *testing.T) {
	w := begin(t, nil)
	w.seeded("demo")
	c := w.sdk()
	head, _, err := c.GetSingleCommit("platform", "demo", "main")
	require.NoError(t, err)
	set := func(context string, state sdk.StatusState) {
		_, _, err := c.CreateStatus("platform", "demo", head.SHA, sdk.CreateStatusOption{Context: context, State: state, Description: "d", TargetURL: "http://127.0.0.1/x"})
		require.NoError(t, err)
	}
	combined := func() sdk.StatusState {
		s, _, err := c.GetCombinedStatus("platform", "demo", "main")
		require.NoError(t, err)
		return s.State
	}
	assert.Empty(t, combined())
	set("build", sdk.StatusPending)
	set("manifests", sdk.StatusSuccess)
	assert.Equal(t, sdk.StatusPending, combined())
	set("build", sdk.StatusFailure)
	assert.Equal(t, sdk.StatusFailure, combined())
	set("build", sdk.StatusSuccess)
	assert.Equal(t, sdk.StatusSuccess, combined())
	all, _, err := c.ListStatuses("platform", "demo", head.SHA, sdk.ListStatusesOption{})
	require.NoError(t, err)
	require.Len(t, all, 4)
	assert.Equal(t, sdk.StatusSuccess, all[0].State, "newest first")
	assert.Equal(t, admin, all[0].Creator.UserName)
}

func TestTokensAreMintedWithNameAndPasswordAlone(t *testing.T) {
	w := begin(t, nil)
	w.seeded("demo")
	basic := w.sdk(sdk.SetBasicAuth(admin, adminToken))
	minted, _, err := basic.CreateAccessToken(sdk.CreateAccessTokenOption{Name: "ci", Scopes: []sdk.AccessTokenScope{"read:repository"}})
	require.NoError(t, err)
	assert.Regexp(t, `^[0-9a-f]{40}$`, minted.Token)
	_, resp, err := basic.CreateAccessToken(sdk.CreateAccessTokenOption{Name: "ci", Scopes: []sdk.AccessTokenScope{"all"}})
	require.Error(t, err)
	assert.Equal(t, http.StatusBadRequest, resp.StatusCode, "a name is used once")
	for _, authorization := range []string{"token " + adminToken, "token " + minted.Token, ""} {
		assert.Equal(t, 401, w.call("POST", "/api/v1/users/"+admin+"/tokens", authorization, map[string]any{"name": "x", "scopes": []string{"all"}}, nil))
	}
	assert.Equal(t, 404, w.callBasic("POST", "/api/v1/users/platform/tokens", `{"name":"x","scopes":["all"]}`))

	w.checkout("demo", minted.Token)
	w.restart(nil)
	dir := w.checkout("demo", minted.Token)
	commitFile(t, dir, "f", []byte("x"))
	out, err := toolErr(t, dir, "push", "origin", "HEAD:main")
	require.Error(t, err)
	assert.Contains(t, out, "403")
	reader := w.sdk(sdk.SetToken(minted.Token))
	_, _, err = reader.GetRepo("platform", "demo")
	require.NoError(t, err)
	_, resp, err = reader.CreateRepoHook("platform", "demo", sdk.CreateHookOption{Type: "gitea", Config: map[string]string{"url": "http://127.0.0.1/", "secret": "s"}})
	require.ErrorContains(t, err, "token does not have at least one of required scope(s), required=[write:repository], token scope=read:repository")
	assert.Equal(t, 403, resp.StatusCode)

	list, _, err := basic.ListAccessTokens(sdk.ListAccessTokensOptions{})
	require.NoError(t, err)
	require.Len(t, list, 1)
	assert.Empty(t, list[0].Token, "a secret is told once")
	_, err = basic.DeleteAccessToken("ci")
	require.NoError(t, err)
	_, resp, err = reader.GetRepo("platform", "demo")
	require.Error(t, err)
	assert.Equal(t, 401, resp.StatusCode)
	file, err := os.ReadFile(w.cfg.Path)
	require.NoError(t, err)
	assert.NotContains(t, string(file), minted.Token, "only the hash is kept")
}

// callBasic sends JSON with the account's name and password.
func (w *world) callBasic(method, path, body string) int {
	w.t.Helper()
	req, err := http.NewRequestWithContext(w.t.Context(), method, w.base+path, strings.NewReader(body))
	require.NoError(w.t, err)
	req.SetBasicAuth(admin, adminToken)
	resp, err := http.DefaultClient.Do(req)
	require.NoError(w.t, err)
	require.NoError(w.t, resp.Body.Close())
	return resp.StatusCode
}

func TestBadRequestsNameFieldAndValueAndChangeNothing(t *testing.T) {
	w := begin(t, nil)
	w.seeded("demo")
	repo := "/api/v1/repos/platform/demo"
	sha := tool(t, w.checkout("demo", adminToken), "rev-parse", "HEAD")
	hook := func(config string) string { return `{"type":"gitea","events":["push"],"config":` + config + `}` }
	cases := []struct {
		name, method, path, body string
		status                   int
		says                     string
	}{
		{"a hook without a secret", "POST", repo + "/hooks", hook(`{"url":"http://127.0.0.1:1/"}`), 422, "config.secret"},
		{"a hook elsewhere", "POST", repo + "/hooks", hook(`{"url":"http://example.com/","secret":"s"}`), 422, `config.url "http://example.com/"`},
		{"a hook to a name that only looks like loopback", "POST", repo + "/hooks", hook(`{"url":"http://localhost.example.com/","secret":"s"}`), 422, "config.url"},
		{"a hook with a credential", "POST", repo + "/hooks", hook(`{"url":"http://a:b@127.0.0.1/","secret":"s"}`), 422, "config.url"},
		{"a hook to a file", "POST", repo + "/hooks", hook(`{"url":"file:///etc/passwd","secret":"s"}`), 422, "config.url"},
		{"a hook of an unknown event", "POST", repo + "/hooks", `{"type":"gitea","events":["dance"],"config":{"url":"http://127.0.0.1/","secret":"s"}}`, 422, `events "dance"`},
		{"a hook of another kind", "POST", repo + "/hooks", `{"type":"slack","config":{"url":"http://127.0.0.1/","secret":"s"}}`, 422, `type "slack"`},
		{"a form hook", "POST", repo + "/hooks", hook(`{"url":"http://127.0.0.1/","secret":"s","content_type":"form"}`), 422, "config.content_type"},
		{"a hook as text", "POST", repo + "/hooks", `not json`, 422, "not JSON"},
		{"a hook as a list", "POST", repo + "/hooks", `[]`, 422, "array"},
		{"a field of another type", "POST", repo + "/hooks", `{"type":7}`, 422, `type "number": want string`},
		{"an unknown hook", "DELETE", repo + "/hooks/99", "", 404, `hook "99"`},
		{"a hook that is no number", "GET", repo + "/hooks/x", "", 404, `hook "x"`},
		{"a state that is none", "POST", repo + "/statuses/" + sha, `{"state":"splendid"}`, 422, `state "splendid"`},
		{"a target that is a script", "POST", repo + "/statuses/" + sha, `{"state":"success","target_url":"javascript:alert(1)"}`, 422, "target_url"},
		{"a status of nothing", "POST", repo + "/statuses/" + strings.Repeat("1", 40), `{"state":"success"}`, 404, "commit"},
		{"a body too large", "POST", repo + "/statuses/" + sha, `{"state":"` + strings.Repeat("x", 1<<20) + `"}`, 413, "1048576 bytes"},
		{"a repository that exists", "POST", "/api/v1/orgs/platform/repos", `{"name":"DEMO"}`, 409, "already exists"},
		{"a repository named as a path", "POST", "/api/v1/orgs/platform/repos", `{"name":"../x"}`, 422, `name "../x"`},
		{"a repository with git's ending", "POST", "/api/v1/orgs/platform/repos", `{"name":"x.git"}`, 422, ".git"},
		{"a repository without a name", "POST", "/api/v1/orgs/platform/repos", `{}`, 422, `name ""`},
		{"a branch that is an option", "POST", "/api/v1/orgs/platform/repos", `{"name":"x","default_branch":"--bare"}`, 422, `default_branch "--bare"`},
		{"a repository of nobody", "POST", "/api/v1/orgs/nobody/repos", `{"name":"x"}`, 404, `"nobody"`},
		{"an organisation of the account's name", "POST", "/api/v1/orgs", `{"username":"` + admin + `"}`, 422, "taken"},
		{"an organisation named as a path of ours", "POST", "/api/v1/orgs", `{"username":"api"}`, 422, "reserved"},
		{"an unknown repository", "GET", "/api/v1/repos/platform/nothing", "", 404, `repository "platform/nothing"`},
		{"an unknown branch", "GET", repo + "/branches/nothing", "", 404, `branch "nothing"`},
		{"a commit that is an option", "GET", repo + "/git/commits/--all", "", 422, "--all"},
		{"a commit that is an expression", "GET", repo + "/git/commits/main@%7B1%7D", "", 422, "main@{1}"},
		{"commits since a parent", "GET", repo + "/commits?sha=main~1", "", 422, "main~1"},
		{"a page that is none", "GET", repo + "/commits?page=x", "", 422, `page "x"`},
		{"a negative limit", "GET", repo + "/commits?limit=-1", "", 422, `limit "-1"`},
		{"a path upwards", "GET", repo + "/contents/..%2f..%2fx", "", 422, "path"},
		{"a path that is not there", "GET", repo + "/contents/nothing", "", 404, `file "nothing"`},
		{"a directory as a file", "GET", repo + "/raw/ci", "", 404, `file "ci"`},
		{"a path of the API that is not served", "GET", "/api/v1/repos/platform/demo/issues", "", 404, "not served"},
		{"a method that is not served", "PUT", "/api/v1/version", "", 404, "PUT"},
	}
	before := w.dump()
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			var body any
			if c.body != "" {
				body = c.body
			}
			var said struct{ Message, URL string }
			assert.Equal(t, c.status, w.call(c.method, c.path, asAdmin, body, &said))
			assert.Contains(t, said.Message, c.says)
			assert.NotEmpty(t, said.URL)
		})
	}
	assert.Equal(t, before, w.dump(), "nothing changed")
}

func TestNobodyMayWriteAndSeesNothingPrivate(t *testing.T) {
	w := begin(t, nil)
	w.seeded("demo")
	w.repository("open", false)
	require.NoError(t, w.srv.Seed(t.Context(), "platform/open", os.DirFS("testdata/seed"), "first"))
	for path, status := range map[string]int{
		"GET /api/v1/version":                            200,
		"GET /api/v1/user":                               401,
		"GET /api/v1/repos/platform/demo":                404,
		"GET /api/v1/repos/platform/demo/commits":        404,
		"GET /api/v1/repos/platform/demo/hooks":          401,
		"DELETE /api/v1/repos/platform/demo":             401,
		"POST /api/v1/orgs/platform/repos":               401,
		"POST /api/v1/orgs":                              401,
		"GET /api/v1/repos/platform/open":                200,
		"GET /api/v1/repos/platform/open/commits":        200,
		"GET /api/v1/repos/platform/open/hooks":          401,
		"POST /api/v1/repos/platform/open/hooks":         401,
		"POST /api/v1/repos/platform/open/statuses/main": 401,
		"DELETE /api/v1/repos/platform/open":             401,
	} {
		method, at, _ := strings.Cut(path, " ")
		assert.Equal(t, status, w.call(method, at, "", nil, nil), path)
		if status != 200 {
			assert.Equal(t, 401, w.call(method, at, "token wrong", nil, nil), "%s with a wrong token", path)
		}
	}
	var found struct{ Data []struct{ Name string } }
	require.Equal(t, 200, w.call("GET", "/api/v1/repos/search", "", nil, &found))
	require.Len(t, found.Data, 1)
	assert.Equal(t, "open", found.Data[0].Name)
	var open struct{ Permissions map[string]bool }
	require.Equal(t, 200, w.call("GET", "/api/v1/repos/platform/open", "", nil, &open))
	assert.Equal(t, map[string]bool{"admin": false, "push": false, "pull": true}, open.Permissions)
}

func TestAnAmbiguousAbbreviationIsToldFromAnUnknownOne(t *testing.T) {
	w := begin(t, nil)
	w.repository("demo", true)
	dir := filepath.Join(w.cfg.Dir, "platform", "demo.git")
	var stream strings.Builder // enough commits that two share four digits, whatever their order
	for i := range 1500 {
		fmt.Fprintf(&stream, "commit refs/heads/main\ncommitter A <a@example.com> %d +0000\ndata 1\nx\n", 1_700_000_000+i)
	}
	cmd := exec.CommandContext(t.Context(), "git", "--git-dir", dir, "fast-import", "--quiet")
	cmd.Stdin = strings.NewReader(stream.String())
	out, err := cmd.CombinedOutput()
	require.NoError(t, err, "%s", out)
	seen, twice := map[string]bool{}, ""
	for _, sha := range strings.Fields(tool(t, "", "--git-dir", dir, "rev-list", "main")) {
		if seen[sha[:4]] {
			twice = sha[:4]
		}
		seen[sha[:4]] = true
	}
	require.NotEmpty(t, twice)
	_, err = w.client().Commit(t.Context(), "platform/demo", twice)
	require.ErrorContains(t, err, "more than one commit")
	assert.Equal(t, 422, w.call("GET", "/api/v1/repos/platform/demo/git/commits/"+twice, asAdmin, nil, nil))

	commits, err := w.client().Commits(t.Context(), "platform/demo", "main", 120)
	require.NoError(t, err)
	assert.Len(t, commits, 120, "over three pages")
}

func TestARepositoryThatAKillLeftHalfMadeOrHalfRemovedIsEndedAtStart(t *testing.T) {
	for _, state := range []string{"creating", "deleting"} {
		t.Run(state, func(t *testing.T) {
			w := begin(t, nil)
			w.seeded("demo")
			w.seeded("other")
			w.restart(func() { w.exec(`UPDATE repositories SET state = ? WHERE name = 'demo'`, state) })
			assert.Equal(t, 404, w.call("GET", "/api/v1/repos/platform/demo", asAdmin, nil, nil))
			assert.Equal(t, 200, w.call("GET", "/api/v1/repos/platform/other", asAdmin, nil, nil))
			assert.NoDirExists(t, filepath.Join(w.cfg.Dir, "platform", "demo.git"))
			w.seeded("demo")
		})
	}
}

func TestARepositoryWhoseDirectoryIsGoneStopsNothingElse(t *testing.T) {
	w := begin(t, nil)
	hooks := listenForHooks(t)
	w.seeded("demo")
	w.seeded("other")
	w.hook("demo", hooks.URL, "push", "delete")
	w.restart(func() { require.NoError(t, os.RemoveAll(filepath.Join(w.cfg.Dir, "platform", "demo.git"))) })
	w.checkout("other", adminToken)
	assert.Equal(t, 500, w.call("GET", "/api/v1/repos/platform/demo/commits", asAdmin, nil, nil))
	w.idle()
	assert.Zero(t, len(hooks.all()), "what cannot be read was not deleted")
}

func TestSeedingIsDoneOnceAndToldAsAPush(t *testing.T) {
	w := begin(t, nil)
	hooks := listenForHooks(t)
	w.repository("pipeline", false)
	w.hook("pipeline", hooks.URL)
	for range 2 {
		require.NoError(t, w.srv.Seed(t.Context(), "platform/pipeline", os.DirFS("testdata/seed"), "the pipeline module"))
	}
	assert.Equal(t, "refs/heads/main", hooks.next(t).json(t)["ref"])
	w.idle()
	assert.Equal(t, 1, len(hooks.all()))
	dir := w.checkout("pipeline", "")
	info, err := os.Stat(filepath.Join(dir, "ci", "test.sh"))
	require.NoError(t, err)
	assert.NotZero(t, info.Mode()&0o100, "what was executable stays so")
	require.Error(t, w.srv.Seed(t.Context(), "platform/absent", os.DirFS("testdata/seed"), "x"))
}

func TestTouchedFilesBetweenTwoCommits(t *testing.T) {
	w := begin(t, nil)
	w.seeded("demo")
	dir := w.checkout("demo", adminToken)
	first := tool(t, dir, "rev-parse", "HEAD")
	commitFile(t, dir, "a b/ü", []byte("x"))
	tool(t, dir, "rm", "--quiet", "README.md")
	tool(t, dir, "commit", "--quiet", "-m", "remove")
	tool(t, dir, "push", "--quiet", "origin", "HEAD:main")
	second := tool(t, dir, "rev-parse", "HEAD")
	url := w.base + "/platform/demo.git"
	for name, c := range map[string]struct {
		before, after string
		want          []string
	}{
		"a range":           {first, second, []string{"README.md", "a b/ü"}},
		"nothing":           {second, second, []string{}},
		"everything":        {strings.Repeat("0", 40), second, []string{"a b/ü", "ci/test.sh"}},
		"from what is gone": {strings.Repeat("1", 40), second, []string{"a b/ü", "ci/test.sh"}},
		"backwards":         {second, first, []string{"README.md", "a b/ü"}},
	} {
		got, err := w.srv.Touched(t.Context(), url, c.before, c.after)
		require.NoError(t, err, name)
		assert.Equal(t, c.want, got, name)
	}
	_, err := w.srv.Touched(t.Context(), "http://elsewhere/platform/demo.git", first, second)
	require.ErrorContains(t, err, "does not exist")
	_, err = w.srv.Touched(t.Context(), url, first, strings.Repeat("2", 40))
	require.ErrorContains(t, err, "does not exist")
}
