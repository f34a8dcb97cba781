package flow

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"platform.dev/platform/flowclient"
	"platform.dev/platform/flowclient/wire"
)

// traceID is the id of a trace.
const traceID = "4bf92f3577b34da6a3ce929d0e0e4736"

// good has a request that succeeds for every endpoint, and the call it makes.
var good = []struct {
	name  string
	call  call
	calls string
}{
	{"scaffold", write("POST", "/projects/scaffold", `{"template":"static","project":"shop","walkthrough":true}`),
		`Scaffold {"origin":{"key":"zulip:31","who":"developer"},"template":"static","project":"shop","walkthrough":true}`},
	{"teardown", write("POST", "/projects/teardown", `{"scope":"static"}`),
		`Teardown {"origin":{"key":"zulip:31","who":"developer"},"scope":"static"}`},
	{"commit", write("POST", "/git/commit", `{"project":"shop","message":"Say hello","files":{"index.html":"<h1>hi</h1>"},"delete":["old.html"]}`),
		`Commit {"origin":{"key":"zulip:31","who":"developer"},"project":"shop","message":"Say hello","files":{"index.html":"\u003ch1\u003ehi\u003c/h1\u003e"},"delete":["old.html"]}`},
	{"commit with a trace", write("POST", "/git/commit", `{"project":"shop","message":"Say hello","files":{"a":"b"}}`).with("Traceparent", "00-"+traceID+"-00f067aa0ba902b7-01"),
		`Commit {"origin":{"key":"zulip:31","who":"developer","trace":"00-` + traceID + `-00f067aa0ba902b7-01"},"project":"shop","message":"Say hello","files":{"a":"b"}}`},
	{"pull", write("POST", "/git/pr", `{"project":"shop","branch":"hello","title":"Say hello","body":"For the fair.","files":{"index.html":"hi"},"delete":["old.html"]}`),
		`OpenPull {"origin":{"key":"zulip:31","who":"developer"},"project":"shop","branch":"hello","title":"Say hello","body":"For the fair.","files":{"index.html":"hi"},"delete":["old.html"]}`},
	{"merge", write("POST", "/git/merge", `{"project":"shop","number":7,"head":"`+sha+`"}`),
		`Merge {"origin":{"key":"zulip:31","who":"developer"},"project":"shop","number":7,"head":"` + sha + `"}`},
	{"reviews", write("GET", "/reviews", ""), "Reviews"},
	{"builds", write("GET", "/builds", ""), "Builds"},
	{"build", write("GET", "/builds/shop-web-run-1", ""), `Build "shop-web-run-1"`},
	{"build log", write("GET", "/builds/shop-web-run-1/log?stage=test&last=40", ""), `BuildLog "shop-web-run-1" "test" 40`},
	{"evidence of a build", write("GET", "/evidence/build/shop-web-run-1", ""), `EvidenceOfBuild "shop-web-run-1"`},
	{"evidence of a binding", write("GET", "/evidence/binding/shop-web%2Fproduction", ""), `EvidenceOfBinding "shop-web/production"`},
	{"evidence of a flow", write("GET", "/evidence/flow?trace_id="+traceID, ""), `EvidenceOfFlow "` + traceID + `"`},
	{"dora", write("GET", "/evidence/dora?project=shop&days=7", ""), `Dora "shop" 7`},
	{"audit", write("GET", "/audit?project=shop&component=shop-web&who=sre&kind=lock&limit=2", ""),
		`Audit {"project":"shop","component":"shop-web","who":"sre","kind":"lock","limit":2}`},
	{"diff", write("GET", "/diff?project=shop", ""), `Diff "shop"`},
	{"walkthroughs", write("GET", "/walkthroughs", ""), "Walkthroughs"},
	{"begin a walkthrough", write("POST", "/walkthroughs", `{"template":"static"}`), `BeginWalkthrough "zulip:31" "static" "developer"`},
	{"update a walkthrough", write("PUT", "/walkthroughs/31", `{"topic":"static-31","step":"push","ended":"2026-03-04T12:00:00Z","result":"passed","state":"e30="}`),
		`UpdateWalkthrough {"id":31,"key":"","template":"","project":"","topic":"static-31","who":"","step":"push","started":"0001-01-01T00:00:00Z","ended":"2026-03-04T12:00:00Z","result":"passed","state":"e30="}`},
	{"sync", write("POST", "/sync", `{"repo":"platform/shop","ref":"main"}`),
		`Sync {"origin":{"key":"zulip:31","who":"developer"},"repo":"platform/shop","ref":"main"}`},
	{"passed on delivery", write("POST", "/hooks/git", `{"id":"06ce9e1d","repo":"platform/shop","number":7,"action":"opened"}`),
		`Delivered {"id":"06ce9e1d","repo":"platform/shop","number":7,"action":"opened","at":"2026-03-04T12:00:00Z"}`},
	{"promote", write("POST", "/promote", `{"project":"shop","component":"shop-web","dryRun":true}`),
		`Promote {"origin":{"key":"zulip:31","who":"developer"},"project":"shop","component":"shop-web","dryRun":true}`},
	{"rollback", write("POST", "/promote", `{"project":"shop","rollback":true}`).with("X-Platform-Link", "http://chat.example/31"),
		`Rollback {"origin":{"key":"zulip:31","who":"developer","link":"http://chat.example/31"},"project":"shop"}`},
	{"undo", write("POST", "/undo", `{"project":"shop"}`), `Undo {"origin":{"key":"zulip:31","who":"developer"},"project":"shop"}`},
	{"undo that only tells", write("POST", "/undo", `{"project":"shop","dryRun":true}`), `Undo {"origin":{"key":"zulip:31","who":"developer"},"project":"shop","dryRun":true}`},
	{"undo of one promotion", write("POST", "/undo", `{"project":"shop","intent":"4k2j5mabcdefg"}`), `Undo {"origin":{"key":"zulip:31","who":"developer"},"project":"shop","intent":"4k2j5mabcdefg"}`},
	{"why", write("GET", "/why?project=shop", ""), `Why "shop" ""`},
	{"why of a component", write("GET", "/why?project=shop&component=shop-web", ""), `Why "shop" "shop-web"`},
	{"decision", write("GET", "/evidence/decision/4k2j5mabcdefg", ""), `Replay "4k2j5mabcdefg"`},
	{"decision of a refusal", write("GET", "/evidence/decision/promote%2Fzulip:31%2Frefused", ""), `Replay "promote/zulip:31/refused"`},
	{"delivery", write("GET", "/delivery", ""), "Delivery"},
	{"state", write("GET", "/state", ""), "State"},
	{"window", write("GET", "/window?project=shop", ""), `Window "shop"`},
	{"host", write("GET", "/host", ""), "Host"},
	{"locks", write("GET", "/locks", ""), "Locks"},
	{"old locks", write("GET", "/locks?olderThan=336h", ""), "Locks"},
	{"lock", write("POST", "/locks", `{"component":"shop-web","commit":"1a2b3c4","to":"production","reason":"breaks"}`),
		`SetLock {"origin":{"key":"zulip:31","who":"developer"},"component":"shop-web","commit":"1a2b3c4","to":"production","reason":"breaks"}`},
	{"freezes", write("GET", "/freezes", ""), "Freezes"},
	{"freeze", write("POST", "/freezes", `{"project":"shop","from":"2026-03-04T12:00:00Z","until":"2026-03-06T13:00:00+01:00","reason":"the fair"}`),
		`SetFreeze {"origin":{"key":"zulip:31","who":"developer"},"project":"shop","from":"2026-03-04T12:00:00Z","until":"2026-03-06T13:00:00+01:00","reason":"the fair"}`},
	{"freeze of every project", write("POST", "/freezes", `{"until":"2026-03-06T12:00:00Z","reason":"the fair"}`),
		`SetFreeze {"origin":{"key":"zulip:31","who":"developer"},"until":"2026-03-06T12:00:00Z","reason":"the fair"}`},
	{"thaw", write("DELETE", "/freezes?id=3", ""), `ClearFreeze {"origin":{"key":"zulip:31","who":"developer"},"id":3}`},
	{"unlock", write("DELETE", "/locks?component=shop-web&commit=1a2b3c4&to=production", ""),
		`ClearLock {"origin":{"key":"zulip:31","who":"developer"},"component":"shop-web","commit":"1a2b3c4","to":"production"}`},
	{"unlocking", write("DELETE", "/locks?component=shop-web&commit=1a2b3c4&dryRun=true", ""),
		`Unlocking {"origin":{"key":"zulip:31","who":"developer"},"component":"shop-web","commit":"1a2b3c4"}`},
}

