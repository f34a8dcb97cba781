package observer

import (
	"context"
	"fmt"

	"go.opentelemetry.io/otel/exporters/otlp/otlptrace"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"
)

// Exporter takes the spans of this process from the OpenTelemetry SDK, which
// makes them into OTLP as it would for a collector elsewhere. ExportSpans
// returns after the commit. The exporter must be shut down before Close.
func (s *Server) Exporter(ctx context.Context) (sdktrace.SpanExporter, error) {
	e, err := otlptrace.New(ctx, intake{s})
	if err != nil {
		return nil, fmt.Errorf("observer: %w", err)
	}
	return e, nil
}

// intake is the way to this store as an OTLP client: there is nothing to connect to.
type intake struct{ s *Server }

var _ otlptrace.Client = intake{}

func (intake) Start(context.Context) error { return nil }
func (intake) Stop(context.Context) error  { return nil }

// UploadTraces keeps the spans. One that cannot be kept is this program's own
// mistake; it is logged, and no reason to lose the others.
func (i intake) UploadTraces(ctx context.Context, sent []*tracepb.ResourceSpans) error {
	rows, rejected, why, err := spansOf(sent)
	if err != nil {
		return err
	}
	if rejected > 0 {
		i.s.cfg.Log.WarnContext(ctx, "spans are left out", "count", rejected, "why", why)
	}
	return i.s.writeSpans(ctx, rows)
}
