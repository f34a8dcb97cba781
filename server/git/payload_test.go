package git_test

import (
	"crypto/hmac"
	"crypto/sha1"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

const recordings = "../../fixtures/webhooks"

// recording is a delivery that a real Gitea sent.
func recording(t *testing.T, name string) (headers map[string]string, body any) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(recordings, name+".json"))
	require.NoError(t, err)
	var file struct {
		Headers [][2]string `json:"headers"`
	}
	require.NoError(t, json.Unmarshal(text, &file))
	headers = map[string]string{}
	for _, h := range file.Headers {
		headers[h[0]] = h[1]
	}
	text, err = os.ReadFile(filepath.Join(recordings, name+".raw"))
	require.NoError(t, err)
	require.NoError(t, json.Unmarshal(text, &body))
	return headers, body
}

// shape lists every path of a document with the type of its value. The
// elements of a list share one path.
func shape(v any) []string {
	found := map[string]bool{}
	var walk func(path string, v any)
	walk = func(path string, v any) {
		switch v := v.(type) {
		case map[string]any:
			found[path+" object"] = true
			for k, e := range v {
				walk(path+"."+k, e)
			}
		case []any:
			found[path+" list"] = true
			for _, e := range v {
				walk(path+"[]", e)
			}
		default:
			found[fmt.Sprintf("%s %T", path, v)] = true
		}
	}
	walk("", v)
	var all []string
	for p := range found {
		all = append(all, p)
	}
	slices.Sort(all)
	// Which of a commit's lists of files have elements depends on the commit.
	return slices.DeleteFunc(all, func(p string) bool { return strings.HasSuffix(p, "ed[] string") })
}

// teller is a repository whose hook hears of everything.
type teller struct {
	*world
	hooks *receiver
	dir   string // a checkout
}

func tellEverything(t *testing.T) teller {
	t.Helper()
	w := begin(t, nil)
	w.seeded("demo")
	tell := teller{w, listenForHooks(t), w.checkout("demo", adminToken)}
	w.hook("demo", tell.hooks.URL, "push", "create", "delete", "status")
	return tell
}

// push pushes what the checkout has and gives the commit.
func (w teller) push(t *testing.T, refspec ...string) string {
	t.Helper()
	tool(t, w.dir, append([]string{"push", "--quiet", "origin"}, refspec...)...)
	return tool(t, w.dir, "rev-parse", "HEAD")
}

// hears takes the next delivery and compares its shape and headers with a recorded one.
func (w teller) hears(t *testing.T, name string) map[string]any {
	t.Helper()
	got := w.hooks.next(t)
	headers, want := recording(t, name)
	var body any
	require.NoError(t, json.Unmarshal(got.Body, &body))
	assert.Equal(t, shape(want), shape(body))
	assert.Equal(t, headers["X-Gitea-Event"], got.event())
	assert.Equal(t, headers["X-Gitea-Event-Type"], got.Header.Get("X-Gitea-Event-Type"))
	for h := range headers {
		if strings.HasPrefix(h, "X-") {
			assert.NotEmpty(t, got.Header.Get(h), h)
		}
	}
	return got.json(t)
}

func TestAPushIsToldAsGiteaTellsIt(t *testing.T) {
	w := tellEverything(t)
	before := tool(t, w.dir, "rev-parse", "HEAD")
	commitFile(t, w.dir, "services/web/main.txt", []byte("x"))
	after := w.push(t, "HEAD:main")
	p := w.hears(t, "push")
	assert.Equal(t, "refs/heads/main", p["ref"])
	assert.Equal(t, before, p["before"])
	assert.Equal(t, after, p["after"])
	assert.Equal(t, w.base+"/platform/demo/compare/"+before+"..."+after, p["compare_url"])
	assert.InDelta(t, 1, p["total_commits"], 0)
	head := p["head_commit"].(map[string]any)
	assert.Equal(t, after, head["id"])
	assert.Equal(t, "add services/web/main.txt\n", head["message"])
	assert.Equal(t, []any{"services/web/main.txt"}, head["added"])
	assert.Equal(t, []any{}, head["removed"])
	repo := p["repository"].(map[string]any)
	assert.Equal(t, "platform/demo", repo["full_name"])
	assert.Equal(t, w.base+"/platform/demo.git", repo["clone_url"])
	assert.Equal(t, "main", repo["default_branch"])
	assert.Equal(t, admin, p["pusher"].(map[string]any)["login"])

	require.NoError(t, os.WriteFile(filepath.Join(w.dir, "README.md"), []byte("changed\n"), 0o644))
	tool(t, w.dir, "rm", "--quiet", "services/web/main.txt")
	tool(t, w.dir, "commit", "--quiet", "-am", "change and remove")
	w.push(t, "HEAD:main")
	head = w.hears(t, "push")["head_commit"].(map[string]any)
	assert.Equal(t, []any{"README.md"}, head["modified"])
	assert.Equal(t, []any{"services/web/main.txt"}, head["removed"])
	assert.Equal(t, []any{}, head["added"])
}

func TestAPushOfEightCommitsListsTheNewestFive(t *testing.T) {
	w := tellEverything(t)
	for i := range 8 {
		commitFile(t, w.dir, fmt.Sprintf("svc%d/f", i+1), []byte("x"))
	}
	w.push(t, "HEAD:main")
	p := w.hears(t, "push_8_commits")
	commits := p["commits"].([]any)
	require.Len(t, commits, 5)
	assert.InDelta(t, 8, p["total_commits"], 0)
	assert.Equal(t, p["after"], commits[0].(map[string]any)["id"], "newest first")
	assert.Equal(t, []any{"svc4/f"}, commits[4].(map[string]any)["added"])
	touched, err := w.srv.Touched(t.Context(), w.base+"/platform/demo.git", p["before"].(string), p["after"].(string))
	require.NoError(t, err)
	assert.Len(t, touched, 8, "what the payload leaves out can be asked for")
}

