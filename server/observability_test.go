package server

import (
	"encoding/json"
	"net/http"
	"net/url"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/otel/trace"

	"platform.dev/platform/flowclient"
	"platform.dev/platform/flowclient/telemetry"
	"platform.dev/platform/server/controlplane"
	"platform.dev/platform/server/runtime"
	"platform.dev/platform/server/web"
)

// telemetry reads the platform's own traces and logs over the network, as anybody would.
func (s *started) telemetry() *telemetry.Client {
	s.t.Helper()
	base := s.ports.URL("observer")
	c, err := telemetry.New(telemetry.Config{Tempo: base, Loki: base, Transport: &http.Transport{DisableKeepAlives: true}})
	require.NoError(s.t, err)
	return c
}

// recorded waits for a trace and returns it.
func (s *started) recorded(kind, name string) flowclient.Trace {
	s.t.Helper()
	var got flowclient.Trace
	s.eventually(10*time.Second, "the trace of "+kind+" "+name, func() bool {
		var err error
		got, err = s.telemetry().Trace(s.t.Context(), flowclient.TraceIDOf(kind, name))
		if flowclient.IsNotFound(err) {
			return false
		}
		require.NoError(s.t, err)
		return true
	})
	return got
}

// lastBuild is the newest run of a project's component.
func (s *started) lastBuild(project string) flowclient.Build {
	s.t.Helper()
	d, err := s.Flow().Delivery(s.t.Context())
	require.NoError(s.t, err)
	for _, c := range d.Components {
		if c.Project == project {
			require.NotNil(s.t, c.LastBuild)
			return *c.LastBuild
		}
	}
	s.t.Fatalf("project %s has no component", project)
	return flowclient.Build{}
}

// secret reads a secret of the data directory.
func (s *started) secret(name string) string {
	s.t.Helper()
	text, err := os.ReadFile(s.Path("secrets", name))
	require.NoError(s.t, err)
	return strings.TrimSpace(string(text))
}

const commitTrace = "4bf92f3577b34da6a3ce929d0e0e4736"

func TestABuildIsATraceThatLinksToTheContextOfItsCommit(t *testing.T) {
	dir := t.TempDir()
	p := start(t, config(t, dir))
	p.scaffold("shop")
	body, err := json.Marshal(map[string]any{"project": "shop", "message": "Say more", "files": map[string]string{"index.html": repositoryFile(t, "index.html") + "<p>more</p>\n"}})
	require.NoError(t, err)
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, p.ports.URL("flow")+"/git/commit", strings.NewReader(string(body)))
	require.NoError(t, err)
	req.Header.Set("Authorization", "Bearer "+p.secret("flow.token"))
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Idempotency-Key", "test:traced")
	req.Header.Set("Traceparent", "00-"+commitTrace+"-00f067aa0ba902b7-01")
	resp, err := http.DefaultTransport.RoundTrip(req)
	require.NoError(t, err)
	defer resp.Body.Close()
	var commit flowclient.Commit
	require.NoError(t, json.NewDecoder(resp.Body).Decode(&commit))
	require.Equal(t, http.StatusCreated, resp.StatusCode)
	assert.Equal(t, commitTrace, resp.Header.Get("X-Trace-Id"))
	p.deployed("shop-web", flowclient.Staging, commit.SHA)

	build := p.lastBuild("shop")
	require.Equal(t, commit.SHA, build.Commit)
	got := p.recorded(flowclient.TraceBuild, build.Run)
	head := got.Spans[0]
	assert.Equal(t, []string{"build shop-web", "workflow", "platform", ""}, []string{head.Name, head.Service, head.Namespace, head.Parent})
	assert.Equal(t, build.Run, head.Attributes["run"])
	assert.True(t, head.Start.Equal(*build.StartedAt) && head.End.Equal(*build.CompletedAt), "as recorded")
	var stages []string
	for _, s := range got.Spans[1:] {
		assert.Equal(t, head.ID, s.Parent)
		stages = append(stages, s.Attributes["ci_stage"])
	}
	var want []string
	for _, s := range build.Stages {
		want = append(want, s.Name)
	}
	assert.Equal(t, want, stages)
	require.Len(t, head.Links, 1, "a trace of its own that links to the commit's")
	assert.Equal(t, commitTrace, head.Links[0].Trace)
	asked, err := p.telemetry().Trace(t.Context(), commitTrace)
	require.NoError(t, err)
	assert.Equal(t, "POST /git/commit", asked.Spans[0].Name)
	assert.Equal(t, asked.Spans[0].ID, head.Links[0].Span, "to the request that made the commit")
	evidence, err := p.Flow().EvidenceOfFlow(t.Context(), commitTrace)
	require.NoError(t, err)
	assert.Contains(t, evidence.Services, asked.Spans[0].Service, "evidence of a trace tells which services took part")
	assert.Empty(t, evidence.Notes)

	p.stop()
	again := start(t, config(t, dir))
	assert.Equal(t, got, again.recorded(flowclient.TraceBuild, build.Run), "a restart neither loses nor doubles it")
}

