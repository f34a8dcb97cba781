package observer_test

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/json"
	"fmt"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracehttp"
	"go.opentelemetry.io/otel/sdk/resource"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"
	collectorpb "go.opentelemetry.io/proto/otlp/collector/trace/v1"
	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/genproto/googleapis/rpc/status"
	"google.golang.org/protobuf/proto"

	"platform.dev/platform/server/observer"
)

// sent is a trace of two services as OTLP's JSON: ids in hexadecimal, kinds as numbers.
const sent = `{"resourceSpans":[
 {"resource":{"attributes":[{"key":"service.name","value":{"stringValue":"workflow"}},{"key":"service.namespace","value":{"stringValue":"platform"}}]},
  "scopeSpans":[{"scope":{"name":"builds","version":"1"},"spans":[
   {"traceId":"0af7651916cd43dd8448eb211c80319c","spanId":"b7ad6b7169203331","name":"build shop-web","kind":1,
    "startTimeUnixNano":"1795154400000000000","endTimeUnixNano":"1795154405250000000",
    "attributes":[{"key":"project","value":{"stringValue":"shop"}},{"key":"attempt","value":{"intValue":"2"}},{"key":"clean","value":{"boolValue":true}}],
    "links":[{"traceId":"4bf92f3577b34da6a3ce929d0e0e4736","spanId":"00f067aa0ba902b7","attributes":[{"key":"kind","value":{"stringValue":"commit"}}]}],
    "events":[{"timeUnixNano":"1795154401000000000","name":"cloned"}],"status":{"code":2,"message":"stage test failed"}}]}]},
 {"resource":{"attributes":[{"key":"service.name","value":{"stringValue":"git"}}]},
  "scopeSpans":[{"spans":[
   {"traceId":"0AF7651916CD43DD8448EB211C80319C","spanId":"00f067aa0ba902b8","parentSpanId":"b7ad6b7169203331","name":"clone","kind":3,
    "startTimeUnixNano":"1795154400500000000","endTimeUnixNano":"1795154401000000000","somethingNew":{"traceId":7}}]}]}]}`

const sentID = "0af7651916cd43dd8448eb211c80319c"

func TestATraceSentAsJSONIsAnsweredInTemposShape(t *testing.T) {
	r := newRig(t)
	got := r.post("/v1/traces", sent)
	require.Equal(t, 200, got.status, got.body)
	assert.Equal(t, "{}", got.body)
	golden(t, "trace.json", r.get("/api/traces/"+sentID))
	golden(t, "search.json", r.get("/api/search?limit=5"))
}

func TestASpanSentTwiceIsOne(t *testing.T) {
	r := newRig(t)
	require.Equal(t, 200, r.post("/v1/traces", sent).status)
	before := r.get("/api/traces/" + sentID)
	require.Equal(t, 200, r.post("/v1/traces", sent).status)
	assert.Equal(t, before.body, r.get("/api/traces/"+sentID).body)
}

func TestATraceIsAnsweredAsProtobufWhereAsked(t *testing.T) {
	r := newRig(t)
	require.Equal(t, 200, r.post("/v1/traces", sent).status)
	got := r.do("GET", "/api/traces/"+sentID, "", map[string]string{"Accept": "application/protobuf"})
	require.Equal(t, 200, got.status)
	var data tracepb.TracesData
	require.NoError(t, proto.Unmarshal([]byte(got.body), &data))
	require.Len(t, data.GetResourceSpans(), 2)
	assert.Equal(t, "clone", data.GetResourceSpans()[1].GetScopeSpans()[0].GetSpans()[0].GetName())
}

// record makes a trace with the SDK through exporter and returns its id.
func record(t *testing.T, exporter sdktrace.SpanExporter) string {
	t.Helper()
	tp := sdktrace.NewTracerProvider(sdktrace.WithBatcher(exporter), sdktrace.WithResource(
		resource.NewSchemaless(attribute.String("service.name", "flow"), attribute.String("service.namespace", "platform"))))
	tracer := tp.Tracer("test")
	elsewhere := trace.NewSpanContext(trace.SpanContextConfig{TraceID: trace.TraceID{15: 7}, SpanID: trace.SpanID{7: 9}, TraceFlags: trace.FlagsSampled})
	ctx, root := tracer.Start(t.Context(), "POST /promote", trace.WithTimestamp(begun), trace.WithLinks(trace.Link{SpanContext: elsewhere}))
	_, child := tracer.Start(ctx, "pin shop-web-production", trace.WithTimestamp(begun.Add(time.Millisecond)))
	child.SetAttributes(attribute.String("component", "shop-web"))
	child.End(trace.WithTimestamp(begun.Add(2 * time.Millisecond)))
	root.End(trace.WithTimestamp(begun.Add(3 * time.Millisecond)))
	require.NoError(t, tp.Shutdown(context.WithoutCancel(t.Context())))
	return root.SpanContext().TraceID().String()
}

