package observer_test

import (
	"encoding/json"
	"fmt"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"platform.dev/platform/server/observer"
)

var (
	testing1 = map[string]string{"ci_stage": "test", "component": "shop-web", "project": "shop", "run": "shop-web-run-1"}
	building = map[string]string{"ci_stage": "build", "component": "shop-web", "project": "shop", "run": "shop-web-run-1"}
	serving  = map[string]string{"component": "shop-api", "project": "shop", "environment": "staging", "stream": "stderr"}
)

// spoken is a rig with lines of three streams, the last a second before now.
func spoken(t *testing.T) *rig {
	r := newRig(t)
	r.log(testing1, begun.Add(-10*time.Second), "running tests", "ok 1", "ok 2")
	r.log(building, begun.Add(-5*time.Second), "building", "error: <b> & done")
	r.log(serving, begun.Add(-1*time.Second), "listening on 8080")
	return r
}

func ask(query string, more ...string) string {
	v := url.Values{"query": {query}}
	for i := 0; i+1 < len(more); i += 2 {
		v.Set(more[i], more[i+1])
	}
	return "/loki/api/v1/query_range?" + v.Encode()
}

// texts are the lines of an answer, stream by stream.
func texts(t *testing.T, got answer) []string {
	t.Helper()
	require.Equal(t, 200, got.status, got.body)
	var doc struct {
		Data struct {
			Result []struct{ Values [][2]string }
		}
	}
	require.NoError(t, json.Unmarshal([]byte(got.body), &doc))
	out := []string{}
	for _, r := range doc.Data.Result {
		for _, v := range r.Values {
			out = append(out, v[1])
		}
	}
	return out
}

func TestLinesAreAnsweredInLokisShape(t *testing.T) {
	r := spoken(t)
	golden(t, "query_range.json", r.get(ask(`{component="shop-web", ci_stage="test"}`, "limit", "2")))
	golden(t, "labels.json", r.get("/loki/api/v1/labels"))
	golden(t, "values.json", r.get("/loki/api/v1/label/ci_stage/values"))
	golden(t, "empty.json", r.get(ask(`{component="nobody"}`)))
}

func TestSelectorsAndFiltersChooseLines(t *testing.T) {
	r := spoken(t)
	for query, want := range map[string][]string{
		`{component="shop-web"}`:                                  {"error: <b> & done", "building", "ok 2", "ok 1", "running tests"},
		`{ project = "shop" , ci_stage != "" , ci_stage!="test"}`: {"error: <b> & done", "building"},
		`{component=~"shop-.*",ci_stage!~"te.t|build"}`:           {"listening on 8080"},
		`{component=~"shop"}`:                                     {}, // anchored at both ends
		`{project="shop"} |= "ok"`:                                {"ok 2", "ok 1"},
		`{project="shop"} |= "ok" != "2"`:                         {"ok 1"},
		"{project=\"shop\"} |~ `^(ok|list)` !~ `\\d{4}`":          {"ok 2", "ok 1"},
		`{project="shop"} |= "a \"quoted\" word"`:                 {},
		`{environment="staging",}`:                                {"listening on 8080"},
		"{\n\tproject=\"shop\",\n\trun=\"\"}":                     {"listening on 8080"},
	} {
		t.Run(query, func(t *testing.T) { assert.Equal(t, want, texts(t, r.get(ask(query)))) })
	}
}

func TestRangeLimitAndDirectionAreHonoured(t *testing.T) {
	r := spoken(t)
	all := `{project="shop"}`
	nanos := func(d time.Duration) string { return fmt.Sprint(begun.Add(d).UnixNano()) }
	for name, c := range map[string]struct {
		more []string
		want []string
	}{
		"the newest":                {[]string{"limit", "1"}, []string{"listening on 8080"}},
		"the oldest":                {[]string{"limit", "2", "direction", "forward"}, []string{"running tests", "ok 1"}},
		"from a time on, itself in": {[]string{"start", nanos(-4 * time.Second)}, []string{"error: <b> & done", "listening on 8080"}},
		"up to a time, itself out":  {[]string{"end", nanos(-8 * time.Second)}, []string{"ok 1", "running tests"}},
		"since":                     {[]string{"since", "2s"}, []string{"listening on 8080"}},
		"seconds":                   {[]string{"start", "1795154395", "end", "1795154396.5"}, []string{"error: <b> & done", "building"}},
		"RFC 3339":                  {[]string{"start", "2026-11-20T05:59:59Z"}, []string{"listening on 8080"}},
		"an hour is the default":    {[]string{"end", nanos(2 * time.Hour)}, []string{}},
	} {
		t.Run(name, func(t *testing.T) { assert.Equal(t, c.want, texts(t, r.get(ask(all, c.more...)))) })
	}
}