func TestBuildLogsAreInTheLogStoreByStageAndComponent(t *testing.T) {
	p := start(t, config(t, t.TempDir()))
	p.scaffold("shop")
	build := p.lastBuild("shop")
	for _, stage := range build.Stages {
		want, err := p.Flow().BuildLog(t.Context(), build.Run, stage.Name, 0)
		require.NoError(t, err)
		entries, err := p.telemetry().Logs(t.Context(), flowclient.LogQuery{
			Labels: map[string]string{"ci_stage": stage.Name, "component": "shop-web", "project": "shop", "run": build.Run}, Limit: 5000})
		require.NoError(t, err)
		lines := []string{}
		for _, e := range entries {
			lines = append(lines, e.Text)
		}
		assert.Equal(t, want, lines, stage.Name)
	}
	got := ask(t, http.MethodGet, p.ports.URL("observer")+"/loki/api/v1/query_range?query="+url.QueryEscape(`{component="shop-web"}`), "", "", "")
	assert.Equal(t, http.StatusOK, got.status, got.body)
}

func TestEverySurfaceNamesItsTraceAndTellsItsMetrics(t *testing.T) {
	p := start(t, config(t, t.TempDir()))
	made := p.scaffold("shop")
	staging := p.deployed("shop-web", flowclient.Staging, made.Commit.SHA)
	for _, s := range p.Surfaces() {
		got := ask(t, http.MethodGet, s.URL+"/nothing/here", "", "", "")
		id := got.header.Get("X-Trace-Id")
		require.Regexp(t, `^[0-9a-f]{32}$`, id, s.Name)
		assert.Regexp(t, `^00-`+id+`-[0-9a-f]{16}-01$`, got.header.Get("traceresponse"), s.Name)
		tr, err := p.telemetry().Trace(t.Context(), id)
		require.NoError(t, err, s.Name)
		assert.Equal(t, s.Name, tr.Spans[0].Service)

		metrics := ask(t, http.MethodGet, s.URL+"/metrics", "", "", "")
		assert.Equal(t, http.StatusOK, metrics.status, s.Name)
		assert.Contains(t, metrics.body, `platform_http_requests_total{`, s.Name)
		assert.Contains(t, metrics.body, `surface="`+s.Name+`"`)
	}
	page, err := url.Parse(staging.URL)
	require.NoError(t, err)
	app := ask(t, http.MethodGet, p.ports.URL("gateway")+page.Path, page.Host, "", "")
	require.Equal(t, http.StatusOK, app.status)
	assert.Regexp(t, `^[0-9a-f]{32}$`, app.header.Get("X-Trace-Id"), "applications behind the gateway have one")
	assert.Equal(t, http.StatusNotFound, ask(t, http.MethodGet, p.ports.URL("gateway")+"/metrics", page.Host, "", "").status, "and no metrics of ours")
}