// spansOf reads a trace back by the paths that the interface document gives.
func spansOf(t *testing.T, r *rig, id string) map[string]string {
	t.Helper()
	got := r.get("/api/traces/" + id)
	require.Equal(t, 200, got.status, got.body)
	var doc struct {
		Batches []struct {
			Resource struct {
				Attributes []struct {
					Key   string
					Value struct{ StringValue string }
				}
			}
			ScopeSpans []struct {
				Spans []struct{ Name, SpanID, ParentSpanID string }
			}
		}
	}
	require.NoError(t, json.Unmarshal([]byte(got.body), &doc))
	names := map[string]string{}
	for _, b := range doc.Batches {
		require.Equal(t, "service.name", b.Resource.Attributes[0].Key)
		for _, ss := range b.ScopeSpans {
			for _, sp := range ss.Spans {
				names[sp.Name] = b.Resource.Attributes[0].Value.StringValue
			}
		}
	}
	return names
}

func TestTheSDKExportsIntoTheStoreInThisProcess(t *testing.T) {
	r := newRig(t)
	exporter, err := r.s.Exporter(t.Context())
	require.NoError(t, err)
	id := record(t, exporter)
	assert.Equal(t, map[string]string{"POST /promote": "flow", "pin shop-web-production": "flow"}, spansOf(t, r, id))
}

func TestWhatIsOnItsWayIsWrittenBeforeAQuestionIsAnswered(t *testing.T) {
	var tp *sdktrace.TracerProvider
	r := newRig(t, func(c *observer.Config) { c.Pending = func(ctx context.Context) error { return tp.ForceFlush(ctx) } })
	exporter, err := r.s.Exporter(t.Context())
	require.NoError(t, err)
	tp = sdktrace.NewTracerProvider(sdktrace.WithBatcher(exporter, sdktrace.WithBatchTimeout(time.Hour)))
	defer func() { assert.NoError(t, tp.Shutdown(context.WithoutCancel(t.Context()))) }()
	_, sp := tp.Tracer("test").Start(t.Context(), "just ended")
	sp.End()
	assert.Contains(t, r.get("/api/search").body, "just ended")
	_, sp = tp.Tracer("test").Start(t.Context(), "the next")
	sp.End()
	assert.Contains(t, r.get("/api/traces/"+sp.SpanContext().TraceID().String()).body, "the next")
}

func TestTheRealOTLPExporterReachesTheStoreOverHTTP(t *testing.T) {
	for name, compression := range map[string]otlptracehttp.Compression{"plain": otlptracehttp.NoCompression, "gzip": otlptracehttp.GzipCompression} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t)
			exporter, err := otlptracehttp.New(t.Context(), otlptracehttp.WithEndpointURL(r.http.URL+"/v1/traces"),
				otlptracehttp.WithHeaders(map[string]string{"Authorization": "Bearer " + token}), otlptracehttp.WithCompression(compression))
			require.NoError(t, err)
			id := record(t, exporter)
			assert.Equal(t, map[string]string{"POST /promote": "flow", "pin shop-web-production": "flow"}, spansOf(t, r, id))
		})
	}
}

func TestTheStoreAnswersTheSameAfterARestart(t *testing.T) {
	dir, c := t.TempDir(), newClock()
	first := openRig(t, dir, c)
	require.Equal(t, 200, first.post("/v1/traces", sent).status)
	first.log(map[string]string{"component": "shop-web", "ci_stage": "test"}, begun.Add(-time.Minute), "ok")
	before := first.get("/api/traces/" + sentID)
	first.close()

	second := openRig(t, dir, c)
	assert.Equal(t, before.body, second.get("/api/traces/"+sentID).body)
	assert.Contains(t, second.get("/loki/api/v1/query_range?query="+url.QueryEscape(`{component="shop-web"}`)).body, `"ok"`)
	known, err := second.s.HasTrace(t.Context(), trace.TraceID{0x0a, 0xf7, 0x65, 0x19, 0x16, 0xcd, 0x43, 0xdd, 0x84, 0x48, 0xeb, 0x21, 0x1c, 0x80, 0x31, 0x9c})
	require.NoError(t, err)
	assert.True(t, known)
}

