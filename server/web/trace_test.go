package web_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
	"go.opentelemetry.io/otel/trace"

	"platform.dev/platform/server/web"
)

// surface is a traced and measured surface behind a real server.
type surface struct {
	url      string
	spans    *tracetest.SpanRecorder
	registry *prometheus.Registry
}

// long picks what is a long poll here.
func long(r *http.Request) bool { return r.URL.Path == "/events" || r.URL.Path == web.MetricsPath }

func newSurface(t *testing.T, mux http.Handler) *surface {
	t.Helper()
	s := &surface{spans: tracetest.NewSpanRecorder(), registry: prometheus.NewRegistry()}
	requests, err := web.NewRequests(s.registry)
	require.NoError(t, err)
	tp := sdktrace.NewTracerProvider(sdktrace.WithSpanProcessor(s.spans), sdktrace.WithSampler(sdktrace.ParentBased(sdktrace.AlwaysSample())))
	guarded := web.Hosts(nil, web.SameOrigin(web.Metrics(s.registry, web.Health(nil, mux))))
	server := httptest.NewServer(web.Trace(tp, "test", long, requests.Measure("test", long, guarded)))
	t.Cleanup(server.Close)
	s.url = server.URL
	return s
}

func fetch(t *testing.T, url string, header ...string) (*http.Response, string) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, nil)
	require.NoError(t, err)
	for i := 0; i+1 < len(header); i += 2 {
		req.Header.Set(header[i], header[i+1])
		if header[i] == "Host" {
			req.Host = header[i+1]
		}
	}
	resp, err := http.DefaultClient.Do(req)
	require.NoError(t, err)
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	require.NoError(t, err)
	return resp, string(body)
}

// runs is a mux with a wildcard, a failing path and a long poll.
func runs(t *testing.T) *http.ServeMux {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /runs/{run}", func(w http.ResponseWriter, r *http.Request) {
		assert.Equal(t, web.Traceparent(trace.SpanContextFromContext(r.Context())), r.Header.Get("Traceparent"), "the handler's request carries its own span")
		_, _ = w.Write([]byte(r.PathValue("run")))
	})
	mux.HandleFunc("GET /broken", func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusInternalServerError) })
	mux.HandleFunc("GET /events", func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte("event")) })
	return mux
}

const (
	callerTrace  = "0af7651916cd43dd8448eb211c80319c"
	callerParent = "00-" + callerTrace + "-b7ad6b7169203331-01"
)

func TestAnAnswerNamesTheTraceThatItBelongsTo(t *testing.T) {
	s := newSurface(t, runs(t))
	resp, body := fetch(t, s.url+"/runs/shop-web-run-1", "Traceparent", callerParent)
	assert.Equal(t, "shop-web-run-1", body)
	assert.Equal(t, callerTrace, resp.Header.Get("X-Trace-Id"), "the caller's trace goes on")
	assert.Regexp(t, `^00-`+callerTrace+`-[0-9a-f]{16}-01$`, resp.Header.Get("traceresponse"))

	ended := s.spans.Ended()
	require.Len(t, ended, 1)
	assert.Equal(t, "GET /runs/{run}", ended[0].Name(), "the pattern, never the path")
	assert.Equal(t, trace.SpanKindServer, ended[0].SpanKind())
	assert.Equal(t, "b7ad6b7169203331", ended[0].Parent().SpanID().String())
	assert.Contains(t, resp.Header.Get("traceresponse"), ended[0].SpanContext().SpanID().String())

	fresh, _ := fetch(t, s.url+"/runs/2")
	assert.Regexp(t, `^[0-9a-f]{32}$`, fresh.Header.Get("X-Trace-Id"))
	assert.NotEqual(t, callerTrace, fresh.Header.Get("X-Trace-Id"))

	refused, _ := fetch(t, s.url+"/runs/1", "Host", "evil.example")
	assert.Equal(t, http.StatusMisdirectedRequest, refused.StatusCode)
	assert.NotEmpty(t, refused.Header.Get("X-Trace-Id"), "refusals at the door have one as well")
}

func TestABadTraceparentBeginsATraceOfItsOwn(t *testing.T) {
	s := newSurface(t, runs(t))
	for _, bad := range []string{"x", "00-" + strings.Repeat("0", 32) + "-b7ad6b7169203331-01", strings.Repeat("0", 10_000)} {
		resp, _ := fetch(t, s.url+"/runs/1", "Traceparent", bad)
		assert.Equal(t, http.StatusOK, resp.StatusCode)
		assert.Regexp(t, `^[0-9a-f]*[1-9a-f][0-9a-f]*$`, resp.Header.Get("X-Trace-Id"))
		assert.False(t, web.ParseTraceparent(bad).IsValid())
	}
	assert.Equal(t, callerParent, web.Traceparent(web.ParseTraceparent(callerParent)))
}

func TestAPartsOwnPollingIsAnsweredAndNotRecorded(t *testing.T) {
	s := newSurface(t, runs(t))
	transport := &http.Transport{}
	defer transport.CloseIdleConnections()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, s.url+"/runs/1", nil)
	require.NoError(t, err)
	resp, err := web.Propagate(transport).RoundTrip(req)
	require.NoError(t, err)
	require.NoError(t, resp.Body.Close())
	assert.Equal(t, http.StatusOK, resp.StatusCode)
	assert.Regexp(t, `^00-[0-9a-f]{32}-[0-9a-f]{16}-00$`, resp.Header.Get("traceresponse"))
	assert.Empty(t, s.spans.Ended())
}

