package flow

import (
	"context"
	"errors"
	"net/http"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"platform.dev/platform/flowclient"
	"platform.dev/platform/flowclient/wire"
)

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
	{"builds", write("GET", "/builds", ""), "Builds"},
	{"promote", write("POST", "/promote", `{"project":"shop","component":"shop-web","dryRun":true}`),
		`Promote {"origin":{"key":"zulip:31","who":"developer"},"project":"shop","component":"shop-web","dryRun":true}`},
	{"rollback", write("POST", "/promote", `{"project":"shop","rollback":true}`).with("X-Platform-Link", "http://chat.example/31"),
		`Rollback {"origin":{"key":"zulip:31","who":"developer","link":"http://chat.example/31"},"project":"shop"}`},
	{"delivery", write("GET", "/delivery", ""), "Delivery"},
	{"state", write("GET", "/state", ""), "State"},
	{"window", write("GET", "/window?project=shop", ""), `Window "shop"`},
	{"host", write("GET", "/host", ""), "Host"},
	{"locks", write("GET", "/locks", ""), "Locks"},
	{"lock", write("POST", "/locks", `{"component":"shop-web","commit":"1a2b3c4","to":"production","reason":"breaks"}`),
		`SetLock {"origin":{"key":"zulip:31","who":"developer"},"component":"shop-web","commit":"1a2b3c4","to":"production","reason":"breaks"}`},
	{"unlock", write("DELETE", "/locks?component=shop-web&commit=1a2b3c4&to=production", ""),
		`ClearLock {"origin":{"key":"zulip:31","who":"developer"},"component":"shop-web","commit":"1a2b3c4","to":"production"}`},
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
		asked := map[string]bool{"POST /sync": true} // sync_test.go
		for _, tc := range good {
			path := tc.call.target
			for i, c := range path {
				if c == '?' {
					path = path[:i]
					break
				}
			}
			asked[tc.call.method+" "+path] = true
		}
		for _, e := range endpoints {
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
