package web

import (
	"context"
	"log/slog"

	"go.opentelemetry.io/otel/trace"
)

// TraceLog adds trace_id and span_id to each record whose context has a span,
// so that a line of the log leads to its trace.
func TraceLog(next slog.Handler) slog.Handler { return traceLog{next} }

type traceLog struct{ slog.Handler }

// Handle adds the attributes and hands the record on.
func (h traceLog) Handle(ctx context.Context, r slog.Record) error {
	if span := trace.SpanContextFromContext(ctx); span.IsValid() {
		r = r.Clone()
		r.AddAttrs(slog.String("trace_id", span.TraceID().String()), slog.String("span_id", span.SpanID().String()))
	}
	return h.Handler.Handle(ctx, r)
}

// WithAttrs keeps the ids on records of the logger that is made from this one.
func (h traceLog) WithAttrs(attrs []slog.Attr) slog.Handler {
	return traceLog{h.Handler.WithAttrs(attrs)}
}

// WithGroup keeps the ids on records of the logger that is made from this one.
func (h traceLog) WithGroup(name string) slog.Handler { return traceLog{h.Handler.WithGroup(name)} }
