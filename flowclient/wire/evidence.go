package wire

import (
	"net/url"
	"regexp"
)

// These take GET and answer 200 with a flowclient.Evidence; the last with ?trace_id=.
const (
	BuildEvidencePath   = "/evidence/build/{run}"
	BindingEvidencePath = "/evidence/binding/{name}"
	FlowEvidencePath    = "/evidence/flow"
)

var traceID = regexp.MustCompile(`^[0-9a-f]{32}$`)

// FlowTrace reads the trace id from a query; *flowclient.Invalid when it is none.
func FlowTrace(query string) (string, error) {
	q, err := Query(query, "trace_id")
	if err != nil {
		return "", err
	}
	if !traceID.MatchString(q["trace_id"]) {
		return "", invalid("trace_id", q["trace_id"], "must be 32 hexadecimal digits in lower case")
	}
	return q["trace_id"], nil
}

// FlowQuery is the query that asks for the evidence of a trace.
func FlowQuery(trace string) string { return url.Values{"trace_id": {trace}}.Encode() }