func TestLabelsAndValuesBelongToTheRangeAndTheSelector(t *testing.T) {
	r := spoken(t)
	assert.JSONEq(t, `{"status":"success","data":["component","environment","project","stream"]}`,
		r.get("/loki/api/v1/labels?"+url.Values{"query": {`{environment="staging"}`}}.Encode()).body)
	assert.JSONEq(t, `{"status":"success","data":["shop-api","shop-web"]}`, r.get("/loki/api/v1/label/component/values").body)
	assert.JSONEq(t, `{"status":"success","data":["shop-api"]}`, r.get("/loki/api/v1/label/component/values?since=2s").body)
	assert.JSONEq(t, `{"status":"success","data":[]}`, r.get("/loki/api/v1/label/nothing/values").body)
}

func TestAPushIsKeptAndAnswered(t *testing.T) {
	r := newRig(t)
	at := begun.Add(-time.Minute).UnixNano()
	body := fmt.Sprintf(`{"streams":[{"stream":{"component":"elsewhere"},"values":[["%d","one"],["%d","two",{"trace_id":"1"}]]}]}`, at, at+1)
	require.Equal(t, 204, r.post("/loki/api/v1/push", body).status)
	assert.Equal(t, []string{"two", "one"}, texts(t, r.get(ask(`{component="elsewhere"}`))))
}

