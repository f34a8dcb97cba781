package server

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"net/http"
	"strings"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracehttp"
	"go.opentelemetry.io/otel/sdk/resource"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"

	"platform.dev/platform/server/observer"
	"platform.dev/platform/server/web"
)

// serviceNamespace is service.namespace of everything that the platform itself tells.
const serviceNamespace = "platform"

const (
	exportEvery   = time.Second     // spans wait so long for others
	exportGrace   = 3 * time.Second // what is left gets so long when the platform stops
	gaugePatience = 2 * time.Second // a gauge that takes longer has no value
	spanQueue     = 8192            // spans that wait; beyond it the SDK drops the newest
)

// instruments are what every part tells what it did: spans, metrics, log lines.
// All of it goes to the embedded observer, spans also elsewhere where configured.
type instruments struct {
	observer   *observer.Server
	registry   *prometheus.Registry
	requests   *web.Requests
	commands   *commandMetrics
	elsewhere  *said // nil where no receiver is configured
	embedded   *said
	processors []sdktrace.SpanProcessor // of the two, the observer's last
	places     places
	log        *slog.Logger
}

// openTelemetry opens the store and what leads to it, before anything that tells.
func (r *rooms) openTelemetry(ctx context.Context, p *Platform) (err error) {
	t := &r.telemetry
	t.log = p.cfg.Log.With("part", "telemetry") // not into the store: it tells of the store
	t.observer, err = observer.New(ctx, observer.Config{
		Path: p.data.Path("telemetry.db"), Token: r.tokens.observer, Pending: t.flush,
		Now: p.cfg.Now, Log: t.log,
	})
	if err != nil {
		return err
	}
	r.closing(t.observer.Close)
	p.own.to.Store(t)
	p.doors["observer"].handler = guard("observer", t.observer.Handler())
	if err := t.openExporters(ctx, p.cfg.OTLP); err != nil {
		return err
	}
	r.closing(t.close)
	t.registry = prometheus.NewRegistry()
	if t.requests, err = web.NewRequests(t.registry); err != nil {
		return err
	}
	if t.commands, err = newCommandMetrics(t.registry); err != nil {
		return err
	}
	return errors.Join(t.registry.Register(collectors.NewGoCollector()),
		t.registry.Register(collectors.NewProcessCollector(collectors.ProcessCollectorOpts{})),
		t.registry.Register(newBacklog(ctx, p)),
		t.gauge(ctx, "platform_events_unannounced", "Events that are still to be announced, a thousand at most.", p.behind),
		t.gauge(ctx, "platform_hook_deliveries_due", "Hook deliveries neither accepted nor given up.", func(ctx context.Context) (int, error) { return r.git.Due(ctx) }),
		t.gauge(ctx, "platform_telemetry_lines_dropped", "Log lines dropped since the store was made, the oldest first.", func(ctx context.Context) (int, error) {
			d, err := t.observer.Dropped(ctx)
			return int(d.Lines), err
		}),
		t.gauge(ctx, "platform_telemetry_spans_dropped", "Spans dropped since the store was made, the oldest first.", func(ctx context.Context) (int, error) {
			d, err := t.observer.Dropped(ctx)
			return int(d.Spans), err
		}))
}

// openExporters makes the ways that spans go: to an OTLP receiver elsewhere,
// where base names one, and to the observer.
func (t *instruments) openExporters(ctx context.Context, base string) error {
	if base != "" {
		endpoint := strings.TrimSuffix(strings.TrimSuffix(base, "/"), "/v1/traces") + "/v1/traces"
		if !strings.HasPrefix(base, "http://") && !strings.HasPrefix(base, "https://") {
			return fmt.Errorf("OTLP endpoint %q: must be an http or https address such as http://127.0.0.1:4318", base)
		}
		elsewhere, err := otlptracehttp.New(ctx, otlptracehttp.WithEndpointURL(endpoint), otlptracehttp.WithTimeout(exportGrace))
		if err != nil {
			return fmt.Errorf("OTLP endpoint %q: %w", base, err)
		}
		t.elsewhere = &said{SpanExporter: elsewhere, to: endpoint, log: t.log}
		t.batch(t.elsewhere)
	}
	embedded, err := t.observer.Exporter(ctx)
	if err != nil {
		return err
	}
	t.embedded = &said{SpanExporter: embedded, to: "the observer", log: t.log}
	t.batch(t.embedded)
	return nil
}

