package observer

import (
	"context"
	"database/sql"
	"fmt"

	commonpb "go.opentelemetry.io/proto/otlp/common/v1"
	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/protobuf/proto"

	"platform.dev/platform/server/web"
)

const (
	maxSpan  = 64 << 10 // bytes of a span
	maxBatch = 10_000   // spans of one request
)

// span is a row of the table.
type span struct {
	traceID, spanID, parentID []byte
	name, service, namespace  string
	started, ended            int64
	envelope, body            []byte
}

// canonical marshals the same message to the same bytes, so that equal resources can be told by comparison.
var canonical = proto.MarshalOptions{Deterministic: true}

// spansOf flattens what was sent into rows. A span that cannot be kept is
// counted with the reason of the first; the others are kept.
func spansOf(sent []*tracepb.ResourceSpans) (rows []span, rejected int, why string, err error) {
	for _, rs := range sent {
		service, namespace := text(rs.GetResource().GetAttributes(), "service.name"), text(rs.GetResource().GetAttributes(), "service.namespace")
		for _, ss := range rs.GetScopeSpans() {
			envelope, err := canonical.Marshal(&tracepb.ResourceSpans{
				Resource: rs.GetResource(), SchemaUrl: rs.GetSchemaUrl(),
				ScopeSpans: []*tracepb.ScopeSpans{{Scope: ss.GetScope(), SchemaUrl: ss.GetSchemaUrl()}},
			})
			if err != nil {
				return nil, 0, "", fmt.Errorf("encode resource: %w", err)
			}
			for _, sp := range ss.GetSpans() {
				body, err := canonical.Marshal(sp)
				if err != nil {
					return nil, 0, "", fmt.Errorf("encode span: %w", err)
				}
				if no := unfit(sp, len(body)+len(envelope)); no != "" {
					rejected++
					if why == "" {
						why = no
					}
					continue
				}
				rows = append(rows, span{
					traceID: sp.GetTraceId(), spanID: sp.GetSpanId(), parentID: sp.GetParentSpanId(),
					name: sp.GetName(), service: service, namespace: namespace,
					started: int64(sp.GetStartTimeUnixNano()), ended: int64(sp.GetEndTimeUnixNano()), // unfit has bounded them
					envelope: envelope, body: body,
				})
			}
		}
	}
	return rows, rejected, why, nil
}

// unfit says why a span cannot be kept; "" when it can.
func unfit(sp *tracepb.Span, size int) string {
	const lastInstant = 1<<63 - 1
	switch {
	case len(sp.GetTraceId()) != 16 || zero(sp.GetTraceId()):
		return fmt.Sprintf("span %q: traceId must be 16 bytes and not all zero", web.Echo(sp.GetName()))
	case len(sp.GetSpanId()) != 8 || zero(sp.GetSpanId()):
		return fmt.Sprintf("span %q: spanId must be 8 bytes and not all zero", web.Echo(sp.GetName()))
	case len(sp.GetParentSpanId()) != 0 && len(sp.GetParentSpanId()) != 8:
		return fmt.Sprintf("span %q: parentSpanId must be empty or 8 bytes", web.Echo(sp.GetName()))
	case sp.GetStartTimeUnixNano() == 0 || sp.GetStartTimeUnixNano() > lastInstant || sp.GetEndTimeUnixNano() > lastInstant:
		return fmt.Sprintf("span %q: startTimeUnixNano and endTimeUnixNano must be nanoseconds since 1970", web.Echo(sp.GetName()))
	case size > maxSpan:
		return fmt.Sprintf("span %q: %d bytes with its resource; %d are allowed", web.Echo(sp.GetName()), size, maxSpan)
	}
	return ""
}

func zero(id []byte) bool {
	for _, b := range id {
		if b != 0 {
			return false
		}
	}
	return true
}

// text is the value of a string attribute, "" where there is none.
func text(attributes []*commonpb.KeyValue, key string) string {
	for _, kv := range attributes {
		if kv.GetKey() == key {
			return kv.GetValue().GetStringValue()
		}
	}
	return ""
}

// writeSpans keeps the spans in one transaction. A span sent again replaces the first.
func (s *Server) writeSpans(ctx context.Context, rows []span) error {
	if len(rows) == 0 {
		return nil
	}
	err := s.file.Update(ctx, "spans", func(tx *sql.Tx) error {
		insert, err := tx.PrepareContext(ctx, `INSERT INTO span
			(trace_id, span_id, parent_id, name, service, namespace, started, ended, envelope, body)
			VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
			ON CONFLICT (trace_id, span_id) DO UPDATE SET parent_id = excluded.parent_id, name = excluded.name,
			service = excluded.service, namespace = excluded.namespace, started = excluded.started, ended = excluded.ended,
			envelope = excluded.envelope, body = excluded.body`)
		if err != nil {
			return fmt.Errorf("write spans: %w", err)
		}
		defer insert.Close()
		for _, r := range rows {
			if r.parentID == nil {
				r.parentID = []byte{}
			}
			if _, err := insert.ExecContext(ctx, r.traceID, r.spanID, r.parentID, r.name, r.service, r.namespace,
				r.started, r.ended, r.envelope, r.body); err != nil {
				return fmt.Errorf("write span: %w", err)
			}
		}
		return nil
	})
	if err == nil {
		s.wrote(len(rows), s.cfg.Limits.Spans)
	}
	return err
}

// spansIn reads a trace's rows, oldest first, at most limit.
func (s *Server) spansIn(ctx context.Context, traceID []byte, limit int) ([]span, error) {
	rows, err := s.file.Reader().QueryContext(ctx, `SELECT trace_id, span_id, parent_id, name, service, namespace, started, ended, envelope, body
		FROM span WHERE trace_id = ? ORDER BY started, id LIMIT ?`, traceID, limit)
	if err != nil {
		return nil, fmt.Errorf("read trace: %w", err)
	}
	defer rows.Close()
	var out []span
	for rows.Next() {
		var r span
		if err := rows.Scan(&r.traceID, &r.spanID, &r.parentID, &r.name, &r.service, &r.namespace,
			&r.started, &r.ended, &r.envelope, &r.body); err != nil {
			return nil, fmt.Errorf("read trace: %w", err)
		}
		out = append(out, r)
	}
	return out, rows.Err()
}
