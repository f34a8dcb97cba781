package flowclient

import (
	"context"
	"fmt"
	"regexp"
)

// traceForm is a W3C traceparent of version 00.
var traceForm = regexp.MustCompile(`^00-([0-9a-f]{32})-[0-9a-f]{16}-[0-9a-f]{2}$`)

var traceIDForm = regexp.MustCompile(`^[0-9a-f]{32}$`)

// TraceID is the trace id of a traceparent, "" when it is none.
func TraceID(traceparent string) string {
	if m := traceForm.FindStringSubmatch(traceparent); m != nil {
		return m[1]
	}
	return ""
}

// rememberTrace keeps the trace that a commit was asked for in, so that its
// build links to it. A context that is none is let be: a trace is never a
// reason not to commit.
func (c *Controller) rememberTrace(ctx context.Context, sha string, o Origin) error {
	if c.deps.Traces == nil || sha == "" || TraceID(o.Trace) == "" {
		return nil
	}
	return wrap(c.deps.Traces.Remember(ctx, sha, o.Trace, c.deps.Now()), "remember the trace of %s", ShortSHA(sha))
}

// tracesOf are the trace ids that commits were asked for in.
func (c *Controller) tracesOf(ctx context.Context, shas []string) (ids []string, err error) {
	if c.deps.Traces == nil {
		return nil, nil
	}
	for _, sha := range shas {
		traceparent, err := c.deps.Traces.Recall(ctx, sha)
		if err != nil {
			return nil, fmt.Errorf("trace of %s: %w", ShortSHA(sha), err)
		}
		if id := TraceID(traceparent); id != "" {
			ids = append(ids, id)
		}
	}
	return unique(ids), nil
}
