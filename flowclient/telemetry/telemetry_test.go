package telemetry_test

import (
	"errors"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"platform.dev/platform/flowclient"
	"platform.dev/platform/flowclient/telemetry"
)

// TestMain asks that every test ends what it began.
func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const id = "0af7651916cd43dd8448eb211c80319c"

// answering is a server that answers each path and records what it was asked.
func answering(t *testing.T, status int, body string) (base string, asked *[]*http.Request) {
	t.Helper()
	asked = &[]*http.Request{}
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		*asked = append(*asked, r)
		w.WriteHeader(status)
		_, _ = w.Write([]byte(body))
	}))
	t.Cleanup(s.Close)
	return s.URL, asked
}

func client(t *testing.T, base string, change ...func(*telemetry.Config)) *telemetry.Client {
	t.Helper()
	transport := &http.Transport{}
	t.Cleanup(transport.CloseIdleConnections)
	cfg := telemetry.Config{Tempo: base + "/tempo", Loki: base + "/loki-base/", Transport: transport}
	for _, f := range change {
		f(&cfg)
	}
	c, err := telemetry.New(cfg)
	require.NoError(t, err)
	return c
}

// The same trace as Tempo answers it: today's shape, that of 1.5 and before, and that of /api/v2.
const (
	spans = `[{"traceId":"CvdlGRbNQ92ESOshHIAxnA==","spanId":"t61rcWkgMzE=","name":"build shop-web","kind":"SPAN_KIND_INTERNAL",
	  "startTimeUnixNano":"1795154400000000000","endTimeUnixNano":"1795154405250000000",
	  "attributes":[{"key":"project","value":{"stringValue":"shop"}},{"key":"attempt","value":{"intValue":"2"}},{"key":"clean","value":{"boolValue":true}}],
	  "links":[{"traceId":"S/kvNXezTaajzpKdDg5HNg==","spanId":"APBnqgupArc="}],
	  "status":{"code":"STATUS_CODE_ERROR","message":"stage test failed"}},
	 {"traceId":"CvdlGRbNQ92ESOshHIAxnA==","spanId":"APBnqgupArg=","parentSpanId":"t61rcWkgMzE=","name":"test","startTimeUnixNano":"1795154401000000000","endTimeUnixNano":"1795154402000000000","status":{}}]`
	service = `"resource":{"attributes":[{"key":"service.name","value":{"stringValue":"workflow"}},{"key":"service.namespace","value":{"stringValue":"platform"}}]}`
	today   = `{"batches":[{` + service + `,"scopeSpans":[{"scope":{"name":"builds"},"spans":` + spans + `}]}]}`
	before  = `{"batches":[{` + service + `,"instrumentationLibrarySpans":[{"instrumentationLibrary":{"name":"builds"},"spans":` + spans + `}]}]}`
	second  = `{"trace":{"resourceSpans":[{` + service + `,"scopeSpans":[{"spans":` + spans + `}]}]}}`
)

func TestATraceIsReadInEachShapeThatTempoHasHad(t *testing.T) {
	want := flowclient.Trace{ID: id, Spans: []flowclient.Span{
		{ID: "b7ad6b7169203331", Name: "build shop-web", Service: "workflow", Namespace: "platform",
			Start: time.Date(2026, 11, 20, 6, 0, 0, 0, time.UTC), End: time.Date(2026, 11, 20, 6, 0, 5, 250_000_000, time.UTC),
			Failed: true, Message: "stage test failed",
			Attributes: map[string]string{"project": "shop", "attempt": "2", "clean": "true"},
			Links:      []flowclient.SpanLink{{Trace: "4bf92f3577b34da6a3ce929d0e0e4736", Span: "00f067aa0ba902b7"}}},
		{ID: "00f067aa0ba902b8", Parent: "b7ad6b7169203331", Name: "test", Service: "workflow", Namespace: "platform",
			Start: time.Date(2026, 11, 20, 6, 0, 1, 0, time.UTC), End: time.Date(2026, 11, 20, 6, 0, 2, 0, time.UTC)},
	}}
	for name, body := range map[string]string{"scopeSpans": today, "instrumentationLibrarySpans": before, "version 2": second} {
		t.Run(name, func(t *testing.T) {
			base, asked := answering(t, http.StatusOK, body)
			got, err := client(t, base).Trace(t.Context(), id)
			require.NoError(t, err)
			assert.Equal(t, want, got)
			assert.Equal(t, "/tempo/api/traces/"+id, (*asked)[0].URL.Path)
		})
	}
}

func TestCredentialsAreSentAsConfigured(t *testing.T) {
	base, asked := answering(t, http.StatusOK, today)
	_, err := client(t, base, func(c *telemetry.Config) { c.User, c.Password, c.Tenant = "admin", "secret", "team" }).Trace(t.Context(), id)
	require.NoError(t, err)
	_, err = client(t, base, func(c *telemetry.Config) { c.Token = "t" }).Trace(t.Context(), id)
	require.NoError(t, err)
	user, password, _ := (*asked)[0].BasicAuth()
	assert.Equal(t, []string{"admin", "secret", "team"}, []string{user, password, (*asked)[0].Header.Get("X-Scope-OrgID")})
	assert.Equal(t, "Bearer t", (*asked)[1].Header.Get("Authorization"))
}