func TestEveryEndpointAsksTheControllerAndAnswersWhatItSays(t *testing.T) {
	for _, tc := range good {
		t.Run(tc.name, func(t *testing.T) {
			s := newSurface(t)
			s.flow.outcome = flowclient.Outcome{Project: "shop", Components: []flowclient.ComponentOutcome{
				{Component: "shop-web", Result: flowclient.Promoted, Sentence: "shop-web runs 1a2b3c4d in production"},
			}}
			golden(t, tc.name, text(t, s.do(tc.call)))
			assert.Equal(t, []string{tc.calls}, s.flow.calls)
		})
	}
	t.Run("every endpoint is here", func(t *testing.T) {
		asked := map[string]bool{}
		for _, tc := range good {
			r := httptest.NewRequest(tc.call.method, tc.call.target, nil)
			if e, ok := find(route(endpoints), r)[tc.call.method]; ok {
				asked[e.method+" "+e.path] = true
			}
		}
		for _, e := range endpoints {
			if e.access == public {
				continue // tells what the surface is, and asks the controller nothing
			}
			assert.True(t, asked[e.method+" "+e.path], "%s %s", e.method, e.path)
		}
	})
}

func TestAPartialPromotionIs207(t *testing.T) {
	s := newSurface(t)
	s.flow.outcome = flowclient.Outcome{Project: "shop", Components: []flowclient.ComponentOutcome{
		{Component: "shop-web", Result: flowclient.Retry, Sentence: "shop-web is not Ready in staging; ask again in a minute"},
	}}
	golden(t, "promote-retry", text(t, s.do(write("POST", "/promote", `{"project":"shop"}`))))
}

