package controlplane_test

import (
	"bytes"
	"context"
	"crypto/hmac"
	"crypto/sha1"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"hash"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"platform.dev/platform/flowclient"
	"platform.dev/platform/server/controlplane"
)

const (
	intake = "/api/v1alpha1/autobuild"
	sha    = "786c9f36090279ec33a5b4f7582d10e91954ba65"
	zero   = "0000000000000000000000000000000000000000"
)

func mac(h func() hash.Hash, body, key string) string {
	m := hmac.New(h, []byte(key))
	m.Write([]byte(body))
	return hex.EncodeToString(m.Sum(nil))
}

func sign(body string) string { return mac(sha256.New, body, secret) }

// pushBody is a push to a branch that touches files.
func pushBody(ref, after string, files ...string) string {
	raw, _ := json.Marshal(map[string]any{
		"ref": ref, "before": strings.Repeat("b", 40), "after": after, "total_commits": 1,
		"commits":    []any{map[string]any{"id": after, "added": files, "modified": nil, "removed": []string{}}},
		"repository": map[string]any{"clone_url": repository, "default_branch": "main"},
	})
	return string(raw)
}

type buildAnswer struct {
	AffectedComponents []string
	Message            string
	Success            bool
	TriggeredBuilds    int
}

// deliver sends a body with the given headers and no token.
func (w *world) deliver(body string, headers ...string) answer {
	w.t.Helper()
	return w.request(http.MethodPost, intake, body, append([]string{"Authorization", "", "Content-Type", "application/json"}, headers...)...)
}

// accepted is a delivery that is signed well and answered 200.
func (w *world) accepted(body string, headers ...string) buildAnswer {
	w.t.Helper()
	got := w.deliver(body, append([]string{"X-Signature-256", "sha256=" + sign(body)}, headers...)...)
	require.Equal(w.t, 200, got.status, got.body)
	var a buildAnswer
	require.NoError(w.t, json.Unmarshal([]byte(got.body), &a))
	return a
}

