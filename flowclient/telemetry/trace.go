package telemetry

import (
	"cmp"
	"context"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"slices"
	"strconv"
	"strings"
	"time"

	"platform.dev/platform/flowclient"
)

// traces is how errors name the store of traces.
const traces = "trace store"

// traceAnswer is GET /api/traces/{id}. Tempo up to 1.5 calls scopes by their
// older name, and its version 2 puts the batches in trace.resourceSpans.
type traceAnswer struct {
	Batches []batch `json:"batches"`
	Trace   struct {
		ResourceSpans []batch `json:"resourceSpans"`
	} `json:"trace"`
}

type batch struct {
	Resource struct {
		Attributes []attribute `json:"attributes"`
	} `json:"resource"`
	ScopeSpans                  []scope `json:"scopeSpans"`
	InstrumentationLibrarySpans []scope `json:"instrumentationLibrarySpans"`
}

type scope struct {
	Spans []span `json:"spans"`
}

type span struct {
	TraceID      string      `json:"traceId"`
	SpanID       string      `json:"spanId"`
	ParentSpanID string      `json:"parentSpanId"`
	Name         string      `json:"name"`
	Start        nanos       `json:"startTimeUnixNano"`
	End          nanos       `json:"endTimeUnixNano"`
	Attributes   []attribute `json:"attributes"`
	Links        []struct {
		TraceID    string      `json:"traceId"`
		SpanID     string      `json:"spanId"`
		Attributes []attribute `json:"attributes"`
	} `json:"links"`
	Status struct {
		Code    json.RawMessage `json:"code"` // "STATUS_CODE_ERROR" or 2
		Message string          `json:"message"`
	} `json:"status"`
}

// attribute is a key with a value of one of several types.
type attribute struct {
	Key   string                     `json:"key"`
	Value map[string]json.RawMessage `json:"value"`
}

// nanos are written as text, by some versions as a number.
type nanos int64

// UnmarshalJSON reads either.
func (n *nanos) UnmarshalJSON(b []byte) error {
	v, err := strconv.ParseInt(strings.Trim(string(b), `"`), 10, 64)
	*n = nanos(v)
	return err
}

func (n nanos) time() time.Time { return time.Unix(0, int64(n)).UTC() }

// Trace is one trace with its spans, oldest first.
func (c *Client) Trace(ctx context.Context, id string) (flowclient.Trace, error) {
	if raw, err := hex.DecodeString(id); err != nil || len(raw) != 16 {
		return flowclient.Trace{}, &flowclient.Invalid{Field: "trace_id", Value: id, Why: "must be 32 hexadecimal digits"}
	}
	id = strings.ToLower(id)
	var answer traceAnswer
	err := c.ask(ctx, traces, c.cfg.Tempo+"/api/traces/"+id, &answer)
	if errors.Is(err, errMissing) {
		return flowclient.Trace{}, &flowclient.NotFound{Kind: "trace", Name: id}
	}
	if err != nil {
		return flowclient.Trace{}, err
	}
	t := flowclient.Trace{ID: id, Spans: []flowclient.Span{}}
	for _, b := range slices.Concat(answer.Batches, answer.Trace.ResourceSpans) {
		service := plain(b.Resource.Attributes)
		for _, sc := range slices.Concat(b.ScopeSpans, b.InstrumentationLibrarySpans) {
			for _, sp := range sc.Spans {
				t.Spans = append(t.Spans, sp.read(service))
			}
		}
	}
	slices.SortStableFunc(t.Spans, func(a, b flowclient.Span) int { return cmp.Or(a.Start.Compare(b.Start), b.End.Compare(a.End)) })
	return t, nil
}

// read is the span as flowclient has it.
func (s span) read(service map[string]string) flowclient.Span {
	code := strings.Trim(string(s.Status.Code), `"`)
	out := flowclient.Span{
		ID: hexID(s.SpanID, 8), Parent: hexID(s.ParentSpanID, 8), Name: s.Name,
		Service: service["service.name"], Namespace: service["service.namespace"],
		Start: s.Start.time(), End: s.End.time(),
		Failed: code == "STATUS_CODE_ERROR" || code == "2", Message: s.Status.Message, Attributes: plain(s.Attributes),
	}
	for _, l := range s.Links {
		out.Links = append(out.Links, flowclient.SpanLink{Trace: hexID(l.TraceID, 16), Span: hexID(l.SpanID, 8), Attributes: plain(l.Attributes)})
	}
	return out
}

// hexID is an id of so many bytes in hexadecimal: protobuf's JSON writes base64, OTLP's hexadecimal. "" for none.
func hexID(text string, size int) string {
	if raw, err := hex.DecodeString(text); err == nil && len(raw) == size {
		return strings.ToLower(text)
	}
	raw, err := base64.StdEncoding.DecodeString(text)
	if err != nil || len(raw) != size || allZero(raw) {
		return ""
	}
	return hex.EncodeToString(raw)
}

func allZero(b []byte) bool { return !slices.ContainsFunc(b, func(x byte) bool { return x != 0 }) }

// plain is attributes as text; nil for none.
func plain(list []attribute) map[string]string {
	if len(list) == 0 {
		return nil
	}
	out := map[string]string{}
	for _, a := range list {
		for _, raw := range a.Value {
			var text string
			if json.Unmarshal(raw, &text) != nil {
				text = string(raw)
			}
			out[a.Key] = text
		}
	}
	return out
}