func TestErrorsOfTheControllerHaveTheirStatuses(t *testing.T) {
	for _, tc := range []struct {
		name   string
		err    error
		status int
	}{
		{"refusal", &flowclient.Refusal{Sentence: "commit 1a2b3c4d is locked by sre: breaks; clear the lock first", Gate: "lock",
			Gates: []flowclient.Verdict{{Gate: "lock", Component: "shop-web", Sentence: "commit 1a2b3c4d is locked by sre: breaks"}, {Gate: "window", Pass: true, Sentence: "no window"}}}, 409},
		{"invalid", &flowclient.Invalid{Field: "commit", Value: "1a2", Why: "is ambiguous: 1a2b3c4d, 1a2fffff"}, 400},
		{"not found", &flowclient.NotFound{Kind: "project", Name: "shop"}, 404},
		{"upstream", &flowclient.Upstream{Part: "control plane", Err: errors.New("connection refused")}, 502},
		{"stopping", context.Canceled, 503},
	} {
		t.Run(tc.name, func(t *testing.T) {
			s := newSurface(t)
			s.flow.err = tc.err
			resp := s.do(write("POST", "/promote", `{"project":"shop"}`))
			assert.Equal(t, tc.status, resp.StatusCode)
			golden(t, "error-"+tc.name, text(t, resp))
			assert.Empty(t, s.log.String(), "an answered error is not logged")
		})
	}
}

func TestAFaultIsLoggedUnderAnIdAndNotTold(t *testing.T) {
	s := newSurface(t)
	s.flow.err = errDisk
	resp := s.do(write("GET", "/state", ""))
	assert.Equal(t, 500, resp.StatusCode)
	answer := text(t, resp)
	assert.NotContains(t, answer, "secret-path")
	assert.Contains(t, s.log.String(), "secret-path")
	_, id, ok := lastCut(s.log.String(), "id=")
	require.True(t, ok)
	assert.Contains(t, answer, id[:10])
}

// lastCut cuts text at the last sep.
func lastCut(text, sep string) (before, after string, found bool) {
	for i := len(text) - len(sep); i >= 0; i-- {
		if text[i:i+len(sep)] == sep {
			return text[:i], text[i+len(sep):], true
		}
	}
	return text, "", false
}