func TestAutobuildSignatures(t *testing.T) {
	w := newWorld(t)
	w.shop("")
	body := pushBody("refs/heads/main", sha, "index.html")
	good := sign(body)
	bad := sign(body + " ")
	bitbucket := `{"push":{"changes":[{"new":{"type":"branch","name":"main","target":{"hash":"` + sha + `"}}}]},"repository":{"links":{"html":{"href":"` + repository + `"}}}}`
	gitlab := `{"ref":"refs/heads/main","after":"` + sha + `","commits":[],"project":{"git_http_url":"` + repository + `"}}`
	form := "payload=" + url.QueryEscape(body)
	const formType = "application/x-www-form-urlencoded"
	cases := []struct {
		name, body string
		status     int
		code       string
		headers    []string
	}{
		{"no signature header: the provider is not known", body, 400, "UNKNOWN_GIT_PROVIDER", nil},
		{"only GitHub's SHA-1 header: the provider is not known", body, 400, "UNKNOWN_GIT_PROVIDER", []string{"X-Hub-Signature", "sha1=" + mac(sha1.New, body, secret)}},
		{"the document's header", body, 200, "", []string{"X-Signature-256", "sha256=" + good}},
		{"the document's header in capitals", body, 200, "", []string{"X-Signature-256", "sha256=" + strings.ToUpper(good)}},
		{"the document's header without its prefix", body, 401, "UNAUTHORIZED", []string{"X-Signature-256", good}},
		{"the document's header, wrong", body, 401, "UNAUTHORIZED", []string{"X-Signature-256", "sha256=" + bad}},
		{"the document's header, another secret", body, 401, "UNAUTHORIZED", []string{"X-Signature-256", "sha256=" + mac(sha256.New, body, "other")}},
		{"the document's header, empty hex", body, 401, "UNAUTHORIZED", []string{"X-Signature-256", "sha256="}},
		{"the document's header, cut short", body, 401, "UNAUTHORIZED", []string{"X-Signature-256", "sha256=" + good[:32]}},
		{"the document's header, no hex", body, 401, "UNAUTHORIZED", []string{"X-Signature-256", "sha256=zz"}},
		{"Gitea's header", body, 200, "", []string{"X-Gitea-Signature", good}},
		{"Gitea's header with a prefix", body, 401, "UNAUTHORIZED", []string{"X-Gitea-Signature", "sha256=" + good}},
		{"GitHub's header", body, 200, "", []string{"X-Hub-Signature-256", "sha256=" + good}},
		{"GitHub's header, empty hex", body, 401, "UNAUTHORIZED", []string{"X-Hub-Signature-256", "sha256="}},
		{"Gogs's header", body, 200, "", []string{"X-Gogs-Signature", good}},
		{"every header of one delivery", body, 200, "", []string{"X-Signature-256", "sha256=" + good, "X-Gitea-Signature", good, "X-Hub-Signature-256", "sha256=" + good, "X-Gogs-Signature", good, "X-Hub-Signature", "sha1=" + mac(sha1.New, body, secret)}},
		{"a good first header and a bad Gitea one", body, 401, "UNAUTHORIZED", []string{"X-Signature-256", "sha256=" + good, "X-Gitea-Signature", bad}},
		{"a good first header and a bad GitHub one", body, 401, "UNAUTHORIZED", []string{"X-Signature-256", "sha256=" + good, "X-Hub-Signature-256", "sha256=" + bad}},
		{"a good GitHub header and a bad SHA-1", body, 401, "UNAUTHORIZED", []string{"X-Hub-Signature-256", "sha256=" + good, "X-Hub-Signature", "sha1=" + mac(sha1.New, body, "other")}},
		{"a good GitHub header and a bad Gogs one", body, 401, "UNAUTHORIZED", []string{"X-Hub-Signature-256", "sha256=" + good, "X-Gogs-Signature", bad}},
		{"a good signature and a wrong GitLab token", body, 401, "UNAUTHORIZED", []string{"X-Signature-256", "sha256=" + good, "X-Gitlab-Token", "wrong"}},
		{"a signature over another body", body + "\n", 401, "UNAUTHORIZED", []string{"X-Signature-256", "sha256=" + good}},
		{"GitLab's token", gitlab, 200, "", []string{"X-Gitlab-Token", secret}},
		{"GitLab's token, wrong", gitlab, 401, "UNAUTHORIZED", []string{"X-Gitlab-Token", secret + "x"}},
		{"Bitbucket", bitbucket, 200, "", []string{"X-Event-Key", "repo:push", "X-Hub-Signature", "sha256=" + sign(bitbucket)}},
		{"Bitbucket without its signature", bitbucket, 401, "UNAUTHORIZED", []string{"X-Event-Key", "repo:push"}},
		{"Bitbucket with a SHA-1", bitbucket, 401, "UNAUTHORIZED", []string{"X-Event-Key", "repo:push", "X-Hub-Signature", "sha1=" + mac(sha1.New, bitbucket, secret)}},
		{"Bitbucket, wrong", bitbucket, 401, "UNAUTHORIZED", []string{"X-Event-Key", "repo:push", "X-Hub-Signature", "sha256=" + bad}},
		{"Gitea's form, signed over the decoded payload", form, 200, "", []string{"X-Gitea-Signature", good, "Content-Type", formType}},
		{"Gitea's form, signed over the raw body", form, 401, "UNAUTHORIZED", []string{"X-Gitea-Signature", sign(form), "Content-Type", formType}},
		{"GitHub's form, signed over the raw body", form, 200, "", []string{"X-Hub-Signature-256", "sha256=" + sign(form), "Content-Type", formType + "; charset=utf-8"}},
		{"a form without payload", "a=b", 400, "BAD_REQUEST", []string{"X-Gitea-Signature", sign("a=b"), "Content-Type", formType}},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			before := len(w.list(flowclient.KindWorkflowRun))
			got := w.deliver(c.body, c.headers...)
			assert.Equal(t, c.status, got.status, got.body)
			after := len(w.list(flowclient.KindWorkflowRun))
			if c.status == 200 {
				assert.Equal(t, before+1, after)
				return
			}
			assert.Contains(t, got.body, `"code":"`+c.code+`"`)
			assert.NotContains(t, got.body, secret)
			assert.Equal(t, before, after)
		})
	}
}

