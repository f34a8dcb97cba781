package observer

import (
	"context"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"

	commonpb "go.opentelemetry.io/proto/otlp/common/v1"
	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/protobuf/proto"

	"platform.dev/platform/server/web"
)

// maxTrace is how many spans of a trace are answered: a larger one is refused, as Tempo does.
const maxTrace = 10_000

// trace answers GET /api/traces/{id}: {"batches": [...]}, each a ResourceSpans in
// protobuf's JSON (ids in base64), or OTLP's TracesData where Accept asks for protobuf.
func (s *Server) trace(w http.ResponseWriter, r *http.Request) error {
	id, err := traceID(r.PathValue("id"))
	if err != nil {
		return err
	}
	if err := s.pending(r.Context()); err != nil {
		return err
	}
	rows, err := s.spansIn(r.Context(), id, maxTrace+1)
	if err != nil {
		return err
	}
	switch {
	case len(rows) == 0:
		return refuse(http.StatusNotFound, "trace not found")
	case len(rows) > maxTrace:
		return refuse(http.StatusUnprocessableEntity, "trace exceeds max size (max spans: %d)", maxTrace)
	}
	batches, err := batchesOf(rows)
	if err != nil {
		return err
	}
	if strings.Contains(r.Header.Get("Accept"), "application/protobuf") {
		body, err := proto.Marshal(&tracepb.TracesData{ResourceSpans: batches})
		if err != nil {
			return fmt.Errorf("encode trace: %w", err)
		}
		w.Header().Set("Content-Type", "application/protobuf")
		_, _ = w.Write(body) // the client went away: there is nobody to tell
		return nil
	}
	answer := struct {
		Batches []json.RawMessage `json:"batches"`
	}{}
	for _, b := range batches {
		body, err := encodeJSON(b)
		if err != nil {
			return fmt.Errorf("encode trace: %w", err)
		}
		answer.Batches = append(answer.Batches, body)
	}
	return reply(w, answer)
}

// pending has spans that are on their way written first.
func (s *Server) pending(ctx context.Context) error {
	if s.cfg.Pending == nil {
		return nil
	}
	return s.cfg.Pending(ctx)
}

// traceID reads an id as Tempo does: hexadecimal, zeros at its beginning may be left out.
func traceID(text string) ([]byte, error) {
	if len(text) == 0 || len(text) > 32 {
		return nil, refuse(http.StatusBadRequest, "trace id %q: must be 1 to 32 hexadecimal digits", web.Echo(text))
	}
	id, err := hex.DecodeString(strings.Repeat("0", 32-len(text)) + text)
	if err != nil {
		return nil, refuse(http.StatusBadRequest, "trace id %q: must be 1 to 32 hexadecimal digits", web.Echo(text))
	}
	return id, nil
}

// batchesOf groups a trace's spans by resource, then by scope, in the order in which each is first seen.
func batchesOf(rows []span) ([]*tracepb.ResourceSpans, error) {
	var out []*tracepb.ResourceSpans
	resources, scopes := map[string]*tracepb.ResourceSpans{}, map[string]*tracepb.ScopeSpans{}
	for _, row := range rows {
		var sp tracepb.Span
		if err := proto.Unmarshal(row.body, &sp); err != nil {
			return nil, fmt.Errorf("decode span: %w", err)
		}
		scope := scopes[string(row.envelope)]
		if scope == nil {
			var envelope tracepb.ResourceSpans
			if err := proto.Unmarshal(row.envelope, &envelope); err != nil {
				return nil, fmt.Errorf("decode resource: %w", err)
			}
			scope = envelope.ScopeSpans[0]
			scopes[string(row.envelope)] = scope
			envelope.ScopeSpans = nil
			key, err := canonical.Marshal(&envelope)
			if err != nil {
				return nil, fmt.Errorf("encode resource: %w", err)
			}
			if resources[string(key)] == nil {
				resources[string(key)] = &envelope
				out = append(out, &envelope)
			}
			batch := resources[string(key)]
			batch.ScopeSpans = append(batch.ScopeSpans, scope)
		}
		scope.Spans = append(scope.Spans, &sp)
	}
	return out, nil
}

// HasTrace tells whether a span of the trace is kept; id is 16 bytes.
func (s *Server) HasTrace(ctx context.Context, id [16]byte) (bool, error) {
	rows, err := s.spansIn(ctx, id[:], 1)
	return len(rows) > 0, err
}

// attributes are a span's own and its resource's, as text.
func (r span) attributes() (map[string]string, error) {
	var envelope tracepb.ResourceSpans
	var sp tracepb.Span
	if err := proto.Unmarshal(r.envelope, &envelope); err != nil {
		return nil, fmt.Errorf("decode resource: %w", err)
	}
	if err := proto.Unmarshal(r.body, &sp); err != nil {
		return nil, fmt.Errorf("decode span: %w", err)
	}
	all := map[string]string{"name": r.name}
	for _, kv := range append(envelope.GetResource().GetAttributes(), sp.GetAttributes()...) {
		all[kv.GetKey()] = worded(kv.GetValue())
	}
	return all, nil
}

// worded is an attribute's value as a search names it.
func worded(v *commonpb.AnyValue) string {
	switch v := v.GetValue().(type) {
	case *commonpb.AnyValue_StringValue:
		return v.StringValue
	case *commonpb.AnyValue_BoolValue:
		return fmt.Sprint(v.BoolValue)
	case *commonpb.AnyValue_IntValue:
		return fmt.Sprint(v.IntValue)
	case *commonpb.AnyValue_DoubleValue:
		return fmt.Sprint(v.DoubleValue)
	}
	return ""
}

// reply answers 200 with JSON.
func reply(w http.ResponseWriter, v any) error {
	body, err := json.Marshal(v)
	if err != nil {
		return fmt.Errorf("encode answer: %w", err)
	}
	w.Header().Set("Content-Type", "application/json")
	_, _ = w.Write(append(body, '\n')) // the client went away: there is nobody to tell
	return nil
}
