package flow

import (
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/otel/attribute"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"

	"platform.dev/platform/flowclient"
	"platform.dev/platform/flowclient/wire"
)

const push = `{"ref":"refs/heads/main","before":"0000000000000000000000000000000000000000","after":"` + sha + `","repository":{"full_name":"platform/shop"},"commits":[]}`

func TestAPushDeliveryWakesTheControllerOnce(t *testing.T) {
	s := newSurface(t)
	delivery := hook(push, "X-Gitea-Event", "push", "X-Gitea-Delivery", "06ce9e1d-b574")
	golden(t, "sync-push", text(t, s.do(delivery)))
	golden(t, "sync-push", text(t, s.do(delivery)))
	assert.Equal(t, []string{"platform/shop refs/heads/main " + sha}, s.pushes)

	s.do(delivery.with("X-Gitea-Delivery", "another"))
	assert.Len(t, s.pushes, 2, "another delivery is another push")
}

func TestASyncOfAPushIsFoundByItsTrace(t *testing.T) {
	const trace = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"
	for sent, kept := range map[string]string{trace: `,"trace":"` + trace + `"`, "of no form": ""} {
		s := newSurface(t)
		s.do(hook(pushed, "X-Gitea-Event", "push", "X-Gitea-Delivery", "1").with("Traceparent", sent))
		assert.Equal(t, []string{`Sync {"origin":{"key":"push:1","who":"dev"` + kept + `},"repo":"platform/shop","ref":"main"}`}, s.flow.calls)
	}
}

func TestADeliveryWithoutIdIsKnownByItsBody(t *testing.T) {
	s := newSurface(t)
	for range 2 {
		require.Equal(t, 200, s.do(hook(push, "X-GitHub-Event", "push")).StatusCode)
	}
	assert.Len(t, s.pushes, 1)
}

func TestADeliveryThatWokeNobodyWakesWhenSentAgain(t *testing.T) {
	s := newSurface(t)
	delivery := hook(push, "X-Gitea-Event", "push", "X-Gitea-Delivery", "1")
	s.pushedErr = errors.New("busy")
	assert.Equal(t, 500, s.do(delivery).StatusCode)
	s.pushedErr = nil
	assert.Equal(t, 200, s.do(delivery).StatusCode)
	assert.Equal(t, 200, s.do(delivery).StatusCode)
	assert.Len(t, s.pushes, 2)
}

func TestADeliveryThatCannotBeRecordedHasNoEffect(t *testing.T) {
	s := newSurface(t)
	s.deliveries.err = errDisk
	assert.Equal(t, 500, s.do(hook(push, "X-Gitea-Event", "push")).StatusCode)
	assert.Empty(t, s.pushes)
}

func TestManifestsAreAppliedForASignedBody(t *testing.T) {
	s := newSurface(t)
	body := `{"repo":"platform/shop","ref":"main"}`
	golden(t, "sync", text(t, s.do(hook(body).with("Idempotency-Key", "k").with("X-Platform-Actor", "sre"))))
	assert.Equal(t, []string{`Sync {"origin":{"key":"k","who":"sre"},"repo":"platform/shop","ref":"main"}`}, s.flow.calls)

	c := hook(body).with("Authorization", "Bearer "+testToken).with("X-Signature-256", "sha256="+sign(body, "guess"))
	assert.Equal(t, 401, s.do(c).StatusCode, "the token does not make up for a forged signature")
	c.header.Del("X-Signature-256")
	assert.Equal(t, 401, s.do(c.with("Authorization", "Bearer guess")).StatusCode)
	assert.Len(t, s.flow.calls, 1)
}

func TestASignedBodyThatCurlCallsAFormIsRead(t *testing.T) {
	s := newSurface(t)
	body := `{"repo":"platform/shop","ref":"main"}`
	c := hook(body, "Content-Type", "application/x-www-form-urlencoded").with("Idempotency-Key", "k").with("X-Platform-Actor", "sre")
	golden(t, "sync", text(t, s.do(c)))
	assert.Equal(t, []string{`Sync {"origin":{"key":"k","who":"sre"},"repo":"platform/shop","ref":"main"}`}, s.flow.calls)
}