func TestLongPollsAndHealthHaveNoSpan(t *testing.T) {
	s := newSurface(t, runs(t))
	resp, _ := fetch(t, s.url+"/events")
	assert.Empty(t, resp.Header.Get("X-Trace-Id"))
	assert.Empty(t, s.spans.Ended())
}

func TestOneTraceIDIsSentWhereAnApplicationSendsItsOwn(t *testing.T) {
	inner := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("X-Trace-Id", "of the application")
		_, _ = w.Write([]byte(r.Header.Get("Traceparent")))
	}))
	defer inner.Close()
	target, err := url.Parse(inner.URL)
	require.NoError(t, err)
	s := newSurface(t, httputil.NewSingleHostReverseProxy(target))
	resp, body := fetch(t, s.url+"/")
	assert.Len(t, resp.Header.Values("X-Trace-Id"), 1)
	assert.Equal(t, resp.Header.Get("traceresponse"), body, "the application is told the gateway's span as its parent")
	assert.Equal(t, resp.Header.Get("X-Trace-Id"), body[3:35])
}

func TestOutboundRequestsCarryTheTraceOfTheirContext(t *testing.T) {
	seen := make(chan string, 2)
	far := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { seen <- r.Header.Get("Traceparent") }))
	defer far.Close()
	transport := &http.Transport{}
	client := &http.Client{Transport: web.Propagate(transport)}
	defer client.CloseIdleConnections()
	for parent, want := range map[string]string{callerParent: callerParent, "": `^00-[0-9a-f]{32}-[0-9a-f]{16}-00$`} {
		ctx := trace.ContextWithSpanContext(t.Context(), web.ParseTraceparent(parent))
		req, err := http.NewRequestWithContext(ctx, http.MethodGet, far.URL, nil)
		require.NoError(t, err)
		resp, err := client.Do(req)
		require.NoError(t, err)
		require.NoError(t, resp.Body.Close())
		assert.Regexp(t, want, <-seen, "without a span: a trace that is not sampled")
		assert.Empty(t, req.Header, "the caller's request is left as it is")
	}
}

func TestMetricsCountByRouteAndCarryTheTraceAsExemplar(t *testing.T) {
	s := newSurface(t, runs(t))
	for i := range 3 {
		fetch(t, fmt.Sprintf("%s/runs/%d", s.url, i), "Traceparent", callerParent)
	}
	fetch(t, s.url+"/broken")
	fetch(t, s.url+"/nowhere/"+strings.Repeat("x", 100))
	fetch(t, s.url+"/events")
	resp, body := fetch(t, s.url+"/metrics", "Accept", "application/openmetrics-text; version=1.0.0")
	require.Equal(t, http.StatusOK, resp.StatusCode)
	assert.Contains(t, resp.Header.Get("Content-Type"), "application/openmetrics-text")
	for _, line := range []string{
		`platform_http_requests_total{code="200",method="GET",route="/runs/{run}",surface="test"} 3.0`,
		`platform_http_requests_total{code="500",method="GET",route="/broken",surface="test"} 1.0`,
		`platform_http_requests_total{code="404",method="GET",route="other",surface="test"} 1.0`,
		`platform_http_requests_total{code="200",method="GET",route="/events",surface="test"} 1.0`,
		`platform_http_request_duration_seconds_count{method="GET",route="/runs/{run}",surface="test"} 3`,
		`# {trace_id="` + callerTrace + `"}`,
		"# EOF",
	} {
		assert.Contains(t, body, line)
	}
	assert.NotContains(t, body, "xxx", "no path stands in a label")
	assert.NotContains(t, body, `duration_seconds_count{method="GET",route="/events"`, "a long poll's duration says nothing")

	elsewhere, _ := fetch(t, s.url+"/metrics", "Host", "staging-shop.apps.platform.localhost")
	assert.Equal(t, http.StatusMisdirectedRequest, elsewhere.StatusCode, "an application's host has no metrics of ours")
	posted, err := http.Post(s.url+"/metrics", "text/plain", nil)
	require.NoError(t, err)
	require.NoError(t, posted.Body.Close())
	assert.Equal(t, http.StatusMethodNotAllowed, posted.StatusCode)
}

func TestMetricsAreRegisteredOnce(t *testing.T) {
	registry := prometheus.NewRegistry()
	_, err := web.NewRequests(registry)
	require.NoError(t, err)
	_, err = web.NewRequests(registry)
	require.ErrorContains(t, err, "metrics of requests")
}

func TestALogRecordLeadsToItsTrace(t *testing.T) {
	var out bytes.Buffer
	log := slog.New(web.TraceLog(slog.NewJSONHandler(&out, nil))).With("part", "flow")
	ctx := trace.ContextWithSpanContext(t.Context(), web.ParseTraceparent(callerParent))
	log.InfoContext(ctx, "promoted", "project", "shop")
	log.InfoContext(context.Background(), "idle")
	lines := strings.Split(strings.TrimSpace(out.String()), "\n")
	require.Len(t, lines, 2)
	var first, second map[string]any
	require.NoError(t, json.Unmarshal([]byte(lines[0]), &first))
	require.NoError(t, json.Unmarshal([]byte(lines[1]), &second))
	assert.Equal(t, callerTrace, first["trace_id"])
	assert.Equal(t, "b7ad6b7169203331", first["span_id"])
	assert.Equal(t, "flow", first["part"])
	assert.NotContains(t, second, "trace_id")
}