func TestWrongLogRequestsAreRefusedInLokisShape(t *testing.T) {
	r := newRig(t)
	at := fmt.Sprint(begun.UnixNano())
	value := func(stream, at, line string) string {
		return fmt.Sprintf(`{"streams":[{"stream":%s,"values":[["%s",%s]]}]}`, stream, at, line)
	}
	fit := `{"a":"b"}`
	for name, c := range map[string]struct {
		body, says string
		status     int
	}{
		"no JSON":               {"{", "no push of streams", 400},
		"no line":               {`{"streams":[]}`, "no line", 422},
		"no label":              {value(`{}`, at, `"x"`), "stream 0: 0 labels", 400},
		"a label's name":        {value(`{"0a":"b"}`, at, `"x"`), `label "0a"`, 400},
		"a label's long value":  {value(`{"a":"`+strings.Repeat("b", 2049)+`"}`, at, `"x"`), "label a: its value has 2049 bytes", 400},
		"too many labels":       {value(`{`+strings.TrimSuffix(many(16), ",")+`}`, at, `"x"`), "16 labels", 400},
		"no time":               {value(fit, "now", `"x"`), `value 0: time "now"`, 400},
		"too old":               {value(fit, "1", `"x"`), "too old", 400},
		"too new":               {value(fit, fmt.Sprint(begun.Add(time.Hour).UnixNano()), `"x"`), "too far ahead", 400},
		"a number for a line":   {value(fit, at, `7`), "must be [", 400},
		"one wrong, none kept":  {`{"streams":[{"stream":{"a":"b"},"values":[["` + at + `","x"],["y","x"]]}]}`, "value 1", 400},
		"a body beyond the end": {strings.Repeat(" ", 17<<20), "too large", 413},
	} {
		t.Run(name, func(t *testing.T) {
			got := r.post("/loki/api/v1/push", c.body)
			assert.Equal(t, c.status, got.status, got.body)
			assert.Contains(t, got.body, c.says)
		})
	}
	assert.Equal(t, []string{}, texts(t, r.get(ask(`{a=~".+"}`, "end", fmt.Sprint(begun.Add(time.Hour).UnixNano()), "since", "2h"))))
	assert.Equal(t, 401, r.do("POST", "/loki/api/v1/push", value(fit, at, `"x"`), nil).status)
	assert.Equal(t, 415, r.do("POST", "/loki/api/v1/push", "", map[string]string{"Authorization": "Bearer " + token, "Content-Type": "application/x-protobuf"}).status)

	for path, says := range map[string]string{
		ask(``):                                  "parse error at line 1, col 1: syntax error: unexpected end of query",
		ask(`{}`):                                "parse error : queries require at least one",
		ask(`{a=~".*"}`):                         "parse error : queries require at least one",
		ask(`{a!="b"}`):                          "parse error : queries require at least one",
		ask(`{a="b"`):                            "unexpected end of query, expecting }",
		ask(`{a="b}`):                            "expecting a quoted text",
		ask(`{a='b'}`):                           "expecting a quoted text",
		ask(`{a=~"("}`):                          "parse error : error parsing regexp",
		ask(`{a="b"} | json`):                    "pipeline stages",
		ask(`rate({a="b"}[5m])`):                 `unexpected "rate({a=`,
		ask("{\n0=\"b\"}"):                       "line 2, col 1",
		ask(`{a="` + strings.Repeat("b", 5000)):  "bytes; 4096 are allowed",
		ask(`{a="b"}`, "limit", "0"):             "limit must be a positive value",
		ask(`{a="b"}`, "limit", "5001"):          "max entries limit per query exceeded, limit > max_entries_limit_per_query (5001 > 5000)",
		ask(`{a="b"}`, "direction", "up"):        "invalid direction 'up'",
		ask(`{a="b"}`, "start", "noon"):          `invalid start "noon"`,
		ask(`{a="b"}`, "since", "x"):             `invalid since "x"`,
		ask(`{a="b"}`, "start", "5", "end", "4"): "end timestamp must not be before",
		"/loki/api/v1/label/0/values":            "invalid label name '0'",
		"/loki/api/v1/labels?query=x":            "parse error",
	} {
		t.Run(path, func(t *testing.T) {
			got := r.get(path)
			assert.Equal(t, 400, got.status, got.body)
			assert.Equal(t, "text/plain; charset=utf-8", got.header.Get("Content-Type"))
			assert.Contains(t, got.body, says)
		})
	}
}

// many is n labels.
func many(n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, `"l%d":"v",`, i)
	}
	return b.String()
}

func TestLinesBeyondTheLimitsGoOldestFirstAndAnswersSaySo(t *testing.T) {
	r := newRig(t, func(c *observer.Config) { c.Limits.Lines = 4; c.Limits.Age = time.Hour })
	r.log(testing1, begun.Add(-10*time.Second), "a", "b", "c")
	r.log(building, begun.Add(-5*time.Second), "d", "e", "f")
	assert.NotContains(t, r.get(ask(`{project="shop"}`)).body, "warnings")
	require.NoError(t, r.s.Sweep(t.Context()))
	assert.Equal(t, []string{"f", "e", "d", "c"}, texts(t, r.get(ask(`{project="shop"}`))))
	assert.Contains(t, r.get(ask(`{project="shop"}`)).body,
		`"warnings":["lines up to 2026-11-20T05:59:51Z may be missing: 2 were dropped, the oldest first; 4 lines are kept, for 1h0m0s"]`)
	assert.NotContains(t, r.get(ask(`{project="shop"}`, "since", "5s")).body, "warnings", "what is asked for is complete")

	r.clock.advance(time.Hour - 6*time.Second)
	require.NoError(t, r.s.Sweep(t.Context()))
	assert.Equal(t, []string{"f", "e", "d"}, texts(t, r.get(ask(`{project="shop"}`))))
	assert.JSONEq(t, `{"status":"success","data":["build"]}`, r.get("/loki/api/v1/label/ci_stage/values").body, "a stream without lines is gone")
}