func TestARequestWithoutOriginGetsOne(t *testing.T) {
	s := newSurface(t)
	for range 2 {
		c := write("POST", "/promote", `{"project":"shop"}`)
		c.header.Del(wire.HeaderKey)
		c.header.Del(wire.HeaderActor)
		require.Equal(t, http.StatusOK, s.do(c).StatusCode)
	}
	require.Len(t, s.flow.calls, 2)
	assert.Contains(t, s.flow.calls[0], `"who":"api"`)
	assert.Contains(t, s.flow.calls[0], `"key":"api:`)
	assert.NotEqual(t, s.flow.calls[0], s.flow.calls[1], "random keys differ")
}

func TestHeadIsAnsweredLikeGet(t *testing.T) {
	s := newSurface(t)
	assert.Equal(t, 200, s.do(write("HEAD", "/state", "")).StatusCode)
}

func TestConfigNamesWhatIsMissing(t *testing.T) {
	full := Config{Flow: &recorder{}, Token: "t", WebhookSecret: "s", Deliveries: &inbox{}, Pushed: func(context.Context, string, string, string) error { return nil }}
	for name, change := range map[string]func(*Config){
		"Flow": func(c *Config) { c.Flow = nil }, "Token": func(c *Config) { c.Token = "" }, "WebhookSecret": func(c *Config) { c.WebhookSecret = "" },
		"Deliveries": func(c *Config) { c.Deliveries = nil }, "Pushed": func(c *Config) { c.Pushed = nil },
	} {
		cfg := full
		change(&cfg)
		_, err := New(cfg)
		require.ErrorContains(t, err, name)
	}
}

func TestAScriptThatReadsNoJSONGetsLines(t *testing.T) {
	for _, tc := range []struct {
		name string
		call call
		err  error
		want string
	}{
		{"an outcome", write("POST", "/promote", `{"project":"shop"}`), nil, "207 text/plain; charset=utf-8\nshop-web is not Ready in staging; ask again in a minute\n"},
		{"a refusal", write("POST", "/promote", `{"project":"shop"}`), flowclient.Refuse("locked; clear the lock first"), "409 text/plain; charset=utf-8\nlocked; clear the lock first\n"},
		{"bad input", write("POST", "/promote", `{}`), nil, "400 text/plain; charset=utf-8\nproject \"\": is required\n"},
		{"a lock", write("POST", "/locks", `{"component":"shop-web","commit":"1a2b3c4","reason":"breaks"}`), nil, "201 text/plain; charset=utf-8\nlocked: shop-web " + sha + " in every environment, by developer on 2026-03-04 12:00 UTC: breaks\n"},
		{"no locks", write("GET", "/locks", ""), nil, "200 text/plain; charset=utf-8\nno commit is locked\n"},
		{"an unlocking", write("DELETE", "/locks?component=shop-web&commit=1a2b3c4&dryRun=true", ""), nil, "200 text/plain; charset=utf-8\nshop-web " + sha + " in every environment, by sre on 2026-03-04 12:00 UTC: x\nWithout it, a promotion would move shop-web to 1a2b3c4 now. It moves by itself at the next pass.\n"},
		{"why", write("GET", "/why?project=shop", ""), nil, "200 text/plain; charset=utf-8\nA promotion of shop is refused now: closed.\nclosed. It moves by itself from Wed 4 Mar 13:00 UTC on, in 1 h, if nothing else changes.\n"},
		{"what has no lines", write("GET", "/host", ""), nil, "200 application/json\n{\"availableBytes\":3221225472}\n"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			s := newSurface(t)
			s.flow.err = tc.err
			s.flow.outcome = flowclient.Outcome{Components: []flowclient.ComponentOutcome{
				{Component: "shop-web", Result: flowclient.Retry, Sentence: "shop-web is not Ready in staging; ask again in a minute"},
			}}
			resp := s.do(tc.call.with("Accept", "text/plain"))
			body, err := io.ReadAll(resp.Body)
			require.NoError(t, err)
			assert.Equal(t, tc.want, fmt.Sprintf("%d %s\n%s", resp.StatusCode, resp.Header.Get("Content-Type"), body))
		})
	}
}