func TestAutobuildRefusesWithoutASecret(t *testing.T) {
	_, err := controlplane.New(t.Context(), controlplane.Config{Path: filepath.Join(t.TempDir(), "x.db"), Token: token, Builder: newBuilder(), Runtime: newRuntime()})
	require.ErrorContains(t, err, "WebhookSecret")
}

func TestAutobuildRefusesMalformedBodiesAndChangesNothing(t *testing.T) {
	w := newWorld(t)
	w.shop("")
	for name, c := range map[string]struct{ body, says string }{
		"an empty body":            {"", "body"},
		"no JSON":                  {"hello", "JSON"},
		"a list":                   {"[]", "object"},
		"no ref and no request":    {`{"after":"` + sha + `","repository":{"clone_url":"` + repository + `"}}`, "ref"},
		"a ref that is a number":   {`{"ref":7,"repository":{"clone_url":"` + repository + `"}}`, "ref"},
		"no repository":            {`{"ref":"refs/heads/main","after":"` + sha + `"}`, "repository.clone_url"},
		"a commit that is none":    {pushBody("refs/heads/main", "--upload-pack=x"), "after"},
		"a commit of six digits":   {pushBody("refs/heads/main", "abcdef"), "after"},
		"commits that are no list": {`{"ref":"refs/heads/main","commits":{},"repository":{"clone_url":"` + repository + `"}}`, "commits"},
	} {
		t.Run(name, func(t *testing.T) {
			got := w.deliver(c.body, "X-Signature-256", "sha256="+sign(c.body))
			assert.Equal(t, 400, got.status, got.body)
			assert.Contains(t, got.body, c.says)
		})
	}
	huge := pushBody("refs/heads/main", sha, strings.Repeat("a", 1<<20))
	assert.Equal(t, 413, w.deliver(huge, "X-Signature-256", "sha256="+sign(huge)).status)
	assert.Empty(t, w.list(flowclient.KindWorkflowRun))
}

