package flow

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

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
	{"pull request without branch", write("POST", "/git/pr", `{"project":"shop","title":"x","files":{"a":"b"}}`)},
	{"pull request without title", write("POST", "/git/pr", `{"project":"shop","branch":"x","files":{"a":"b"}}`)},
	{"pull request without files", write("POST", "/git/pr", `{"project":"shop","branch":"x","title":"x"}`)},
	{"pull request with a label", write("POST", "/git/pr", `{"project":"shop","branch":"x","title":"x","files":{"a":"b"},"label":"promote"}`)},
	{"merge without number", write("POST", "/git/merge", `{"project":"shop"}`)},
	{"merge of a number that is a text", write("POST", "/git/merge", `{"project":"shop","number":"7"}`)},
	{"merge of half a pull request", write("POST", "/git/merge", `{"project":"shop","number":7.5}`)},
	{"merge without project", write("POST", "/git/merge", `{"number":7}`)},
	{"reviews of a project", write("GET", "/reviews?project=shop", "")},
	{"build with a parameter", write("GET", "/builds/run?stage=test", "")},
	{"log without a number of lines", write("GET", "/builds/run/log?stage=test", "")},
	{"log of many lines", write("GET", "/builds/run/log?last=forty", "")},
	{"evidence of no kind", write("GET", "/evidence/release/x", "")},
	{"evidence of a build with a parameter", write("GET", "/evidence/build/run?trace_id=x", "")},
	{"evidence of no trace", write("GET", "/evidence/flow", "")},
	{"evidence of a trace in capitals", write("GET", "/evidence/flow?trace_id=4BF92F3577B34DA6A3CE929D0E0E4736", "")},
	{"evidence of half a trace", write("GET", "/evidence/flow?trace_id=4bf92f35", "")},
	{"diff without project", write("GET", "/diff", "")},
	{"diff with another parameter", write("GET", "/diff?project=shop&from=x", "")},
	{"walkthrough with a step", write("POST", "/walkthroughs", `{"template":"static","step":"push"}`)},
	{"walkthrough of no number", write("PUT", "/walkthroughs/static-1", `{"step":"push"}`)},
	{"walkthrough ended at noon", write("PUT", "/walkthroughs/1", `{"ended":"noon"}`)},
	{"walkthrough with a state that is no base64", write("PUT", "/walkthroughs/1", `{"state":"%"}`)},
	{"walkthrough of another project", write("PUT", "/walkthroughs/1", `{"project":"shop"}`)},
	{"sync without ref", write("POST", "/sync", `{"repo":"platform/shop"}`)},
	{"sync with a key of two lines", write("POST", "/sync", `{"repo":"platform/shop","ref":"main"}`).with(wire.HeaderKey, "a\nb")},
	{"promote without project", write("POST", "/promote", `{"component":"shop-web"}`)},
	{"promote with a field in other case", write("POST", "/promote", `{"Project":"shop"}`)},
	{"promote with a field twice", write("POST", "/promote", `{"project":"shop","project":"blog"}`)},
	{"promote with yes for force", write("POST", "/promote", `{"project":"shop","force":"yes"}`)},
	{"promote with what would lift a lock", write("POST", "/promote", `{"project":"shop","unlock":true}`)},
	{"promote with a parameter", write("POST", "/promote?project=shop", `{"project":"shop"}`)},
	{"promote as a list", write("POST", "/promote", `[{"project":"shop"}]`)},
	{"promote cut short", write("POST", "/promote", `{"project":"sh`)},
	{"promote followed by more", write("POST", "/promote", `{"project":"shop"} {"project":"blog"}`)},
	{"promote with text that is not UTF-8", write("POST", "/promote", "{\"project\":\"sh\xffop\"}")},
	{"promote with a key of two lines", write("POST", "/promote", `{"project":"shop"}`).with(wire.HeaderKey, "a\nb")},
	{"promote with a long key", write("POST", "/promote", `{"project":"shop"}`).with(wire.HeaderKey, strings.Repeat("k", 301))},
	{"promote with a long actor", write("POST", "/promote", `{"project":"shop"}`).with(wire.HeaderActor, strings.Repeat("a", 201))},
	{"promote with a link that is none", write("POST", "/promote", `{"project":"shop"}`).with(wire.HeaderLink, "javascript:alert(1)")},
	{"window without project", write("GET", "/window", "")},
	{"window of two projects", write("GET", "/window?project=shop&project=blog", "")},
	{"window with another parameter", write("GET", "/window?project=shop&at=noon", "")},
	{"window with a malformed query", write("GET", "/window?project=%zz", "")},
	{"undo without project", write("POST", "/undo", `{}`)},
	{"undo of a component", write("POST", "/undo", `{"project":"shop","component":"shop-web"}`)},
	{"undo perhaps", write("POST", "/undo", `{"project":"shop","dryRun":"perhaps"}`)},
	{"why without project", write("GET", "/why?component=shop-web", "")},
	{"why at another instant", write("GET", "/why?project=shop&at=noon", "")},
	{"a decision with a parameter", write("GET", "/evidence/decision/x?project=shop", "")},
	{"locks older than two weeks", write("GET", "/locks?olderThan=14d", "")},
	{"locks younger than none", write("GET", "/locks?olderThan=-1h", "")},
	{"unlock perhaps", write("DELETE", "/locks?component=shop-web&commit=1a2b3c4&dryRun=perhaps", "")},
	{"lock without reason", write("POST", "/locks", `{"component":"shop-web","commit":"1a2b3c4"}`)},
	{"freeze without an end", write("POST", "/freezes", `{"project":"shop","reason":"the fair"}`)},
	{"freeze without reason", write("POST", "/freezes", `{"project":"shop","until":"2026-03-06T12:00:00Z"}`)},
	{"freeze until friday", write("POST", "/freezes", `{"until":"friday","reason":"the fair"}`)},
	{"freeze with a number", write("POST", "/freezes", `{"id":3,"until":"2026-03-06T12:00:00Z","reason":"the fair"}`)},
	{"freezes of a project", write("GET", "/freezes?project=shop", "")},
	{"thaw without number", write("DELETE", "/freezes", "")},
	{"thaw of no number", write("DELETE", "/freezes?id=three", "")},
	{"thaw of a project", write("DELETE", "/freezes?project=shop", "")},
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
		post := tc.call.method == "POST" || tc.call.method == "PUT"
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
			{"the wrong method", false, func(c call) call { c.method = "PATCH"; return c }, 405, []string{"PATCH", "use "}},
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

func TestAClientThatIsStillSendingATooLargeBodyReadsWhy(t *testing.T) {
	surface := httptest.NewServer(newSurface(t).Handler())
	defer surface.Close()
	body := `{"project":"` + strings.Repeat("x", 8<<20) + `"}`
	for name, set := range map[string]func(*http.Request){
		"sends at once":            func(*http.Request) {},
		"sends in pieces":          func(r *http.Request) { r.ContentLength = -1 },
		"waits to be told to send": func(r *http.Request) { r.Header.Set("Expect", "100-continue") },
	} {
		t.Run(name, func(t *testing.T) {
			r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, surface.URL+wire.PromotePath, io.NopCloser(strings.NewReader(body)))
			require.NoError(t, err)
			r.ContentLength = int64(len(body))
			r.Header.Set("Authorization", "Bearer "+testToken)
			set(r)
			client := &http.Client{Transport: &http.Transport{ExpectContinueTimeout: time.Minute, DisableKeepAlives: true}}
			resp, err := client.Do(r)
			require.NoError(t, err)
			defer resp.Body.Close()
			assert.Contains(t, text(t, resp), "larger than 1048576 bytes")
			assert.Equal(t, http.StatusRequestEntityTooLarge, resp.StatusCode)
		})
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
