package server

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"maps"
	"slices"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"

	"platform.dev/platform/flowclient"
	"platform.dev/platform/server/observer"
	"platform.dev/platform/server/web"
)

// The services that recorded traces name.
const (
	buildService = "workflow"
	walkService  = "walkthrough"
)

// told is something that has ended, as a span: its head is the root of a trace
// of its own, the ids of which follow from parent.
type told struct {
	service    string
	parent     string // traceparent of the head span
	name       string
	start, end time.Time
	failed     bool
	message    string
	attributes map[string]string
	links      []link
	parts      []told // children; only name, times, failure and attributes are used
}

// link leads to another trace; kind says why.
type link struct{ traceparent, kind string }

// buildTrace is a build: a head span, and one span per stage that began. The
// head links to the context that its commit was made with, and to the
// walkthrough that it belongs to.
func buildTrace(b flowclient.Build, commit, walk string) told {
	t := told{
		service: buildService, parent: flowclient.TraceparentOf(flowclient.TraceBuild, b.Run), name: "build " + b.Component,
		start: b.CreatedAt, end: *b.CompletedAt, failed: b.Phase == flowclient.BuildFailed, message: b.Message,
		attributes: map[string]string{"project": b.Project, "component": b.Component, "run": b.Run, "commit": b.Commit, "phase": b.Phase},
	}
	if b.StartedAt != nil {
		t.start = *b.StartedAt
	}
	for _, l := range []link{{commit, "commit"}, {walk, flowclient.TraceWalkthrough}} {
		if l.traceparent != "" {
			t.links = append(t.links, l)
		}
	}
	for _, s := range b.Stages {
		if s.StartedAt == nil {
			continue // skipped
		}
		end := t.end
		if s.CompletedAt != nil {
			end = *s.CompletedAt
		}
		t.parts = append(t.parts, told{
			name: s.Name, start: *s.StartedAt, end: end, failed: s.Phase == flowclient.BuildFailed, message: s.Message,
			attributes: map[string]string{"ci_stage": s.Name, "phase": s.Phase},
		})
	}
	return t
}

// walkOf is the traceparent of the walkthrough that made the project, "" where none did.
func walkOf(walks []flowclient.Walkthrough, project string) string {
	for _, w := range walks {
		if w.Project == project && project != "" {
			return flowclient.TraceparentOf(flowclient.TraceWalkthrough, project)
		}
	}
	return ""
}

// walkTrace is a walkthrough's run, linking every build's trace.
func walkTrace(w flowclient.Walkthrough, builds []observer.Found) told {
	t := told{
		service: walkService, parent: flowclient.TraceparentOf(flowclient.TraceWalkthrough, w.Project), name: "walkthrough " + w.Template,
		start: w.Started, end: *w.Ended, failed: w.Result == "failed", message: w.Message,
		attributes: map[string]string{"project": w.Project, "template": w.Template, "result": w.Result, "topic": w.Topic},
	}
	for _, b := range builds {
		if b.RootSpan != "" {
			t.links = append(t.links, link{"00-" + b.TraceID + "-" + b.RootSpan + "-01", flowclient.TraceBuild})
		}
	}
	return t
}

// record makes the spans and hands them over, to the observer last:
// what is there counts as recorded, and is not recorded again. Recorded twice
// all the same, after a kill in between, the ids are the same.
func (t *instruments) record(ctx context.Context, what told) error {
	head := web.ParseTraceparent(what.parent)
	if !head.IsValid() {
		return fmt.Errorf("record %s: %q is no traceparent", what.name, what.parent)
	}
	done := &gathered{}
	tracer := sdktrace.NewTracerProvider(sdktrace.WithResource(serviceResource(what.service)), sdktrace.WithSampler(sdktrace.AlwaysSample()),
		sdktrace.WithIDGenerator(&sequence{head: head}), sdktrace.WithSpanProcessor(done)).Tracer("recorder")
	inside, span := what.begin(ctx, tracer, trace.WithNewRoot())
	for _, part := range what.parts {
		_, child := part.begin(inside, tracer)
		part.finish(child)
	}
	what.finish(span)
	if t.elsewhere != nil {
		_ = t.elsewhere.ExportSpans(ctx, done.spans) // said has told of it
	}
	if err := t.embedded.SpanExporter.ExportSpans(ctx, done.spans); err != nil {
		return fmt.Errorf("record %s: %w", what.name, err)
	}
	return nil
}

// begin starts the span at its recorded time.
func (w told) begin(ctx context.Context, tracer trace.Tracer, opts ...trace.SpanStartOption) (context.Context, trace.Span) {
	opts = append(opts, trace.WithTimestamp(w.start))
	for _, key := range slices.Sorted(maps.Keys(w.attributes)) {
		opts = append(opts, trace.WithAttributes(attribute.String(key, w.attributes[key])))
	}
	for _, l := range w.links {
		if to := web.ParseTraceparent(l.traceparent); to.IsValid() {
			opts = append(opts, trace.WithLinks(trace.Link{SpanContext: to, Attributes: []attribute.KeyValue{attribute.String("kind", l.kind)}}))
		}
	}
	return tracer.Start(ctx, w.name, opts...)
}

// finish ends the span at its recorded time.
func (w told) finish(span trace.Span) {
	if w.failed {
		span.SetStatus(codes.Error, w.message)
	}
	span.End(trace.WithTimestamp(w.end))
}

// sequence gives a trace and its head span the ids they must have, and the spans below ids that follow from them.
type sequence struct {
	head trace.SpanContext
	n    uint64
}

// NewIDs are the head's.
func (s *sequence) NewIDs(context.Context) (trace.TraceID, trace.SpanID) {
	return s.head.TraceID(), s.head.SpanID()
}

// NewSpanID is the next one below.
func (s *sequence) NewSpanID(_ context.Context, id trace.TraceID) trace.SpanID {
	s.n++
	head := s.head.SpanID()
	sum := sha256.Sum256(binary.BigEndian.AppendUint64(append(id[:], head[:]...), s.n))
	return trace.SpanID(sum[:8])
}

// gathered keeps the spans of one recording, to be exported together.
type gathered struct{ spans []sdktrace.ReadOnlySpan }

func (*gathered) OnStart(context.Context, sdktrace.ReadWriteSpan) {}
func (g *gathered) OnEnd(s sdktrace.ReadOnlySpan)                 { g.spans = append(g.spans, s) }
func (*gathered) Shutdown(context.Context) error                  { return nil }
func (*gathered) ForceFlush(context.Context) error                { return nil }