func TestAutobuildStartsOneRunPerMatchingComponent(t *testing.T) {
	w := newWorld(t)
	w.create(flowclient.KindProject, "shop", `{}`)
	for name, more := range map[string]string{
		"whole": ``, "empty": `,"appPath":""`, "web": `,"appPath":"services/web"`, "slashed": `,"appPath":"/services/web/"`,
		"root": `,"appPath":"/"`, "dot": `,"appPath":"."`, "dotted": `,"appPath":"./services/web"`, "sibling": `,"appPath":"services/we"`,
	} {
		w.component(name, more)
	}
	for name, spec := range map[string]string{
		"manual":   `"autoBuild":false,"repository":{"url":"` + repository + `","revision":{"branch":"main"}}`,
		"branch":   `"autoBuild":true,"repository":{"url":"` + repository + `","revision":{"branch":"next"}}`,
		"other":    `"autoBuild":true,"repository":{"url":"http://127.0.0.1:3001/platform/other.git","revision":{"branch":"main"}}`,
		"upper":    `"autoBuild":true,"appPath":"nothing","repository":{"url":"HTTP://127.0.0.1:3001/Platform/Shop"}`,
		"unsource": `"autoBuild":true`,
	} {
		w.create(flowclient.KindComponent, name, `{"owner":{"projectName":"shop"},"componentType":{"kind":"ClusterComponentType","name":"deployment/static-site"},`+spec+`}`)
	}
	cases := []struct {
		name, body string
		want       string
	}{
		{"a file of one component", pushBody("refs/heads/main", sha, "services/web/main.txt"), "empty slashed web whole"},
		{"the directory itself, as a submodule is", pushBody("refs/heads/main", sha, "services/web"), "empty slashed web whole"},
		{"a file elsewhere", pushBody("refs/heads/main", sha, "README.md"), "empty whole"},
		{"no files at all", pushBody("refs/heads/main", sha), "dot dotted empty root sibling slashed upper web whole"},
		{"another branch", pushBody("refs/heads/next", sha), "branch"},
		{"a branch that nobody follows", pushBody("refs/heads/feature", sha), ""},
		{"a tag", pushBody("refs/tags/v1", sha), ""},
		{"a deleted branch", pushBody("refs/heads/main", zero), ""},
		{"a deleted branch, in Gitea's delete event", `{"ref":"main","ref_type":"branch","repository":{"clone_url":"` + repository + `"}}`, ""},
		{"the same repository over ssh, which means https", strings.ReplaceAll(pushBody("refs/heads/main", sha, "x"), repository, "ssh://git@127.0.0.1:2222/platform/shop.git"), ""},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			before := len(w.list(flowclient.KindWorkflowRun))
			got := w.accepted(c.body)
			assert.True(t, got.Success)
			assert.NotNil(t, got.AffectedComponents, "a list, even when empty")
			names := []string{}
			for _, n := range got.AffectedComponents {
				names = append(names, strings.TrimPrefix(n, "default/"))
			}
			assert.Equal(t, c.want, strings.Join(names, " "))
			assert.Equal(t, len(names), got.TriggeredBuilds)
			assert.Equal(t, before+len(names), len(w.list(flowclient.KindWorkflowRun)))
		})
	}
}

func TestAutobuildFoldsRepositoryAddresses(t *testing.T) {
	w := newWorld(t)
	w.create(flowclient.KindProject, "shop", `{}`)
	w.create(flowclient.KindComponent, "web", `{"owner":{"projectName":"shop"},"componentType":{"kind":"ClusterComponentType","name":"deployment/static-site"},
		"autoBuild":true,"repository":{"url":"git@example.com:Team/Shop.git"}}`)
	for address, want := range map[string]int{
		"https://example.com/team/shop": 1, "https://example.com/team/shop.git": 1, "https://example.com/team/shop/": 1, "https://user:pw@example.com/team/shop.git": 1,
		"ssh://git@example.com:22/team/shop.git": 1, "git@example.com:team/shop": 1, "https://example.com/team/shop2": 0, "https://example.org/team/shop": 0, "http://example.com/team/shop": 0,
	} {
		got := w.accepted(strings.ReplaceAll(pushBody("refs/heads/main", sha, "x"), repository, address))
		assert.Equal(t, want, got.TriggeredBuilds, address)
	}
}