func TestABranchIsToldWhenItComesAndGoes(t *testing.T) {
	w := tellEverything(t)
	main := tool(t, w.dir, "rev-parse", "HEAD")
	commitFile(t, w.dir, "services/web/x.txt", []byte("x"))
	w.push(t, "HEAD:feature")
	created := w.hears(t, "create_branch")
	assert.Equal(t, "feature", created["ref"])
	assert.Equal(t, "branch", created["ref_type"])
	p := w.hears(t, "push_new_branch")
	assert.Equal(t, strings.Repeat("0", 40), p["before"])
	assert.InDelta(t, 1, p["total_commits"], 0, "what the default branch has not")
	assert.Equal(t, w.base+"/platform/demo/compare/"+main+"..."+p["after"].(string), p["compare_url"])
	w.push(t, ":feature")
	assert.Equal(t, "feature", w.hears(t, "delete_branch")["ref"])
}

func TestATagIsToldWithoutCommits(t *testing.T) {
	w := tellEverything(t)
	tool(t, w.dir, "tag", "v0.1")
	tool(t, w.dir, "tag", "-a", "-m", "annotated", "v0.2")
	tool(t, w.dir, "tag", "tree", "HEAD^{tree}")
	head := w.push(t, "v0.1")
	assert.Equal(t, "tag", w.hooks.next(t).json(t)["ref_type"])
	p := w.hears(t, "push_tag")
	assert.Equal(t, "refs/tags/v0.1", p["ref"])
	assert.Equal(t, head, p["after"])
	assert.Equal(t, head, p["head_commit"].(map[string]any)["id"])
	w.push(t, "v0.2")
	w.hooks.next(t)
	p = w.hears(t, "push_tag")
	assert.NotEqual(t, head, p["after"], "an annotated tag is an object of its own")
	assert.Equal(t, head, p["head_commit"].(map[string]any)["id"])
	w.push(t, "tree")
	w.hooks.next(t)
	assert.Nil(t, w.hooks.next(t).json(t)["head_commit"], "a tag of no commit has none")
}

func TestAStatusIsToldToWhoWantsIt(t *testing.T) {
	w := tellEverything(t)
	sha := tool(t, w.dir, "rev-parse", "HEAD")
	require.Equal(t, 201, w.call("POST", "/api/v1/repos/platform/demo/statuses/"+sha, asAdmin,
		map[string]string{"state": "success", "context": "platform/manifests", "description": "created 1", "target_url": "http://127.0.0.1/x"}, nil))
	p := w.hears(t, "status")
	assert.Equal(t, "success", p["state"])
	assert.Equal(t, sha, p["sha"])
}

func TestABranchThatIsForcedBackIsStillTold(t *testing.T) {
	w := tellEverything(t)
	commitFile(t, w.dir, "two", []byte("x"))
	w.push(t, "HEAD:main")
	w.hears(t, "push")
	w.push(t, "--force", "HEAD~1:main")
	p := w.hooks.next(t).json(t)
	assert.InDelta(t, 0, p["total_commits"], 0)
	assert.Equal(t, tool(t, w.dir, "rev-parse", "HEAD~1"), p["after"])
	require.NotNil(t, p["head_commit"])
}

func TestSignaturesAreOverTheExactBytesUnderEveryHeader(t *testing.T) {
	w := begin(t, nil)
	hooks := listenForHooks(t)
	w.repository("demo", true)
	w.hook("demo", hooks.URL+"/api/v1alpha1/autobuild")
	require.NoError(t, w.srv.Seed(t.Context(), "platform/demo", os.DirFS("testdata/seed"), "first"))
	got := hooks.next(t)
	strong := hmac.New(sha256.New, []byte(hookSecret))
	strong.Write(got.Body)
	weak := hmac.New(sha1.New, []byte(hookSecret))
	weak.Write(got.Body)
	sum := hex.EncodeToString(strong.Sum(nil))
	for header, want := range map[string]string{
		"X-Signature-256":     "sha256=" + sum,
		"X-Gitea-Signature":   sum,
		"X-Gogs-Signature":    sum,
		"X-Hub-Signature-256": "sha256=" + sum,
		"X-Hub-Signature":     "sha1=" + hex.EncodeToString(weak.Sum(nil)),
		"X-Gitea-Event":       "push",
		"X-Gogs-Event":        "push",
		"X-Github-Event":      "push",
		"X-Gitea-Event-Type":  "push",
		"X-Github-Delivery":   got.id(),
		"X-Gogs-Delivery":     got.id(),
		"Content-Type":        "application/json",
	} {
		assert.Equal(t, []string{want}, got.Header[header], header)
	}
	assert.Equal(t, "/api/v1alpha1/autobuild", got.Path)
	assert.Regexp(t, `^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$`, got.id())
}

func TestARecordedSignatureIsWhatOursWouldBe(t *testing.T) {
	for _, name := range []string{"push", "push_8_commits", "status"} {
		headers, _ := recording(t, name)
		raw, err := os.ReadFile(filepath.Join(recordings, name+".raw"))
		require.NoError(t, err)
		mac := hmac.New(sha256.New, []byte(hookSecret))
		mac.Write(raw)
		assert.Equal(t, headers["X-Gitea-Signature"], hex.EncodeToString(mac.Sum(nil)), name)
	}
}
