package flowtest

import (
	"fmt"
	"math/rand/v2"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"platform.dev/platform/flowclient"
)

// Observed is a store of traces and logs under test, and where it is told.
type Observed struct {
	Telemetry flowclient.Telemetry
	OTLP      string // base address of POST /v1/traces
	Loki      string // base address of POST /loki/api/v1/push
	Token     string // bearer token of both; "" sends none
}

// Telemetry is the contract of flowclient.Telemetry: what is told over OTLP
// and Loki's push is read back. It tells under names of its own, so that a
// store with other things in it may be used.
func Telemetry(t *testing.T, open func(t *testing.T) Observed) {
	t.Run("a trace is read back with its services, links and failure", func(t *testing.T) {
		o := open(t)
		id, name := fmt.Sprintf("%016x%016x", rand.Uint64()|1, rand.Uint64()), fmt.Sprintf("contract-%x", rand.Uint64())
		at := time.Now().Add(-2 * time.Second).Truncate(time.Millisecond).UTC()
		o.tell(t, o.OTLP+"/v1/traces", traceOf(id, name, at))
		var got flowclient.Trace
		eventually(t, func() bool {
			var err error
			got, err = o.Telemetry.Trace(t.Context(), id)
			if flowclient.IsNotFound(err) {
				return false
			}
			require.NoError(t, err)
			return len(got.Spans) == 2
		})
		head, child := got.Spans[0], got.Spans[1]
		assert.Equal(t, id, got.ID)
		assert.Equal(t, []string{"1111111111111111", "", "head", name, "platform"}, []string{head.ID, head.Parent, head.Name, head.Service, head.Namespace})
		assert.Equal(t, []string{"2222222222222222", head.ID, "child", name + "-child"}, []string{child.ID, child.Parent, child.Name, child.Service})
		assert.Equal(t, []any{at, at.Add(time.Second), true, "it broke"}, []any{head.Start, head.End, head.Failed, head.Message})
		assert.Equal(t, "shop", head.Attributes["project"])
		require.Len(t, head.Links, 1)
		assert.Equal(t, []string{"4bf92f3577b34da6a3ce929d0e0e4736", "00f067aa0ba902b7"}, []string{head.Links[0].Trace, head.Links[0].Span})
		assert.False(t, child.Failed)
	})
	t.Run("a trace that nobody told of is not found", func(t *testing.T) {
		_, err := open(t).Telemetry.Trace(t.Context(), fmt.Sprintf("%016x%016x", rand.Uint64()|1, rand.Uint64()))
		assert.True(t, flowclient.IsNotFound(err), "%v", err)
	})
	t.Run("lines are read back by labels, text and time, the newest of too many, oldest first", func(t *testing.T) {
		o := open(t)
		component := fmt.Sprintf("contract-%x", rand.Uint64())
		at := time.Now().Add(-10 * time.Second).Truncate(time.Millisecond).UTC()
		o.tell(t, o.Loki+"/loki/api/v1/push", linesOf(component, at))
		ask := func(stage, contains string, limit int, from time.Time) []string {
			entries, err := o.Telemetry.Logs(t.Context(), flowclient.LogQuery{
				Labels: map[string]string{"component": component, "ci_stage": stage}, Contains: contains, Limit: limit, From: from})
			require.NoError(t, err)
			texts := []string{}
			for _, e := range entries {
				assert.Equal(t, component, e.Labels["component"])
				texts = append(texts, e.Text)
			}
			return texts
		}
		eventually(t, func() bool { return len(ask("", "", 0, time.Time{})) == 4 })
		assert.Equal(t, []string{"one", "two", `three "quoted" \ {x}`}, ask("test", "", 0, time.Time{}))
		assert.Equal(t, []string{"two", `three "quoted" \ {x}`}, ask("test", "", 2, time.Time{}))
		assert.Equal(t, []string{`three "quoted" \ {x}`}, ask("test", `"quoted" \ {`, 0, time.Time{}))
		assert.Equal(t, []string{"two", "built", `three "quoted" \ {x}`}, ask("", "", 0, at.Add(time.Second)))
		assert.Empty(t, ask("publish", "", 0, time.Time{}))
	})
}

// traceOf is two spans of two services as OTLP's JSON.
func traceOf(id, name string, at time.Time) string {
	span := func(span, rest string, from, to time.Time) string {
		return fmt.Sprintf(`{"scopeSpans":[{"spans":[{"traceId":"%s","spanId":"%s",%s,"startTimeUnixNano":"%d","endTimeUnixNano":"%d"}]}],`,
			id, span, rest, from.UnixNano(), to.UnixNano())
	}
	service := func(name string) string {
		return fmt.Sprintf(`"resource":{"attributes":[{"key":"service.name","value":{"stringValue":"%s"}},{"key":"service.namespace","value":{"stringValue":"platform"}}]}}`, name)
	}
	return `{"resourceSpans":[` +
		span("1111111111111111", `"name":"head","kind":1,"attributes":[{"key":"project","value":{"stringValue":"shop"}}],
			"links":[{"traceId":"4bf92f3577b34da6a3ce929d0e0e4736","spanId":"00f067aa0ba902b7"}],"status":{"code":2,"message":"it broke"}`, at, at.Add(time.Second)) +
		service(name) + "," +
		span("2222222222222222", `"name":"child","kind":1,"parentSpanId":"1111111111111111"`, at.Add(100*time.Millisecond), at.Add(200*time.Millisecond)) +
		service(name+"-child") + "]}"
}

// linesOf is four lines of two stages as a push, a second apart.
func linesOf(component string, at time.Time) string {
	stamp := func(seconds int) int64 { return at.Add(time.Duration(seconds) * time.Second).UnixNano() }
	return fmt.Sprintf(`{"streams":[
		{"stream":{"component":"%[1]s","ci_stage":"test"},"values":[["%[2]d","one"],["%[3]d","two"],["%[5]d","three \"quoted\" \\ {x}"]]},
		{"stream":{"component":"%[1]s","ci_stage":"build"},"values":[["%[4]d","built"]]}]}`,
		component, stamp(0), stamp(1), stamp(2), stamp(3))
}

// tell posts JSON and expects it to be taken.
func (o Observed) tell(t *testing.T, url, body string) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, url, strings.NewReader(body))
	require.NoError(t, err)
	req.Header.Set("Content-Type", "application/json")
	if o.Token != "" {
		req.Header.Set("Authorization", "Bearer "+o.Token)
	}
	resp, err := http.DefaultTransport.RoundTrip(req)
	require.NoError(t, err)
	require.NoError(t, resp.Body.Close())
	require.Equal(t, 2, resp.StatusCode/100, resp.Status)
}

// eventually waits until a store that takes its time shows what it was told.
func eventually(t *testing.T, holds func() bool) {
	t.Helper()
	deadline, tick := time.NewTimer(20*time.Second), time.NewTicker(50*time.Millisecond)
	defer deadline.Stop()
	defer tick.Stop()
	for !holds() {
		select {
		case <-tick.C:
		case <-deadline.C:
			t.Fatal("what was told cannot be read after twenty seconds")
		}
	}
}
