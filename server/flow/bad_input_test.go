package flow

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"

	"platform.dev/platform/flowclient/wire"
)

// bad has what no endpoint takes, beyond what every endpoint is asked below.
var bad = []struct {
	name string
	call call
}{
	{"scaffold without project", write("POST", "/projects/scaffold", `{"template":"static"}`)},
	{"scaffold with a number for a name", write("POST", "/projects/scaffold", `{"template":"static","project":7}`)},
	{"scaffold with yes for a truth", write("POST", "/projects/scaffold", `{"template":"static","project":"shop","walkthrough":"yes"}`)},
	{"teardown without scope", write("POST", "/projects/teardown", `{"scope":" "}`)},
	{"commit without files", write("POST", "/git/commit", `{"project":"shop","message":"x"}`)},
	{"commit with files as a list", write("POST", "/git/commit", `{"project":"shop","message":"x","files":["a"]}`)},
	{"commit with a file that is no text", write("POST", "/git/commit", `{"project":"shop","message":"x","files":{"a":1}}`)},
	{"promote without project", write("POST", "/promote", `{"component":"shop-web"}`)},
	{"promote with a field in other case", write("POST", "/promote", `{"Project":"shop"}`)},
	{"promote with a field twice", write("POST", "/promote", `{"project":"shop","project":"blog"}`)},
	{"promote with force", write("POST", "/promote", `{"project":"shop","force":true}`)},
	{"promote with a parameter", write("POST", "/promote?project=shop", `{"project":"shop"}`)},
	{"promote as a list", write("POST", "/promote", `[{"project":"shop"}]`)},
	{"promote cut short", write("POST", "/promote", `{"project":"sh`)},
	{"promote followed by more", write("POST", "/promote", `{"project":"shop"} {"project":"blog"}`)},
	{"promote with text that is not UTF-8", write("POST", "/promote", "{\"project\":\"sh\xffop\"}")},
	{"promote with a key of two lines", write("POST", "/promote", `{"project":"shop"}`).with(wire.HeaderKey, "a\nb")},
	{"promote with a long key", write("POST", "/promote", `{"project":"shop"}`).with(wire.HeaderKey, strings.Repeat("k", 201))},
	{"promote with a long actor", write("POST", "/promote", `{"project":"shop"}`).with(wire.HeaderActor, strings.Repeat("a", 101))},
	{"promote with a link that is none", write("POST", "/promote", `{"project":"shop"}`).with(wire.HeaderLink, "javascript:alert(1)")},
	{"window without project", write("GET", "/window", "")},
	{"window of two projects", write("GET", "/window?project=shop&project=blog", "")},
	{"window with another parameter", write("GET", "/window?project=shop&at=noon", "")},
	{"window with a malformed query", write("GET", "/window?project=%zz", "")},
	{"lock without reason", write("POST", "/locks", `{"component":"shop-web","commit":"1a2b3c4"}`)},
	{"unlock without commit", write("DELETE", "/locks?component=shop-web", "")},
	{"unlock with a reason", write("DELETE", "/locks?component=shop-web&commit=1a2b3c4&reason=x", "")},
	{"state with a parameter", write("GET", "/state?project=shop", "")},
	{"an unknown path", write("GET", "/states", "")},
	{"a path with a slash at its end", write("GET", "/state/", "")},
}

func TestBadInputIsNamedAndChangesNothing(t *testing.T) {
	for _, tc := range bad {
		t.Run(tc.name, func(t *testing.T) {
			s := newSurface(t)
			golden(t, "bad-"+strings.ReplaceAll(tc.name, "/", ""), text(t, s.do(tc.call)))
			assert.Empty(t, s.flow.calls)
		})
	}
}

func TestEveryEndpointRefusesTheSameThings(t *testing.T) {
	unknown := `{"colour":"red"}`
	huge := `{"project":"` + strings.Repeat("x", wire.MaxBody) + `"}`
	for _, tc := range good {
		post := tc.call.method == "POST"
		for _, wrong := range []struct {
			name   string
			skip   bool
			change func(call) call
			status int
			says   []string
		}{
			{"no token", false, func(c call) call { c.header = nil; return c }, 401, []string{"Authorization: Bearer"}},
			{"an empty token", false, func(c call) call { return c.with("Authorization", "Bearer ") }, 401, []string{"token"}},
			{"the wrong token", false, func(c call) call { return c.with("Authorization", "Bearer the-token2") }, 401, []string{"token"}},
			{"the token in another scheme", false, func(c call) call { return c.with("Authorization", "Basic the-token") }, 401, []string{"token"}},
			{"the wrong method", false, func(c call) call { c.method = "PUT"; return c }, 405, []string{"PUT", "use "}},
			{"no body", !post, func(c call) call { c.body = ""; return c }, 400, []string{"body", "JSON object"}},
			{"a malformed body", !post, func(c call) call { c.body = `{"project":`; return c }, 400, []string{"body", "{\\\"project\\\":"}},
			{"an unknown field", !post, func(c call) call { c.body = unknown; return c }, 400, []string{"colour", "red", "fields are"}},
			{"a large body", !post, func(c call) call { c.body = huge; return c }, 413, []string{"larger than 1048576 bytes"}},
		} {
			if wrong.skip {
				continue
			}
			t.Run(tc.name+" with "+wrong.name, func(t *testing.T) {
				s := newSurface(t)
				resp := s.do(wrong.change(tc.call))
				got := text(t, resp)
				assert.Equal(t, wrong.status, resp.StatusCode, got)
				for _, part := range wrong.says {
					assert.Contains(t, got, part)
				}
				if wrong.status == 405 {
					assert.NotEmpty(t, resp.Header.Get("Allow"))
				}
				assert.Empty(t, s.flow.calls)
				assert.NotContains(t, got, testToken)
			})
		}
	}
}

func TestWithoutTheTokenNobodyLearnsWhichPathsThereAre(t *testing.T) {
	s := newSurface(t)
	known := text(t, s.do(call{method: "GET", target: "/state"}))
	assert.Equal(t, known, text(t, s.do(call{method: "GET", target: "/nothing-here"})))
	assert.Equal(t, known, text(t, s.do(call{method: "PUT", target: "/state"})))
	golden(t, "bad-no-token", known)
	wrongMethod := text(t, s.do(write("PATCH", "/locks", "")))
	golden(t, "bad-method", wrongMethod)
}