func TestASpanEventCarriesTheResultOfASync(t *testing.T) {
	counts := []attribute.KeyValue{
		attribute.String("repo", "platform/shop"), attribute.String("commit", sha),
		attribute.Int("created", 1), attribute.Int("updated", 2), attribute.Int("skipped", 3), attribute.Int("refused", 1),
	}
	delivery := hook(pushed, "X-Gitea-Event", "push", "X-Gitea-Delivery", "06ce9e1d")
	for _, tc := range []struct {
		name string
		call call
		err  error
		want []attribute.KeyValue // nil: no event
	}{
		{"of a signed body", hook(`{"repo":"platform/shop","ref":"main"}`), nil, counts},
		{"of a push", delivery, nil, counts},
		{"of a push that is refused", delivery, flowclient.Refuse("platform/shop belongs to no project; scaffold one."), nil},
		{"of a body that is refused", hook(`{"repo":"platform/shop","ref":"main"}`), flowclient.Refuse("platform/shop belongs to no project; scaffold one."), nil},
	} {
		t.Run(tc.name, func(t *testing.T) {
			s := newSurface(t)
			s.flow.err = tc.err
			spans := tracetest.NewSpanRecorder()
			ctx, span := sdktrace.NewTracerProvider(sdktrace.WithSpanProcessor(spans)).Tracer("test").Start(t.Context(), "POST /sync")
			r := httptest.NewRequestWithContext(ctx, tc.call.method, tc.call.target, strings.NewReader(tc.call.body))
			r.Header = tc.call.header
			s.Handler().ServeHTTP(httptest.NewRecorder(), r)
			span.End()
			require.Len(t, spans.Ended(), 1)
			events := spans.Ended()[0].Events()
			if tc.want == nil {
				assert.Empty(t, events)
				return
			}
			require.Len(t, events, 1)
			assert.Equal(t, "platform/manifests", events[0].Name)
			assert.Equal(t, tc.want, events[0].Attributes)
		})
	}
}

// pushed is a push delivery of the default branch.
const pushed = `{"ref":"refs/heads/main","after":"` + sha + `","repository":{"full_name":"platform/shop","default_branch":"main"},"pusher":{"login":"dev"}}`

func TestAPushOfTheDefaultBranchAppliesItsManifests(t *testing.T) {
	for _, tc := range []struct {
		name string
		body string
		err  error
		sync bool
	}{
		{"default branch", pushed, nil, true},
		{"default branch without manifests", pushed, &flowclient.NotFound{Kind: "manifests directory", Name: "openchoreo"}, true},
		{"default branch with manifests that are refused", pushed, flowclient.Refuse("platform/shop belongs to no project; scaffold one."), true},
		{"another branch", strings.Replace(pushed, "heads/main", "heads/other", 1), nil, false},
		{"a tag of that name", strings.Replace(pushed, "heads/main", "tags/main", 1), nil, false},
		{"its deletion", strings.Replace(pushed, sha, strings.Repeat("0", 40), 1), nil, false},
	} {
		t.Run(tc.name, func(t *testing.T) {
			s := newSurface(t)
			s.flow.err = tc.err
			delivery := hook(tc.body, "X-Gitea-Event", "push", "X-Gitea-Delivery", "06ce9e1d")
			golden(t, "sync-push-of-"+tc.name, text(t, s.do(delivery)))
			assert.Len(t, s.pushes, 1)
			if !tc.sync {
				assert.Empty(t, s.flow.calls)
				return
			}
			want := `Sync {"origin":{"key":"push:06ce9e1d","who":"dev"},"repo":"platform/shop","ref":"main"}`
			assert.Equal(t, []string{want}, s.flow.calls)
			s.do(delivery)
			assert.Equal(t, []string{want, want}, s.flow.calls, "asked again under its key, a delivery cut short is finished")
			assert.Len(t, s.pushes, 1)
		})
	}
	t.Run("the answer for a repository without manifests does not change with its branch", func(t *testing.T) {
		s := newSurface(t)
		s.flow.synced = &flowclient.Synced{Repo: "platform/shop", Commit: strings.Repeat("9", 40)}
		golden(t, "sync-push-of-no-manifests", text(t, s.do(hook(pushed, "X-Gitea-Event", "push", "X-Gitea-Delivery", "1"))))
	})
	t.Run("a part that is down makes the sender repeat it", func(t *testing.T) {
		s := newSurface(t)
		s.flow.err = &flowclient.Upstream{Part: "git server", Err: errors.New("connection refused")}
		assert.Equal(t, 502, s.do(hook(pushed, "X-Gitea-Event", "push", "X-Gitea-Delivery", "1")).StatusCode)
	})
}