func TestSearchFindsTracesByTagsTimeAndDuration(t *testing.T) {
	r := newRig(t)
	require.Equal(t, 200, r.post("/v1/traces", sent).status)
	exporter, err := r.s.Exporter(t.Context())
	require.NoError(t, err)
	id := record(t, exporter)
	for query, want := range map[string][]string{
		"":                                     {sentID, id},
		"limit=1":                              {sentID},
		"tags=service.name%3Dflow":             {id},
		"tags=project%3Dshop+attempt%3D2":      {sentID},
		"tags=name%3D%22build+shop-web%22":     {sentID},
		"tags=service.name%3Dgit+clean%3Dtrue": {sentID}, // of different spans
		"tags=project%3Dblog":                  {},
		"minDuration=1s":                       {sentID},
		"maxDuration=1s":                       {id},
		"end=1795154400":                       {},
		"start=1795154401":                     {},
		"start=1795154400&end=1795154401":      {sentID, id},
	} {
		t.Run(query, func(t *testing.T) {
			got := r.get("/api/search?" + query)
			require.Equal(t, 200, got.status, got.body)
			var doc struct{ Traces []struct{ TraceID string } }
			require.NoError(t, json.Unmarshal([]byte(got.body), &doc))
			ids := []string{}
			for _, tr := range doc.Traces {
				ids = append(ids, tr.TraceID)
			}
			assert.ElementsMatch(t, want, ids)
		})
	}
}

func TestASpanThatCannotBeKeptIsToldAndTheOthersAreKept(t *testing.T) {
	r := newRig(t)
	bad := `{"resourceSpans":[{"scopeSpans":[{"spans":[
	 {"traceId":"0af7651916cd43dd8448eb211c80319c","spanId":"b7ad6b7169203331","name":"good","startTimeUnixNano":"1795154400000000000","endTimeUnixNano":"1795154400000000001"},
	 {"traceId":"00000000000000000000000000000000","spanId":"b7ad6b7169203331","name":"no trace","startTimeUnixNano":"1","endTimeUnixNano":"2"},
	 {"traceId":"0af7651916cd43dd8448eb211c80319c","spanId":"b7ad","name":"half a span","startTimeUnixNano":"1","endTimeUnixNano":"2"},
	 {"traceId":"0af7651916cd43dd8448eb211c80319c","spanId":"b7ad6b7169203332","name":"no time"}]}]}]}`
	got := r.post("/v1/traces", bad)
	require.Equal(t, 200, got.status, got.body)
	assert.JSONEq(t, `{"partialSuccess":{"rejectedSpans":"3","errorMessage":"span \"no trace\": traceId must be 16 bytes and not all zero"}}`, got.body)
	assert.NotContains(t, r.get("/api/traces/"+sentID).body, "half")

	huge := strings.Replace(sent, `"stage test failed"`, `"`+strings.Repeat("x", 70_000)+`"`, 1)
	assert.Contains(t, r.post("/v1/traces", huge).body, "are allowed")
}