func TestAutobuildRunsCarryWhatTheyBuild(t *testing.T) {
	w := newWorld(t)
	w.create(flowclient.KindProject, "shop", `{}`)
	_, err := w.client.Create(t.Context(), flowclient.Object{
		Kind:     flowclient.KindComponent,
		Metadata: flowclient.Metadata{Name: "shop-web", Labels: map[string]string{flowclient.LabelWalkthrough: "true"}},
		Spec: json.RawMessage(`{"owner":{"projectName":"shop"},"componentType":{"kind":"ClusterComponentType","name":"deployment/static-site"},"autoBuild":true,
			"repository":{"url":"` + repository + `","secretRef":"s","allowInsecureAuth":true},"imageName":"web","workloadPath":"workload.yaml"}`),
	})
	require.NoError(t, err)
	w.accepted(pushBody("refs/heads/main", sha, "x"))
	runs := w.list(flowclient.KindWorkflowRun)
	require.Len(t, runs, 1)
	assert.Regexp(t, `^shop-web-run-[0-9a-f]{8}$`, runs[0].Metadata.Name)
	assert.Equal(t, map[string]string{
		flowclient.LabelProject: "shop", flowclient.LabelComponent: "shop-web", flowclient.LabelCommit: sha, flowclient.LabelWalkthrough: "true",
	}, runs[0].Metadata.Labels)
	require.Eventually(t, func() bool { return len(w.builder.builds()) == 1 }, soon, interval)
	b := w.builder.builds()[runs[0].Metadata.Name]
	assert.Equal(t, "shop", b.Project)
	assert.Equal(t, "shop-web", b.Component)
	assert.Equal(t, sha, b.Params.Repository.Revision.Commit)
	assert.Equal(t, repository, b.Params.Repository.URL)
	assert.True(t, b.Params.Repository.AllowInsecureAuth)
	assert.Equal(t, "web", b.Params.ImageName)
	assert.Equal(t, "#main", b.Params.ModuleRef, "the workflow's default")
}

func TestAutobuildBuildsEverythingForAPullRequestPayloadAndWarns(t *testing.T) {
	w := newWorld(t)
	w.create(flowclient.KindProject, "shop", `{}`)
	w.component("one", `,"appPath":"a"`)
	w.component("two", `,"appPath":"b"`)
	got := w.accepted(`{"action":"opened","number":1,"pull_request":{"head":{"sha":"` + sha + `"}},"repository":{"clone_url":"` + repository + `"}}`)
	assert.Equal(t, []string{"default/one", "default/two"}, got.AffectedComponents)
	assert.Contains(t, got.Message, "warning")
	assert.Contains(t, got.Message, "pull-request")
	for _, run := range w.list(flowclient.KindWorkflowRun) {
		assert.NotContains(t, string(run.Spec), sha, "the head of the component's own branch is built")
	}
}

func TestAutobuildOfMoreCommitsThanThePayloadNames(t *testing.T) {
	body := strings.Replace(pushBody("refs/heads/main", sha, "elsewhere.txt"), `"total_commits":1`, `"total_commits":8`, 1)
	cases := []struct {
		name    string
		touched func(context.Context, string, string, string) ([]string, error)
		want    int
	}{
		{"nobody to ask: every component is built", nil, 1},
		{"the repository says what changed, and it is the component's", func(_ context.Context, repo, before, after string) ([]string, error) {
			if repo != repository || before != strings.Repeat("b", 40) || after != sha {
				return nil, fmt.Errorf("asked for %s %s..%s", repo, before, after)
			}
			return []string{"elsewhere.txt", "services/web/x"}, nil
		}, 1},
		{"the repository says what changed, and it is not the component's", func(context.Context, string, string, string) ([]string, error) {
			return []string{"elsewhere.txt"}, nil
		}, 0},
		{"the repository cannot be asked: every component is built", func(context.Context, string, string, string) ([]string, error) {
			return nil, errors.New("connection refused")
		}, 1},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			w := newWorld(t, func(cfg *controlplane.Config) { cfg.Touched = c.touched })
			w.shop(`,"appPath":"services/web"`)
			assert.Equal(t, c.want, w.accepted(body).TriggeredBuilds)
		})
	}
}

func TestAutobuildRedeliveryStartsNothing(t *testing.T) {
	for _, header := range []string{"X-Gitea-Delivery", "X-GitHub-Delivery", "X-Gogs-Delivery"} {
		t.Run(header, func(t *testing.T) {
			w := newWorld(t)
			w.shop("")
			body := pushBody("refs/heads/main", sha, "x")
			first := w.accepted(body, header, "delivery-1")
			assert.Equal(t, 1, first.TriggeredBuilds)
			assert.Equal(t, first, w.accepted(body, header, "delivery-1"))
			assert.Len(t, w.list(flowclient.KindWorkflowRun), 1)

			w.stop()
			w.start()
			assert.Equal(t, first, w.accepted(body, header, "delivery-1"), "also after a restart")
			assert.Len(t, w.list(flowclient.KindWorkflowRun), 1)
			w.accepted(body, header, "delivery-2")
			assert.Len(t, w.list(flowclient.KindWorkflowRun), 2, "another delivery is another build")
		})
	}
}