func TestBadDeliveriesAreNamedAndChangeNothing(t *testing.T) {
	event := []string{"X-Gitea-Event", "push", "X-Gitea-Delivery", "1"}
	good := sign(push, testSecret)
	unsigned := func(headers ...string) call {
		c := hook(push, event...)
		c.header.Del("X-Signature-256")
		for i := 0; i < len(headers); i += 2 {
			c = c.with(headers[i], headers[i+1])
		}
		return c
	}
	for _, tc := range []struct {
		name   string
		call   call
		status int
	}{
		{"no signature", unsigned(), 401},
		{"an empty hex", unsigned("X-Signature-256", "sha256="), 401},
		{"an empty bare hex", unsigned("X-Gitea-Signature", ""), 401},
		{"a signature without its prefix", unsigned("X-Signature-256", good), 401},
		{"a signature that is no hex", unsigned("X-Signature-256", "sha256=zz"), 401},
		{"half a signature", unsigned("X-Signature-256", "sha256="+good[:32]), 401},
		{"a signature under another secret", unsigned("X-Hub-Signature-256", "sha256="+sign(push, "guess")), 401},
		{"a signature under no secret", unsigned("X-Hub-Signature-256", "sha256="+sign(push, "")), 401},
		{"one good signature and one bad", unsigned("X-Hub-Signature-256", "sha256="+good, "X-Gitea-Signature", sign(push, "guess")), 401},
		{"one good signature and one empty", unsigned("X-Signature-256", "sha256="+good, "X-Gogs-Signature", ""), 401},
		{"an old digest alone", unsigned("X-Hub-Signature", "sha1=69edf4713b4659288c165cade5f0d83798275d69"), 401},
		{"the token of the API instead", unsigned("Authorization", "Bearer "+testToken), 401},
		{"a wrong shared token", unsigned("X-Gitlab-Token", "guess"), 401},
		{"another event", hook(push, "X-Gitea-Event", "pull_request"), 400},
		{"an unknown field in the strict body", hook(`{"repo":"platform/shop","ref":"main","force":true}`), 400},
		{"a repository that is none", hook(`{"repo":"shop","ref":"main"}`), 400},
		{"a repository that climbs", hook(`{"repo":"../../etc/passwd","ref":"main"}`), 400},
		{"no ref", hook(`{"repo":"platform/shop"}`), 400},
		{"a push without its event header", hook(push), 400},
		{"a push of no repository", hook(`{"ref":"refs/heads/main","after":"`+sha+`"}`, event...), 400},
		{"a push of no ref", hook(`{"after":"`+sha+`","repository":{"full_name":"a/b"}}`, event...), 400},
		{"a push of half a commit", hook(`{"ref":"refs/heads/main","after":"1a2b","repository":{"full_name":"a/b"}}`, event...), 400},
		{"a push that is no JSON", hook(`{"ref":`, event...), 400},
		{"a push that is a list", hook(`[]`, event...), 400},
		{"a push whose repository is a list", hook(`{"ref":"refs/heads/main","repository":[]}`, event...), 400},
		{"a push whose ref is a number", hook(`{"ref":1}`, event...), 400},
		{"a delivery id that is too long", hook(push, "X-Gitea-Event", "push", "X-Gitea-Delivery", strings.Repeat("1", 101)), 400},
		{"a form without payload", hook("other=1", "Content-Type", "application/x-www-form-urlencoded"), 400},
		{"a large body", hook(strings.Repeat("x", wire.MaxBody+1)), 413},
	} {
		t.Run(tc.name, func(t *testing.T) {
			s := newSurface(t)
			resp := s.do(tc.call)
			got := text(t, resp)
			assert.Equal(t, tc.status, resp.StatusCode, got)
			golden(t, "sync-bad-"+tc.name, got)
			assert.Empty(t, s.pushes)
			assert.Empty(t, s.flow.calls)
			assert.Empty(t, s.deliveries.seen)
			assert.NotContains(t, got, testSecret)
			assert.NotContains(t, got, good, "an answer never shows the right signature")
		})
	}
}

func TestSignaturesOfEveryProviderAreAccepted(t *testing.T) {
	good := sign(push, testSecret)
	for header, value := range map[string]string{
		"X-Signature-256": "sha256=" + good, "X-Gitea-Signature": good, "X-Hub-Signature-256": "sha256=" + good,
		"X-Gogs-Signature": good, "X-Hub-Signature": "sha256=" + good, "X-Gitlab-Token": testSecret,
	} {
		t.Run(header, func(t *testing.T) {
			s := newSurface(t)
			c := call{http.MethodPost, "/sync", push, http.Header{}}
			resp := s.do(c.with(header, value).with("X-Gitea-Event", "push"))
			assert.Equal(t, 200, resp.StatusCode)
			assert.Len(t, s.pushes, 1)
		})
	}
	t.Run("a GitLab push", func(t *testing.T) {
		s := newSurface(t)
		body := `{"ref":"refs/heads/main","after":"` + sha + `","project":{"path_with_namespace":"platform/shop"},"repository":{"name":"shop"}}`
		resp := s.do(call{http.MethodPost, "/sync", body, http.Header{}}.with("X-Gitlab-Token", testSecret).with("X-Gitlab-Event", "Push Hook"))
		assert.Equal(t, 200, resp.StatusCode)
		assert.Equal(t, []string{"platform/shop refs/heads/main " + sha}, s.pushes)
	})
}