func TestMetricsCountBuildsAndPromotionsByOutcome(t *testing.T) {
	p := start(t, config(t, t.TempDir()))
	p.scaffold("shop")
	_, err := p.Flow().Promote(t.Context(), flowclient.Promotion{Origin: flowclient.Origin{Key: "test:promote", Who: "developer"}, Project: "shop"})
	require.NoError(t, err)
	for _, line := range []string{
		`platform_builds_total{result="passed"} 1`, `platform_promotions_total{kind="promote",outcome="promoted"} 1`,
		`platform_build_duration_seconds_count{result="passed"} 1`, `platform_outbox_owed{bot="platform"} 0`, `platform_outbox_owed{bot="walkthrough"} 0`,
		`platform_inbox_unfinished{bot="platform"} 0`, "platform_events_unannounced 0", "platform_hook_deliveries_due 0",
		`route="/shop-web-http/"`, `route="/api/v1/namespaces/{namespace}/components/{name}"`, `route="/v2/{name}/manifests/{ref}"`,
	} {
		p.eventually(10*time.Second, line, func() bool {
			if strings.HasPrefix(line, "route") {
				ask(t, http.MethodGet, p.ports.URL("gateway")+"/shop-web-http/", "staging-shop."+Domain, "", "")
			}
			return strings.Contains(ask(t, http.MethodGet, p.ports.URL("flow")+"/metrics", "", "", "").body, line)
		})
	}
	metrics := ask(t, http.MethodGet, p.ports.URL("flow")+"/metrics", "", "", "").body
	assert.NotContains(t, metrics, "shop-web-run", "no path stands in a label")
}

func TestAWalkthroughsTraceLinksItsBuildsAndTheyLinkBack(t *testing.T) {
	p := start(t, config(t, t.TempDir()))
	w, err := p.Flow().BeginWalkthrough(t.Context(), "test:walk", "static", "developer")
	require.NoError(t, err)
	p.scaffold(w.Project)
	first := p.recorded(flowclient.TraceBuild, p.lastBuild(w.Project).Run)
	p.push(w.Project, "more", map[string]string{"more.txt": "more\n"})
	second := p.recorded(flowclient.TraceBuild, p.lastBuild(w.Project).Run)
	ended := time.Now()
	w.Ended, w.Result = &ended, "passed"
	require.NoError(t, p.Flow().UpdateWalkthrough(t.Context(), w))

	run := p.recorded(flowclient.TraceWalkthrough, w.Project)
	require.Len(t, run.Spans, 1)
	head := run.Spans[0]
	assert.Equal(t, []string{"walkthrough static", "walkthrough", "platform"}, []string{head.Name, head.Service, head.Namespace})
	var linked []string
	for _, l := range head.Links {
		linked = append(linked, l.Trace+l.Span)
	}
	assert.ElementsMatch(t, []string{first.ID + first.Spans[0].ID, second.ID + second.Spans[0].ID}, linked)
	for _, build := range []flowclient.Trace{first, second} {
		back := build.Spans[0].Links
		require.NotEmpty(t, back)
		assert.Equal(t, run.ID+head.ID, back[len(back)-1].Trace+back[len(back)-1].Span)
	}
}

func TestACommandInChatIsOneTrace(t *testing.T) {
	p := start(t, config(t, t.TempDir()))
	p.scaffold("shop")
	p.outcome(p.say("developer", "shop", "release", "@**platform** promote shop"), time.Minute)
	var id string
	var found flowclient.Trace
	p.eventually(10*time.Second, "the command's trace", func() bool {
		var answer struct {
			Traces []struct{ TraceID, RootTraceName string }
		}
		got := ask(t, http.MethodGet, p.ports.URL("observer")+"/api/search?tags="+url.QueryEscape("service.name=bots project=shop"), "", "", "")
		require.NoError(t, json.Unmarshal([]byte(got.body), &answer))
		if len(answer.Traces) == 0 {
			return false
		}
		assert.Equal(t, "@platform promote", answer.Traces[0].RootTraceName)
		var err error
		id = answer.Traces[0].TraceID
		found, err = p.telemetry().Trace(t.Context(), id)
		require.NoError(t, err)
		return true
	})
	var inside []string
	for _, s := range found.Spans {
		inside = append(inside, s.Service+": "+s.Name)
	}
	assert.Contains(t, inside, "api: POST /api/v1/namespaces/{namespace}/releasebindings", "what the command had done belongs to it")
	assert.Equal(t, "developer", found.Spans[0].Attributes["persona"])
	evidence, err := p.Flow().EvidenceOfFlow(t.Context(), id)
	require.NoError(t, err)
	require.Len(t, evidence.Intents, 1)
	assert.Equal(t, "promote", evidence.Intents[0].Kind, "what was decided is found by the trace of who asked")
}