func TestWrongTraceRequestsAreRefusedInTheRealProductsShapes(t *testing.T) {
	r := newRig(t)
	bearer := map[string]string{"Authorization": "Bearer " + token, "Content-Type": "application/json"}
	with := func(key, value string) map[string]string {
		h := map[string]string{}
		for k, v := range bearer {
			h[k] = v
		}
		h[key] = value
		return h
	}
	bomb := &bytes.Buffer{}
	z := gzip.NewWriter(bomb)
	_, err := z.Write(bytes.Repeat([]byte(" "), 17<<20))
	require.NoError(t, err)
	require.NoError(t, z.Close())
	for name, c := range map[string]struct {
		method, path, body string
		header             map[string]string
		status             int
		says               string
	}{
		"no token":            {"POST", "/v1/traces", sent, map[string]string{"Content-Type": "application/json"}, 401, "token"},
		"a wrong token":       {"POST", "/v1/traces", sent, with("Authorization", "Bearer x"), 401, "token"},
		"another media type":  {"POST", "/v1/traces", sent, with("Content-Type", "text/plain"), 415, "text/plain"},
		"another encoding":    {"POST", "/v1/traces", sent, with("Content-Encoding", "br"), 400, `Content-Encoding \"br\"`},
		"no gzip":             {"POST", "/v1/traces", sent, with("Content-Encoding", "gzip"), 400, "gzip"},
		"too large unpacked":  {"POST", "/v1/traces", bomb.String(), with("Content-Encoding", "gzip"), 413, "too large"},
		"no JSON":             {"POST", "/v1/traces", "{", bearer, 400, `"code":3`},
		"two objects":         {"POST", "/v1/traces", "{}{}", bearer, 400, "after the object"},
		"an id that is no id": {"POST", "/v1/traces", strings.Replace(sent, sentID, "zz", 1), bearer, 400, `traceId \"zz\"`},
		"a get":               {"GET", "/v1/traces", "", nil, 405, ""},
		"an unknown trace":    {"GET", "/api/traces/1", "", nil, 404, "trace not found"},
		"no trace id":         {"GET", "/api/traces/xyz", "", nil, 400, `"xyz"`},
		"a trace id too long": {"GET", "/api/traces/" + strings.Repeat("1", 33), "", nil, 400, "1 to 32"},
		"TraceQL":             {"GET", "/api/search?q=%7B%7D", "", nil, 400, "TraceQL"},
		"limit 0":             {"GET", "/api/search?limit=0", "", nil, 400, `invalid limit "0"`},
		"tags without value":  {"GET", "/api/search?tags=project", "", nil, 400, "key=value"},
		"tags half quoted":    {"GET", "/api/search?tags=" + url.QueryEscape(`a="b`), "", nil, 400, "quoted"},
		"start is no number":  {"GET", "/api/search?start=now", "", nil, 400, `invalid start "now"`},
		"minDuration":         {"GET", "/api/search?minDuration=-1s", "", nil, 400, "minDuration"},
	} {
		t.Run(name, func(t *testing.T) {
			got := r.do(c.method, c.path, c.body, c.header)
			assert.Equal(t, c.status, got.status, got.body)
			assert.Contains(t, got.body, c.says)
		})
	}
	assert.Equal(t, 404, r.get("/api/traces/"+sentID).status, "nothing of it was kept")
}

func TestAProtobufRequestIsAnsweredInProtobuf(t *testing.T) {
	r := newRig(t)
	header := map[string]string{"Authorization": "Bearer " + token, "Content-Type": "application/x-protobuf"}
	got := r.do("POST", "/v1/traces", "\xff", header)
	require.Equal(t, 400, got.status)
	var st status.Status
	require.NoError(t, proto.Unmarshal([]byte(got.body), &st))
	assert.Equal(t, int32(3), st.GetCode())

	many := &collectorpb.ExportTraceServiceRequest{ResourceSpans: []*tracepb.ResourceSpans{{ScopeSpans: []*tracepb.ScopeSpans{{}}}}}
	for i := range 10_001 {
		many.ResourceSpans[0].ScopeSpans[0].Spans = append(many.ResourceSpans[0].ScopeSpans[0].Spans, &tracepb.Span{
			TraceId: bytes.Repeat([]byte{1}, 16), SpanId: fmt.Appendf(nil, "%08d", i), Name: "s", StartTimeUnixNano: 1, EndTimeUnixNano: 2})
	}
	body, err := proto.Marshal(many)
	require.NoError(t, err)
	assert.Equal(t, 413, r.do("POST", "/v1/traces", string(body), header).status)
}

func TestSpansBeyondTheLimitGoOldestFirstAndAreCounted(t *testing.T) {
	r := newRig(t, func(c *observer.Config) { c.Limits.Spans = 3; c.Limits.Age = time.Hour })
	for i := range 5 {
		at := begun.Add(time.Duration(i) * time.Minute).UnixNano()
		body := fmt.Sprintf(`{"resourceSpans":[{"scopeSpans":[{"spans":[{"traceId":"%032d","spanId":"b7ad6b7169203331","name":"n","startTimeUnixNano":"%d","endTimeUnixNano":"%d"}]}]}]}`, i+1, at, at)
		require.Equal(t, 200, r.post("/v1/traces", body).status)
	}
	require.NoError(t, r.s.Sweep(t.Context()))
	assert.Equal(t, []int{404, 404, 200, 200, 200}, statuses(r))
	r.clock.advance(63*time.Minute + time.Second)
	require.NoError(t, r.s.Sweep(t.Context()))
	assert.Equal(t, []int{404, 404, 404, 404, 200}, statuses(r))
	d, err := r.s.Dropped(t.Context())
	require.NoError(t, err)
	assert.Equal(t, observer.Dropped{Spans: 4, SpansTo: begun.Add(3 * time.Minute)}, d)
}

func statuses(r *rig) []int {
	var got []int
	for i := range 5 {
		got = append(got, r.get(fmt.Sprintf("/api/traces/%d", i+1)).status)
	}
	return got
}