// batch has the spans of every part handed to e together.
func (t *instruments) batch(e sdktrace.SpanExporter) {
	t.processors = append(t.processors, sdktrace.NewBatchSpanProcessor(e,
		sdktrace.WithBatchTimeout(exportEvery), sdktrace.WithMaxQueueSize(spanQueue)))
}

// flush hands spans that have ended to the observer; it does not wait for a receiver elsewhere.
func (t *instruments) flush(ctx context.Context) error {
	return t.processors[len(t.processors)-1].ForceFlush(ctx)
}

// close hands over what is left, for as long as the grace allows.
func (t *instruments) close() error {
	ctx, cancel := context.WithTimeout(context.Background(), exportGrace)
	defer cancel()
	for i, p := range t.processors {
		err := p.Shutdown(ctx)
		// A receiver elsewhere that does not answer keeps nobody from stopping.
		if err != nil && i == len(t.processors)-1 {
			return fmt.Errorf("telemetry: %w", err)
		}
		if err != nil {
			t.log.Warn("spans were not handed over before the end", "error", err)
		}
	}
	return nil
}

// said is an exporter that says when it begins to fail and when it goes again,
// and no more: spans that cannot be delivered are no reason for anything to fail.
type said struct {
	sdktrace.SpanExporter
	to      string
	failing atomic.Bool
	log     *slog.Logger
}

// ExportSpans hands the spans over, or drops them and says so once.
func (s *said) ExportSpans(ctx context.Context, spans []sdktrace.ReadOnlySpan) error {
	err := s.SpanExporter.ExportSpans(ctx, spans)
	if failing := err != nil; s.failing.Swap(failing) != failing {
		if failing {
			s.log.WarnContext(ctx, "spans cannot be delivered and are dropped", "to", s.to, "error", err)
		} else {
			s.log.InfoContext(ctx, "spans are delivered again", "to", s.to)
		}
	}
	return nil
}

// provider makes the tracers of a part: its spans say service.name, and belong to the platform's namespace.
func (t *instruments) provider(service string) *sdktrace.TracerProvider {
	opts := []sdktrace.TracerProviderOption{sdktrace.WithResource(serviceResource(service)), sdktrace.WithSampler(sdktrace.ParentBased(sdktrace.AlwaysSample()))}
	for _, p := range t.processors {
		opts = append(opts, sdktrace.WithSpanProcessor(p))
	}
	return sdktrace.NewTracerProvider(opts...)
}

func serviceResource(service string) *resource.Resource {
	return resource.NewSchemaless(attribute.String("service.name", service), attribute.String("service.namespace", serviceNamespace))
}

// front puts tracing, measuring and /metrics before a surface.
func (t *instruments) front(surface string, h http.Handler) http.Handler {
	long := func(r *http.Request) bool { return longPolls[surface][r.URL.Path] }
	skip := func(r *http.Request) bool { return long(r) || untraced(surface, r) }
	return web.Trace(t.provider(surface), surface, skip, t.requests.Measure(surface, long, web.Metrics(t.registry, h)))
}

// longPolls are the paths, by surface, whose answers wait for something to happen.
var longPolls = map[string]map[string]bool{"chat": {"/api/v1/events": true}}

// untraced are requests of a surface's own address about which a trace would say nothing: health and
// metrics, which are asked all the time, and the telemetry of others.
func untraced(surface string, r *http.Request) bool {
	switch r.URL.Path {
	case "/healthz", web.MetricsPath:
		return surface != "gateway" || !strings.HasSuffix(web.Hostname(r.Host), "."+Domain)
	case "/v1/traces", "/loki/api/v1/push":
		return surface == "observer"
	}
	return false
}

// gauge registers a number that is read whenever it is asked for, past base's end; one that cannot be read has no value.
func (t *instruments) gauge(base context.Context, name, help string, read func(context.Context) (int, error)) error {
	return t.registry.Register(prometheus.NewGaugeFunc(prometheus.GaugeOpts{Name: name, Help: help}, func() float64 {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(base), gaugePatience)
		defer cancel()
		n, err := read(ctx)
		if err != nil {
			t.log.Warn("a metric cannot be read", "metric", name, "error", err)
			return math.NaN()
		}
		return float64(n)
	}))
}
