package server

import (
	"context"
	"errors"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/trace"

	"platform.dev/platform/bots"
	"platform.dev/platform/commands"
)

// tracedCommands gives each command that is run a trace: everything that it
// asks of other parts belongs to it.
type tracedCommands struct {
	bots.Commands
	tracer trace.Tracer
}

// Parse is that of the commands; what it finds is traced when it runs.
func (t tracedCommands) Parse(bot, text string) (commands.Call, error) {
	call, err := t.Commands.Parse(bot, text)
	if err != nil || call.Command.Run == nil || call.Command.Bot == walkService {
		// A walkthrough looks at everything for minutes; its run has a trace of its own (recorder).
		return call, err
	}
	run := call.Command.Run
	call.Command.Run = func(ctx context.Context, req commands.Request, reply commands.Reply) error {
		ctx, span := t.tracer.Start(ctx, "@"+req.Bot+" "+req.Verb, trace.WithSpanKind(trace.SpanKindConsumer), trace.WithAttributes(
			attribute.String("origin", req.Key), attribute.String("persona", req.Who.Persona), attribute.String("project", req.Project)))
		defer span.End()
		req.Trace = traceparent(ctx)
		if told, ok := reply.(interface{ Traced(id string) }); ok {
			told.Traced(span.SpanContext().TraceID().String())
		}
		err := run(ctx, req, reply)
		var refusal commands.Refusal
		switch {
		case errors.As(err, &refusal):
			span.SetAttributes(attribute.Bool("refused", true)) // a decision, and no failure
		case err != nil:
			span.SetStatus(codes.Error, err.Error())
		}
		return err
	}
	return call, nil
}

// traceparent is the W3C trace context of what ctx is traced in, empty where it is not.
func traceparent(ctx context.Context) string {
	header := propagation.MapCarrier{}
	propagation.TraceContext{}.Inject(ctx, header)
	return header["traceparent"]
}