func TestWhatComesFasterThanItCanBeWrittenIsBoundedAndCounted(t *testing.T) {
	r := newRig(t)
	lines := make([]observer.Line, 25_000)
	for i := range lines {
		lines[i] = observer.Line{At: begun.Add(-time.Minute), Text: fmt.Sprint(i)}
	}
	require.NoError(t, r.s.Log(t.Context(), testing1, lines))
	got := texts(t, r.get(ask(`{project="shop"}`, "limit", "1", "direction", "forward")))
	assert.Equal(t, []string{"5000"}, got, "the oldest went")
	d, err := r.s.Dropped(t.Context())
	require.NoError(t, err)
	assert.Equal(t, int64(5000), d.Lines)
}

func TestAVeryLongLineIsCutAndSaysSo(t *testing.T) {
	r := newRig(t)
	r.log(testing1, begun.Add(-time.Second), strings.Repeat("é", 10_000)+"end")
	got := texts(t, r.get(ask(`{project="shop"}`)))
	require.Len(t, got, 1)
	assert.LessOrEqual(t, len(got[0]), 8<<10+3)
	assert.True(t, strings.HasSuffix(got[0], " [the rest of the line is left out]"))
}

func TestALabelThatCannotStandIsNamed(t *testing.T) {
	r := newRig(t)
	require.ErrorContains(t, r.s.Log(t.Context(), map[string]string{"a-b": "c"}, nil), `label "a-b"`)
	require.ErrorContains(t, r.s.Log(t.Context(), map[string]string{"a": ""}, nil), "0 labels")
}

func TestRunWritesLinesSoonWithoutAQuery(t *testing.T) {
	dir, c := t.TempDir(), newClock()
	writes := make(chan string, 16)
	r := openRig(t, dir, c, func(cfg *observer.Config) { cfg.Committed = func(_, op string) { writes <- op } })
	r.run()
	r.log(testing1, begun.Add(-time.Second), "said")
	assert.Equal(t, "lines", <-writes)
}

func TestRunSweepsAfterATwentiethPartOfALimit(t *testing.T) {
	sweeps := make(chan string, 64)
	r := newRig(t, func(cfg *observer.Config) {
		cfg.Limits.Lines = 100
		cfg.Committed = func(_, op string) { sweeps <- op }
	})
	r.run()
	numbers := make([]string, 120)
	for i := range numbers {
		numbers[i] = fmt.Sprint(i)
	}
	r.log(testing1, begun.Add(-time.Hour/2), numbers...) // a second apart
	for op := range sweeps {
		if op == "sweep" {
			break
		}
	}
	assert.Equal(t, []string{"20"}, texts(t, r.get(ask(`{project="shop"}`, "limit", "1", "direction", "forward"))))
}

func TestAConfigurationWithoutWhatItNeedsIsRefused(t *testing.T) {
	for field, cfg := range map[string]observer.Config{
		"Config.Path":   {Token: token},
		"Config.Token":  {Path: "x"},
		"Config.Limits": {Path: "x", Token: token, Limits: observer.Limits{Age: -1}},
	} {
		_, err := observer.New(t.Context(), cfg)
		assert.ErrorContains(t, err, field)
	}
}

func TestManyTellAndAskAtOnceAndNothingIsLost(t *testing.T) {
	r := newRig(t)
	r.run()
	const tellers, lines = 8, 300
	var wg sync.WaitGroup
	for teller := range tellers {
		wg.Go(func() {
			labels := map[string]string{"component": "busy", "run": fmt.Sprint(teller)}
			for i := range lines {
				assert.NoError(t, r.s.Log(t.Context(), labels, []observer.Line{{At: begun.Add(-time.Minute), Text: fmt.Sprint(i)}}))
				if i%100 == 0 {
					assert.Equal(t, 200, r.get(ask(`{component="busy"}`)).status)
					assert.NoError(t, r.s.Sweep(t.Context()))
				}
			}
		})
	}
	wg.Wait()
	for teller := range tellers {
		got := texts(t, r.get(ask(fmt.Sprintf(`{run="%d"}`, teller), "limit", "5000", "direction", "forward")))
		assert.Len(t, got, lines)
		for i, text := range got {
			require.Equal(t, fmt.Sprint(i), text, "in the order in which they were told")
		}
	}
}
