package flowclient

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"time"
)

// Telemetry reads back what was traced and logged (port). Errors: *NotFound,
// *Invalid (the store refused the question), *Upstream for everything else.
type Telemetry interface {
	// Trace is one trace with its spans, oldest first; *NotFound when none of it is kept.
	Trace(ctx context.Context, id string) (Trace, error)
	// Logs are the lines that match, oldest first; of more than q.Limit, the newest.
	Logs(ctx context.Context, q LogQuery) ([]LogEntry, error)
}

// Trace is what is kept of one trace.
type Trace struct {
	ID    string `json:"id"` // 32 hexadecimal digits
	Spans []Span `json:"spans"`
}

// Span is one span of a trace.
type Span struct {
	ID         string            `json:"id"`               // 16 hexadecimal digits
	Parent     string            `json:"parent,omitempty"` // "" for a root
	Name       string            `json:"name"`
	Service    string            `json:"service"`             // service.name
	Namespace  string            `json:"namespace,omitempty"` // service.namespace
	Start      time.Time         `json:"start"`
	End        time.Time         `json:"end"`
	Failed     bool              `json:"failed,omitempty"`
	Message    string            `json:"message,omitempty"` // of a failed one
	Attributes map[string]string `json:"attributes,omitempty"`
	Links      []SpanLink        `json:"links,omitempty"`
}

// SpanLink leads to a span of another trace.
type SpanLink struct {
	Trace      string            `json:"trace"`
	Span       string            `json:"span"`
	Attributes map[string]string `json:"attributes,omitempty"`
}

// LogQuery asks for log lines.
type LogQuery struct {
	Labels   map[string]string // each must be equal; at least one: ci_stage, component, project, environment, run, stream
	Contains string            // text that a line must have; "" for any
	From, To time.Time         // To is not part of the range; zero: the hour before To, and now
	Limit    int               // at most so many, the newest; 0: 100
}

// LogEntry is a log line with the labels it was kept under.
type LogEntry struct {
	At     time.Time         `json:"at"`
	Labels map[string]string `json:"labels"`
	Text   string            `json:"text"`
}

// The kinds of things that have a trace of their own, for TraceparentOf.
const (
	TraceBuild       = "build"       // name: the run's
	TraceWalkthrough = "walkthrough" // name: the walkthrough's project
)

// TraceparentOf is the W3C traceparent of the head span of a thing's own trace.
// It follows from kind and name alone, so that a trace can be linked to before
// it is recorded, and recording it again after a restart does not double it.
func TraceparentOf(kind, name string) string {
	sum := sha256.Sum256([]byte("platform/" + kind + "/" + name))
	return "00-" + hex.EncodeToString(sum[:16]) + "-" + hex.EncodeToString(sum[16:24]) + "-01"
}

// TraceIDOf is the trace id within TraceparentOf: 32 hexadecimal digits.
func TraceIDOf(kind, name string) string { return TraceparentOf(kind, name)[3:35] }
