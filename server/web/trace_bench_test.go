package web_test

import (
	"context"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"

	"platform.dev/platform/server/web"
)

// BenchmarkFront is what tracing and measuring add to a request: bare is the
// limit; sampled records a span, polling is a part's own.
func BenchmarkFront(b *testing.B) {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /runs/{run}", func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusNoContent) })
	requests, err := web.NewRequests(prometheus.NewRegistry())
	if err != nil {
		b.Fatal(err)
	}
	tp := sdktrace.NewTracerProvider(sdktrace.WithSampler(sdktrace.ParentBased(sdktrace.AlwaysSample())), sdktrace.WithSpanProcessor(discarded{}))
	front := web.Trace(tp, "bench", never, requests.Measure("bench", never, mux))
	for name, c := range map[string]struct {
		h      http.Handler
		parent string
	}{
		"bare": {mux, ""}, "sampled": {front, callerParent}, "polling": {front, callerParent[:53] + "00"},
	} {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				r := httptest.NewRequest(http.MethodGet, "/runs/shop-web-run-1", nil)
				if c.parent != "" {
					r.Header.Set("Traceparent", c.parent)
				}
				c.h.ServeHTTP(httptest.NewRecorder(), r)
			}
		})
	}
}

func never(*http.Request) bool { return false }

// discarded is a processor that keeps nothing.
type discarded struct{}

func (discarded) OnStart(context.Context, sdktrace.ReadWriteSpan) {}
func (discarded) OnEnd(sdktrace.ReadOnlySpan)                     {}
func (discarded) Shutdown(context.Context) error                  { return nil }
func (discarded) ForceFlush(context.Context) error                { return nil }
