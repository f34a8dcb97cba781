package web

import (
	"encoding/binary"
	"errors"
	"math/rand/v2"
	"net/http"
	"strconv"
	"strings"

	"github.com/felixge/httpsnoop"
	"go.opentelemetry.io/contrib/instrumentation/net/http/otelhttp"
	"go.opentelemetry.io/otel/metric/noop"
	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/trace"
)

// The headers of an answer that name its trace (interface document, Deployed applications).
const (
	TraceIDHeader       = "X-Trace-Id"    // <32 hex>
	TraceResponseHeader = "traceresponse" // 00-<32 hex>-<16 hex>-01
)

// propagator carries contexts as W3C's traceparent.
var propagator = propagation.TraceContext{}

// Trace gives each request a server span, named by its method and route
// pattern, that continues the caller's traceparent; the answer names the trace
// in X-Trace-Id and traceresponse. The request goes on with the span in its
// context and as its traceparent, so that what a handler forwards or remembers
// belongs to the trace. Requests that skip picks have no span and no headers:
// long polls, health and metrics.
func Trace(provider trace.TracerProvider, surface string, skip func(*http.Request) bool, next http.Handler) http.Handler {
	return otelhttp.NewHandler(named(next), surface,
		otelhttp.WithTracerProvider(provider),
		otelhttp.WithPropagators(propagator),
		otelhttp.WithMeterProvider(noop.NewMeterProvider()), // Requests measures
		otelhttp.WithFilter(func(r *http.Request) bool { return !skip(r) }),
	)
}

// named puts the span's names on the answer and on the request that goes on.
func named(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		span := trace.SpanContextFromContext(r.Context())
		if !span.IsValid() {
			next.ServeHTTP(w, r)
			return
		}
		propagator.Inject(r.Context(), propagation.HeaderCarrier(r.Header))
		name := func() {
			w.Header().Set(TraceIDHeader, span.TraceID().String())
			w.Header().Set(TraceResponseHeader, Traceparent(span))
		}
		name()
		// An application behind a proxy may have put its own beside these: one of each is sent.
		next.ServeHTTP(httpsnoop.Wrap(w, httpsnoop.Hooks{
			WriteHeader: func(write httpsnoop.WriteHeaderFunc) httpsnoop.WriteHeaderFunc {
				return func(code int) { name(); write(code) }
			},
		}), r)
	})
}

// Traceparent is a span's context as W3C writes it: 00-<32 hex>-<16 hex>-01; "" for none.
func Traceparent(span trace.SpanContext) string {
	if !span.IsValid() {
		return ""
	}
	return "00-" + span.TraceID().String() + "-" + span.SpanID().String() + "-" + span.TraceFlags().String()
}

// ParseTraceparent is the span context that a traceparent names; an invalid one where it names none.
func ParseTraceparent(text string) trace.SpanContext {
	parts := strings.Split(text, "-")
	if len(parts) != 4 || parts[0] != "00" || len(parts[3]) != 2 {
		return trace.SpanContext{}
	}
	id, errID := trace.TraceIDFromHex(parts[1])
	span, errSpan := trace.SpanIDFromHex(parts[2])
	flags, errFlags := strconv.ParseUint(parts[3], 16, 8)
	if errors.Join(errID, errSpan, errFlags) != nil {
		return trace.SpanContext{}
	}
	return trace.NewSpanContext(trace.SpanContextConfig{TraceID: id, SpanID: span, TraceFlags: trace.TraceFlags(flags), Remote: true})
}

// Propagate sends the context's traceparent along with each request. A request
// without a span in its context is a part's own polling: it goes as a trace
// that is not sampled, so that nobody's traces are crowded out by it.
func Propagate(next http.RoundTripper) http.RoundTripper { return propagating{next} }

type propagating struct{ next http.RoundTripper }

// RoundTrip sends a copy of the request: a RoundTripper must not change the one it is given.
func (p propagating) RoundTrip(r *http.Request) (*http.Response, error) {
	ctx := r.Context()
	if !trace.SpanContextFromContext(ctx).IsValid() {
		ctx = trace.ContextWithSpanContext(ctx, unsampled())
	}
	r = r.Clone(r.Context())
	propagator.Inject(ctx, propagation.HeaderCarrier(r.Header))
	return p.next.RoundTrip(r)
}

// unsampled is the context of a trace that is not to be recorded.
func unsampled() trace.SpanContext {
	var id trace.TraceID
	var span trace.SpanID
	binary.BigEndian.PutUint64(id[:], rand.Uint64()|1) // never all zero
	binary.BigEndian.PutUint64(id[8:], rand.Uint64())
	binary.BigEndian.PutUint64(span[:], rand.Uint64()|1)
	return trace.NewSpanContext(trace.SpanContextConfig{TraceID: id, SpanID: span})
}

// CloseIdleConnections closes those of the transport that carries.
func (p propagating) CloseIdleConnections() {
	if c, ok := p.next.(interface{ CloseIdleConnections() }); ok {
		c.CloseIdleConnections()
	}
}
