package web

import (
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/felixge/httpsnoop"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"
	"go.opentelemetry.io/otel/trace"
)

// Requests counts and times the requests of every surface, by surface, method,
// route pattern and status: never by path, host or person, whose number nobody bounds.
type Requests struct {
	total   *prometheus.CounterVec
	seconds *prometheus.HistogramVec
}

// NewRequests registers the metrics of requests.
func NewRequests(registry prometheus.Registerer) (*Requests, error) {
	m := &Requests{
		total: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "platform_http_requests_total", Help: "Requests answered, long polls included.",
		}, []string{"surface", "method", "route", "code"}),
		seconds: prometheus.NewHistogramVec(Native(prometheus.HistogramOpts{
			Name: "platform_http_request_duration_seconds", Help: "How long answers took, without long polls.",
		}), []string{"surface", "method", "route"}),
	}
	for _, c := range []prometheus.Collector{m.total, m.seconds} {
		if err := registry.Register(c); err != nil {
			return nil, fmt.Errorf("metrics of requests: %w", err)
		}
	}
	return m, nil
}

// Native gives a histogram native buckets beside the classic ones.
func Native(opts prometheus.HistogramOpts) prometheus.HistogramOpts {
	opts.NativeHistogramBucketFactor = 1.1
	opts.NativeHistogramMaxBucketNumber = 160
	opts.NativeHistogramMinResetDuration = time.Hour
	if opts.Buckets == nil {
		opts.Buckets = prometheus.DefBuckets
	}
	return opts
}

// methods are those that are told apart; a client may send any word.
var methods = []string{"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"}

// Measure counts the requests of a surface and times those that long does not
// pick. It must stand where next's mux sees the same *http.Request: the mux
// leaves the pattern on it. Inside Trace, durations carry the trace as exemplar.
func (m *Requests) Measure(surface string, long func(*http.Request) bool, next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		got := httpsnoop.CaptureMetricsFn(w, func(w http.ResponseWriter) { next.ServeHTTP(w, r) })
		method := r.Method
		if !slices.Contains(methods, method) {
			method = "other"
		}
		route := routeOf(r)
		m.total.WithLabelValues(surface, method, route, strconv.Itoa(got.Code)).Inc()
		if long(r) {
			return
		}
		observe(m.seconds.WithLabelValues(surface, method, route), got.Duration.Seconds(), trace.SpanContextFromContext(r.Context()))
	})
}

// routeOf is the request's route pattern without the method; "other" where no route took it.
func routeOf(r *http.Request) string {
	if _, path, found := strings.Cut(r.Pattern, " "); found {
		return path
	}
	if r.Pattern == "" {
		return "other"
	}
	return r.Pattern
}

// observe adds a value, with the trace as its exemplar where there is one.
func observe(o prometheus.Observer, value float64, span trace.SpanContext) {
	if e, ok := o.(prometheus.ExemplarObserver); ok && span.IsSampled() {
		e.ObserveWithExemplar(value, prometheus.Labels{"trace_id": span.TraceID().String()})
		return
	}
	o.Observe(value)
}

// MetricsPath is where a surface tells its metrics.
const MetricsPath = "/metrics"

// Metrics answers GET /metrics on the surface's own address, by a loopback
// name, in OpenMetrics where the client asks; everything else, and that path on
// an application's host, goes to next.
func Metrics(gatherer prometheus.Gatherer, next http.Handler) http.Handler {
	metrics := promhttp.HandlerFor(gatherer, promhttp.HandlerOpts{EnableOpenMetrics: true})
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != MetricsPath || !loopback[Hostname(r.Host)] {
			next.ServeHTTP(w, r)
			return
		}
		r.Pattern = MetricsPath
		if r.Method != http.MethodGet && r.Method != http.MethodHead {
			w.Header().Set("Allow", "GET, HEAD")
			Error(w, http.StatusMethodNotAllowed, r.Method+" is not answered on "+MetricsPath+"; use GET")
			return
		}
		metrics.ServeHTTP(w, r)
	})
}

// loopback are the names of a surface's own address.
var loopback = map[string]bool{"127.0.0.1": true, "::1": true, "localhost": true}