func TestLogsAreAskedByLabelsAndComeOldestFirst(t *testing.T) {
	base, asked := answering(t, http.StatusOK, `{"status":"success","data":{"resultType":"streams","result":[
	 {"stream":{"component":"shop-web","ci_stage":"test"},"values":[["1795154402000000000","third"],["1795154400000000000","second of the instant"],["1795154400000000000","first"]]},
	 {"stream":{"component":"shop-web","ci_stage":"build","detected_level":"error"},"values":[["1795154401000000000","between",{"k":"v"}]]}],"stats":{}}}`)
	at := time.Date(2026, 11, 20, 6, 0, 0, 0, time.UTC)
	got, err := client(t, base).Logs(t.Context(), flowclient.LogQuery{
		Labels: map[string]string{"component": `shop"web`, "ci_stage": "test", "run": ""}, Contains: "x\n", From: at, To: at.Add(time.Hour), Limit: 40})
	require.NoError(t, err)
	var lines []string
	for _, e := range got {
		lines = append(lines, e.Text)
	}
	assert.Equal(t, []string{"first", "second of the instant", "between", "third"}, lines)
	assert.Equal(t, "error", got[2].Labels["detected_level"])
	assert.Equal(t, at, got[0].At)
	v := (*asked)[0].URL.Query()
	assert.Equal(t, "/loki-base/loki/api/v1/query_range", (*asked)[0].URL.Path)
	assert.Equal(t, `{ci_stage="test",component="shop\"web"} |= "x\n"`, v.Get("query"))
	assert.Equal(t, []string{"40", "backward", "1795154400000000000", "1795158000000000000"}, []string{v.Get("limit"), v.Get("direction"), v.Get("start"), v.Get("end")})
}

func TestErrorsSayWhatAndWhere(t *testing.T) {
	var notFound *flowclient.NotFound
	var invalid *flowclient.Invalid
	var upstream *flowclient.Upstream
	labels := flowclient.LogQuery{Labels: map[string]string{"component": "c"}}

	base, _ := answering(t, http.StatusNotFound, "trace not found")
	_, err := client(t, base).Trace(t.Context(), id)
	require.ErrorAs(t, err, &notFound)
	_, err = client(t, base).Logs(t.Context(), labels)
	require.ErrorAs(t, err, &upstream, "a gateway that routes nowhere looks like an empty store, and is none")

	base, _ = answering(t, http.StatusBadRequest, "parse error at line 1,\n col 2")
	_, err = client(t, base).Logs(t.Context(), labels)
	require.ErrorAs(t, err, &invalid)
	assert.Equal(t, "parse error at line 1, col 2", invalid.Why)

	base, asked := answering(t, http.StatusBadGateway, "no upstream")
	_, err = client(t, base).Logs(t.Context(), labels)
	require.ErrorAs(t, err, &upstream)
	assert.Equal(t, "log store", upstream.Part)
	assert.ErrorContains(t, err, "status 502: no upstream")
	assert.Len(t, *asked, 3, "a read is tried again")

	for name, body := range map[string]string{"no JSON": "<html>", "no line": `{"data":{"result":[{"values":[[1,2]]}]}}`} {
		t.Run(name, func(t *testing.T) {
			base, _ := answering(t, http.StatusOK, body)
			_, err := client(t, base).Logs(t.Context(), labels)
			assert.ErrorAs(t, err, &upstream)
		})
	}
	base, _ = answering(t, http.StatusOK, `{}`)
	c := client(t, base)
	for field, ask := range map[string]func() error{
		"trace_id": func() error { _, err := c.Trace(t.Context(), "../labels"); return err },
		"labels":   func() error { _, err := c.Logs(t.Context(), flowclient.LogQuery{}); return err },
		"limit": func() error {
			_, err := c.Logs(t.Context(), flowclient.LogQuery{Labels: labels.Labels, Limit: 5001})
			return err
		},
	} {
		err := ask()
		require.True(t, errors.As(err, &invalid), field)
		assert.Equal(t, field, invalid.Field)
	}
	_, err = c.Logs(t.Context(), flowclient.LogQuery{Labels: map[string]string{`a="b",c`: "d"}})
	require.ErrorAs(t, err, &invalid, "a label's name cannot change the query")
}

func TestAWrongConfigurationNamesTheField(t *testing.T) {
	for field, cfg := range map[string]telemetry.Config{
		"Tempo": {Loki: "http://l"},
		"Loki":  {Tempo: "http://t", Loki: "ftp://l"},
		"Token": {Tempo: "http://t", Loki: "http://l", User: "u", Token: "t"},
	} {
		_, err := telemetry.New(cfg)
		var invalid *flowclient.Invalid
		require.ErrorAs(t, err, &invalid)
		assert.Equal(t, field, invalid.Field)
	}
	_, err := telemetry.New(telemetry.Config{Tempo: "http://u:p@t", Loki: "http://l"})
	require.Error(t, err, "credentials in an address would stand in errors")
}