func TestThePlatformsOwnLogIsInTheLogStoreWithTheTracesIDs(t *testing.T) {
	cfg := config(t, t.TempDir())
	p := start(t, cfg)
	const id = "0af7651916cd43dd8448eb211c80319c"
	ctx := trace.ContextWithSpanContext(t.Context(), web.ParseTraceparent("00-"+id+"-b7ad6b7169203331-01"))
	p.log.With("part", "test").InfoContext(ctx, "something happened", "project", "shop")
	got, err := p.telemetry().Logs(t.Context(), flowclient.LogQuery{Labels: map[string]string{"component": "platform"}, Contains: id})
	require.NoError(t, err)
	require.Len(t, got, 1)
	var line map[string]any
	require.NoError(t, json.Unmarshal([]byte(got[0].Text), &line))
	assert.Equal(t, []any{"something happened", "test", "shop", id}, []any{line["msg"], line["part"], line["project"], line["trace_id"]})
}

func TestProcessOutputIsInTheLogStoreUnderItsDeployment(t *testing.T) {
	p := start(t, config(t, t.TempDir()))
	tell := &p.rooms.telemetry
	tell.places.put(controlplane.Deployment{Name: "shop-api-staging", Project: "shop", Component: "shop-api", Environment: "staging"})
	tell.processLine("shop-api-staging", runtime.LogLine{At: time.Now().Add(-time.Second), Stream: "stderr", Text: "listening"})
	tell.processLine("left-over", runtime.LogLine{At: time.Now().Add(-time.Second), Stream: "stdout", Text: "before it was placed"})
	got, err := p.telemetry().Logs(t.Context(), flowclient.LogQuery{Labels: map[string]string{"component": "shop-api", "environment": "staging"}})
	require.NoError(t, err)
	require.Len(t, got, 1)
	assert.Equal(t, map[string]string{"component": "shop-api", "environment": "staging", "project": "shop", "stream": "stderr"}, got[0].Labels)
	got, err = p.telemetry().Logs(t.Context(), flowclient.LogQuery{Labels: map[string]string{"component": "left-over"}})
	require.NoError(t, err)
	require.Len(t, got, 1)
}

func TestWritesToTheObserverNeedItsTokenAndReadsDoNot(t *testing.T) {
	p := start(t, config(t, t.TempDir()))
	base := p.ports.URL("observer")
	assert.Equal(t, http.StatusUnauthorized, ask(t, http.MethodPost, base+"/v1/traces", "", "", "{}").status)
	assert.Equal(t, http.StatusUnauthorized, ask(t, http.MethodPost, base+"/loki/api/v1/push", "", p.secret("flow.token"), "{}").status)
	assert.Equal(t, http.StatusUnsupportedMediaType, ask(t, http.MethodPost, base+"/v1/traces", "", p.secret("observer.token"), "{}").status)
	assert.Equal(t, http.StatusOK, ask(t, http.MethodGet, base+"/api/search?limit=1", "", "", "").status)
	assert.Equal(t, http.StatusMisdirectedRequest, ask(t, http.MethodGet, base+"/api/search", "evil.example", "", "").status)
}

func TestSpansGoToAReceiverElsewhereAsWell(t *testing.T) {
	far := start(t, config(t, t.TempDir()))
	t.Setenv("OTEL_EXPORTER_OTLP_HEADERS", "Authorization=Bearer "+far.secret("observer.token"))
	cfg := config(t, t.TempDir())
	cfg.OTLP = far.ports.URL("observer")
	near := start(t, cfg)
	near.scaffold("shop")
	run := near.lastBuild("shop").Run
	here := near.recorded(flowclient.TraceBuild, run)
	assert.Equal(t, here, far.recorded(flowclient.TraceBuild, run))
	id := ask(t, http.MethodGet, near.ports.URL("flow")+"/state", "", near.secret("flow.token"), "").header.Get("X-Trace-Id")
	far.eventually(10*time.Second, "the request's span", func() bool {
		_, err := far.telemetry().Trace(t.Context(), id)
		return err == nil
	})
}

func TestAReceiverElsewhereThatIsGoneHindersNothing(t *testing.T) {
	cfg := config(t, t.TempDir())
	cfg.OTLP = "http://127.0.0.1:1"
	p := start(t, cfg)
	p.scaffold("shop")
	p.recorded(flowclient.TraceBuild, p.lastBuild("shop").Run)
	began := time.Now()
	p.stop()
	assert.Less(t, time.Since(began), 15*time.Second)

	cfg.OTLP = "ftp://x"
	_, err := Open(t.Context(), cfg)
	require.ErrorContains(t, err, `OTLP endpoint "ftp://x"`)
}
