package server

import (
	"encoding/json"
	"io"
	"net/http"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// answer is what a surface said.
type answer struct {
	status int
	body   string
	header http.Header
}

// ask sends a request to a surface as anybody on this machine could.
func ask(t *testing.T, method, url, host, token, body string) answer {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), method, url, strings.NewReader(body))
	require.NoError(t, err)
	if host != "" {
		req.Host = host
	}
	if token != "" {
		req.Header.Set("Authorization", "Bearer "+token)
	}
	resp, err := http.DefaultTransport.RoundTrip(req)
	require.NoError(t, err)
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	require.NoError(t, err)
	return answer{resp.StatusCode, string(text), resp.Header}
}

func TestEverySurfaceHasItsPlaceInSurfacesJSONAndAnswersHealthz(t *testing.T) {
	p := start(t, config(t, t.TempDir()))
	text, err := os.ReadFile(p.Path("surfaces.json"))
	require.NoError(t, err)
	urls := map[string]string{}
	require.NoError(t, json.Unmarshal(text, &urls))
	for _, name := range strings.Fields("flow api git chat gateway registry workflow observer") {
		require.Contains(t, urls, name)
		got := ask(t, http.MethodGet, urls[name]+"/healthz", "", "", "")
		assert.Equal(t, http.StatusOK, got.status, "%s: %s", name, got.body)
	}
	assert.Len(t, urls, 8)
}

func TestEverySurfaceRefusesWhatItShouldNotServe(t *testing.T) {
	p := start(t, config(t, t.TempDir()))
	url := map[string]string{}
	for _, s := range p.Surfaces() {
		url[s.Name] = s.URL
	}
	big := `{"project":"` + strings.Repeat("x", 2<<20) + `"}`
	for _, c := range []struct {
		name, method, url, host, token, body string
		status                               int
		says                                 string
	}{
		{"an unknown host at the flow controller", "GET", url["flow"] + "/delivery", "evil.example", p.rooms.tokens.flow, "", 421, `"evil.example\" is not served here`},
		{"an unknown host at the control plane", "GET", url["api"] + "/health", "evil.example", "", "", 421, "evil.example"},
		{"an unknown host at the git server", "GET", url["git"] + "/", "evil.example", "", "", 421, "evil.example"},
		{"an unknown host at the chat", "GET", url["chat"] + "/", "evil.example", "", "", 421, "evil.example"},
		{"an unknown host at the registry", "GET", url["registry"] + "/v2/_catalog", "evil.example", "", "", 421, "evil.example"},
		{"an unknown host at the workflow engine", "GET", url["workflow"] + "/", "evil.example", "", "", 421, "evil.example"},
		{"the alias of another surface at the flow controller", "GET", url["flow"] + "/delivery", "api.platform.localhost", p.rooms.tokens.flow, "", 421, "api.platform.localhost"},
		{"an application's host at the flow controller", "GET", url["flow"] + "/delivery", "staging-shop." + Domain, p.rooms.tokens.flow, "", 421, "staging-shop"},
		{"an unbound host at the gateway", "GET", url["gateway"] + "/", "staging-nobody." + Domain, "", "", 404, "staging-nobody"},
		{"no token at the flow controller", "GET", url["flow"] + "/delivery", "", "", "", 401, "token"},
		{"a wrong token at the flow controller", "POST", url["flow"] + "/promote", "", "wrong", `{"project":"shop"}`, 401, "token"},
		{"no token at the control plane", "GET", url["api"] + "/api/v1/namespaces/default/projects", "", "", "", 401, "MISSING_TOKEN"},
		{"a wrong token at the control plane", "POST", url["api"] + "/api/v1/namespaces/default/projects", "", "wrong", `{}`, 401, "INVALID_TOKEN"},
		{"no token at the git server's API", "POST", url["git"] + "/api/v1/orgs/platform/repos", "", "", `{"name":"x"}`, 401, ""},
		{"no key at the chat", "GET", url["chat"] + "/api/v1/users", "", "", "", 401, ""},
		{"a push of an image without a token", "POST", url["registry"] + "/v2/shop/web/blobs/uploads/", "", "", "", 401, ""},
		{"a malformed promotion", "POST", url["flow"] + "/promote", "", p.rooms.tokens.flow, `{"project":`, 400, ""},
		{"an unknown field of a promotion", "POST", url["flow"] + "/promote", "", p.rooms.tokens.flow, `{"projekt":"shop"}`, 400, "projekt"},
		{"a promotion of an unknown project", "POST", url["flow"] + "/promote", "", p.rooms.tokens.flow, `{"project":"nobody"}`, 404, "nobody"},
		{"an oversized promotion", "POST", url["flow"] + "/promote", "", p.rooms.tokens.flow, big, 413, ""},
		{"an unsigned delivery", "POST", url["api"] + "/api/v1alpha1/autobuild", "", "", `{}`, 400, "UNKNOWN_GIT_PROVIDER"},
		{"an unknown path of the flow controller", "GET", url["flow"] + "/nothing", "", p.rooms.tokens.flow, "", 404, "/nothing"},
		{"an unknown run", "GET", url["workflow"] + "/runs/nobody", "", "", "", 404, "nobody"},
	} {
		t.Run(c.name, func(t *testing.T) {
			got := ask(t, c.method, c.url, c.host, c.token, c.body)
			assert.Equal(t, c.status, got.status, got.body)
			assert.Contains(t, got.body, c.says)
		})
	}
	d, err := p.Flow().Delivery(t.Context())
	require.NoError(t, err)
	assert.Empty(t, d.Components, "nothing was changed")
}

// The interface document's callers name the surface in the Host header: /sync by
// the host-side alias, the control plane by the API's host.
func TestASurfaceAnswersToItsAlias(t *testing.T) {
	p := start(t, config(t, t.TempDir()))
	for _, s := range p.Surfaces() {
		if s.Name == "gateway" {
			continue // its Hosts are the applications'
		}
		got := ask(t, http.MethodGet, s.URL+"/healthz", s.Name+".platform.localhost", "", "")
		assert.Equal(t, http.StatusOK, got.status, s.Name)
	}
	synced := ask(t, http.MethodPost, p.ports.URL("flow")+"/sync", "flow.platform.localhost", p.secret("flow.token"), `{"repo":"platform/nobody","ref":"main"}`)
	assert.Equal(t, http.StatusNotFound, synced.status, synced.body)
	assert.Contains(t, synced.body, "platform/nobody")
}

func TestAWriteFromAnotherOriginIsRefused(t *testing.T) {
	p := start(t, config(t, t.TempDir()))
	for _, s := range p.Surfaces() {
		if s.Name == "gateway" {
			continue // applications decide for themselves
		}
		req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, s.URL+"/anything", strings.NewReader("x"))
		require.NoError(t, err)
		req.Header.Set("Origin", "https://evil.example")
		req.Header.Set("Sec-Fetch-Site", "cross-site")
		resp, err := http.DefaultTransport.RoundTrip(req)
		require.NoError(t, err)
		require.NoError(t, resp.Body.Close())
		assert.Equal(t, http.StatusForbidden, resp.StatusCode, s.Name)
	}
}