func TestAutobuildAnswersConcurrentRedeliveriesOnce(t *testing.T) {
	w := newWorld(t)
	w.shop("")
	body := pushBody("refs/heads/main", sha, "x")
	const many = 6
	answers := make(chan answer, many)
	for range many {
		go func() {
			req, err := http.NewRequest(http.MethodPost, "http://controlplane"+intake, bytes.NewReader([]byte(body)))
			if err == nil {
				req.Header.Set("X-Signature-256", "sha256="+sign(body))
				req.Header.Set("X-Gitea-Delivery", "one")
				answers <- w.send(req)
			}
		}()
	}
	first := <-answers
	for range many - 1 {
		assert.Equal(t, first.body, (<-answers).body)
	}
	assert.Len(t, w.list(flowclient.KindWorkflowRun), 1)
}

// recording is a real delivery of Gitea's.
type recording struct {
	Headers [][2]string
}

func TestAutobuildReadsRealDeliveries(t *testing.T) {
	dir := filepath.Join("..", "..", "fixtures", "webhooks")
	cases := map[string]struct {
		status int
		builds int
		says   string
	}{
		"push":                       {200, 1, "processed"},
		"push_8_commits":             {200, 1, "processed"},
		"push_form_encoded":          {200, 0, "processed"},
		"push_hook_test":             {200, 1, "processed"},
		"push_no_secret":             {401, 0, "X-Gitea-Signature"},
		"push_tag":                   {200, 0, "not a branch"},
		"push_new_branch":            {200, 0, "processed"},
		"create_branch":              {200, 0, "nothing to build"},
		"delete_branch":              {200, 0, "nothing to build"},
		"pull_request_opened":        {200, 1, "warning"},
		"pull_request_synchronized":  {200, 1, "warning"},
		"pull_request_closed_merged": {200, 1, "warning"},
		"status":                     {400, 0, "ref"},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			raw, err := os.ReadFile(filepath.Join(dir, name+".raw"))
			require.NoError(t, err)
			described, err := os.ReadFile(filepath.Join(dir, name+".json"))
			require.NoError(t, err)
			var r recording
			require.NoError(t, json.Unmarshal(described, &r))
			w := newWorld(t)
			w.create(flowclient.KindProject, "demo", `{}`)
			w.create(flowclient.KindComponent, "demo-web", `{"owner":{"projectName":"demo"},"componentType":{"kind":"ClusterComponentType","name":"deployment/static-site"},
				"autoBuild":true,"appPath":"services/web","repository":{"url":"http://127.0.0.1:13000/platform/demo.git","revision":{"branch":"main"}}}`)
			got := w.recorded(raw, r)
			assert.Equal(t, c.status, got.status, got.body)
			assert.Contains(t, got.body, c.says)
			assert.Len(t, w.list(flowclient.KindWorkflowRun), c.builds)
		})
	}
}

// recorded sends a recording as it came, empty headers included.
func (w *world) recorded(raw []byte, r recording) answer {
	w.t.Helper()
	req, err := http.NewRequestWithContext(w.t.Context(), http.MethodPost, "http://controlplane"+intake, bytes.NewReader(raw))
	require.NoError(w.t, err)
	for _, h := range r.Headers {
		if h[0] != "Host" && h[0] != "Content-Length" && h[0] != "Accept-Encoding" {
			req.Header.Add(h[0], h[1])
		}
	}
	return w.send(req)
}
