package store_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"testing/fstest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"platform.dev/platform/fixtures"
	"platform.dev/platform/flowclient"
	"platform.dev/platform/flowclient/flowtest"
	"platform.dev/platform/flowclient/store"
)

// bench is a controller whose world can be meddled with.
type bench struct {
	*flowclient.Controller
	t     *testing.T
	plane *flowtest.Plane
	store *store.Store
	now   time.Time
	keys  int

	before  func(op string, kind flowclient.Kind) error // called before each call to the control plane
	noted   atomic.Int64
	changed flowclient.Deps // what the controller was made of
}

// meddled is a control plane with something done before each call.
type meddled struct {
	flowclient.ControlPlane
	b *bench
}

func (m meddled) call(op string, kind flowclient.Kind) error {
	before := m.b.before
	if before == nil {
		return nil
	}
	m.b.before = nil // what it does itself is not meddled with
	err := before(op, kind)
	if m.b.before == nil {
		m.b.before = before
	}
	return err
}

func (m meddled) List(ctx context.Context, kind flowclient.Kind, f flowclient.Filter) ([]flowclient.Object, error) {
	if err := m.call("list", kind); err != nil {
		return nil, err
	}
	return m.ControlPlane.List(ctx, kind, f)
}

func (m meddled) Create(ctx context.Context, o flowclient.Object) (flowclient.Object, error) {
	if err := m.call("create", o.Kind); err != nil {
		return flowclient.Object{}, err
	}
	return m.ControlPlane.Create(ctx, o)
}

func (m meddled) Update(ctx context.Context, o flowclient.Object) (flowclient.Object, error) {
	if err := m.call("update", o.Kind); err != nil {
		return flowclient.Object{}, err
	}
	return m.ControlPlane.Update(ctx, o)
}

func (m meddled) Delete(ctx context.Context, kind flowclient.Kind, name string) error {
	if err := m.call("delete", kind); err != nil {
		return err
	}
	return m.ControlPlane.Delete(ctx, kind, name)
}

func (m meddled) RunLog(ctx context.Context, run, stage string) ([]flowclient.LogLine, error) {
	if err := m.call("log", flowclient.KindWorkflowRun); err != nil {
		return nil, err
	}
	return m.ControlPlane.RunLog(ctx, run, stage)
}

func newBench(t *testing.T) *bench {
	t.Helper()
	b := &bench{t: t, now: noon, store: fresh(t)}
	b.plane = flowtest.NewPlane(func() time.Time { return b.now })
	b.changed = flowclient.Deps{
		ControlPlane: meddled{b.plane, b}, Git: b.plane, Cluster: b.plane, Prober: b.plane,
		Journal: b.store, Locks: b.store, Sightings: b.store, Runs: b.store, Templates: fixtures.Templates(),
		Now: func() time.Time { return b.now }, Noted: func() { b.noted.Add(1) },
		Settings: flowclient.Settings{Owner: "platform", Floors: flowclient.DefaultFloors(), BuildPage: func(run string) string { return "http://workflow/runs/" + run }},
	}
	var err error
	b.Controller, err = flowclient.New(b.changed)
	require.NoError(t, err)
	return b
}

func (b *bench) origin() flowclient.Origin {
	b.keys++
	return flowclient.Origin{Key: fmt.Sprint("test:", b.keys), Who: "developer"}
}

// shop scaffolds the project shop and promotes its first commit.
func (b *bench) shop() {
	b.t.Helper()
	_, err := b.Scaffold(b.t.Context(), flowclient.ScaffoldRequest{Origin: b.origin(), Template: "static", Project: "shop", Walkthrough: true})
	require.NoError(b.t, err)
	b.promoted()
}

func (b *bench) push(text string) flowclient.Commit {
	b.t.Helper()
	c, err := b.Commit(b.t.Context(), flowclient.CommitRequest{Origin: b.origin(), Project: "shop", Message: text, Files: map[string]string{"x": text}})
	require.NoError(b.t, err)
	return c
}

func (b *bench) promote() flowclient.ComponentOutcome {
	b.t.Helper()
	out, err := b.Promote(b.t.Context(), flowclient.Promotion{Origin: b.origin(), Project: "shop"})
	require.NoError(b.t, err)
	require.Len(b.t, out.Components, 1)
	return out.Components[0]
}

func (b *bench) promoted() {
	b.t.Helper()
	require.Equal(b.t, flowclient.Promoted, b.promote().Result)
}

func (b *bench) annotate(kind flowclient.Kind, name, key, value string) {
	b.t.Helper()
	o, err := b.plane.Get(b.t.Context(), kind, name)
	require.NoError(b.t, err)
	o.Metadata.Annotations[key] = value
	_, err = b.plane.Update(b.t.Context(), o)
	require.NoError(b.t, err)
}

func (b *bench) events(kind string) (found []flowclient.Event) {
	b.t.Helper()
	events, err := b.store.Events(b.t.Context(), 0, 1000)
	require.NoError(b.t, err)
	for _, e := range events {
		if e.Kind == kind {
			found = append(found, e)
		}
	}
	return found
}

// once runs do before the first call of the kind.
func (b *bench) once(op string, kind flowclient.Kind, do func()) {
	done := false
	b.before = func(o string, k flowclient.Kind) error {
		if !done && o == op && k == kind {
			done = true
			do()
		}
		return nil
	}
}

func TestStagingThatMovesOnSupersedesThePromotion(t *testing.T) {
	b := newBench(t)
	b.shop()
	b.push("second")
	in, _, err := b.store.Begin(t.Context(), planned(b, "shop"))
	require.NoError(t, err)
	require.Equal(t, flowclient.Unchanged, b.promote().Result, "what was decided before goes before")
	settled, _, err := b.store.Find(t.Context(), in.Key)
	require.NoError(t, err)
	assert.Contains(t, string(settled.Outcome), `"result":"promoted"`)

	b.push("third")
	plan := planned(b, "shop")
	b.push("fourth")
	_, _, err = b.store.Begin(t.Context(), plan)
	require.NoError(t, err)
	require.NoError(t, b.Pass(t.Context(), true))
	settled, _, err = b.store.Find(t.Context(), plan.Key)
	require.NoError(t, err)
	assert.Contains(t, string(settled.Outcome), `"result":"superseded"`)
	assert.Contains(t, string(settled.Outcome), "staging moved on to")
	assert.Len(t, b.events(flowclient.EventPromoted), 2, "nothing was moved, nothing is announced")
}

// planned is the intent that a promotion of the project has now, as a process
// that died right after recording it left it.
func planned(b *bench, project string) flowclient.Intent {
	b.t.Helper()
	origin := b.origin()
	out, err := b.Promote(b.t.Context(), flowclient.Promotion{Origin: origin, Project: project, DryRun: true})
	require.NoError(b.t, err)
	type move struct {
		Outcome flowclient.ComponentOutcome `json:"outcome"`
	}
	moves := []move{}
	for _, o := range out.Components {
		moves = append(moves, move{o})
	}
	body, err := json.Marshal(map[string]any{"project": project, "origin": origin, "moves": moves})
	require.NoError(b.t, err)
	return flowclient.Intent{Key: origin.Key, Kind: "promote", Who: origin.Who, At: b.now, Body: body}
}

func TestALockSetBetweenDecisionAndPinHolds(t *testing.T) {
	b := newBench(t)
	b.shop()
	second := b.push("second")
	plan := planned(b, "shop")
	_, err := b.SetLock(t.Context(), flowclient.LockRequest{Origin: b.origin(), Component: "shop-web", Commit: second.SHA, Reason: "bad"})
	require.NoError(t, err)
	_, _, err = b.store.Begin(t.Context(), plan)
	require.NoError(t, err)
	require.NoError(t, b.Pass(t.Context(), true))
	settled, _, err := b.store.Find(t.Context(), plan.Key)
	require.NoError(t, err)
	assert.Contains(t, string(settled.Outcome), "it was locked meanwhile")
	assert.Len(t, b.events(flowclient.EventPromoted), 1)
}

func TestAWriteThatLostIsBegunAgainAndKeepsWhatTheOtherWrote(t *testing.T) {
	b := newBench(t)
	b.shop()
	b.push("second")
	b.once("update", flowclient.KindReleaseBinding, func() {
		b.annotate(flowclient.KindReleaseBinding, "shop-web-production", "note", "by hand")
	})
	b.promoted()
	o, err := b.plane.Get(t.Context(), flowclient.KindReleaseBinding, "shop-web-production")
	require.NoError(t, err)
	assert.Equal(t, "by hand", o.Metadata.Annotations["note"])
	assert.NotEmpty(t, o.Metadata.Annotations[flowclient.AnnotationDisplaced])
}

func TestAWriteThatKeepsLosingIsLeftToALaterPass(t *testing.T) {
	b := newBench(t)
	b.shop()
	b.push("second")
	b.before = func(op string, kind flowclient.Kind) error {
		if op == "update" && kind == flowclient.KindReleaseBinding {
			return flowclient.ErrConflict
		}
		return nil
	}
	request := flowclient.Promotion{Origin: b.origin(), Project: "shop"}
	_, err := b.Promote(t.Context(), request)
	require.ErrorContains(t, err, "keeps changing")
	b.before = nil
	require.NoError(t, b.Pass(t.Context(), false))
	assert.Len(t, b.events(flowclient.EventPromoted), 2)
	out, err := b.Promote(t.Context(), request)
	require.NoError(t, err)
	assert.Equal(t, flowclient.Promoted, out.Components[0].Result)
}

func TestWhatHasToWaitIsToldAndMayBeAskedForAgain(t *testing.T) {
	b := newBench(t)
	b.shop()
	b.annotate(flowclient.KindProject, "shop", flowclient.AnnotationSoak, "5m")
	b.annotate(flowclient.KindProject, "shop", flowclient.AnnotationPromotionCheck, "http")
	b.push("second")
	require.NoError(t, b.Pass(t.Context(), true))
	b.now = noon.Add(3 * time.Minute)
	request := flowclient.Promotion{Origin: b.origin(), Project: "shop"}
	out, err := b.Promote(t.Context(), request)
	require.NoError(t, err)
	assert.Equal(t, flowclient.Retry, out.Components[0].Result)
	assert.Contains(t, out.Components[0].Sentence, "for 3 min of 5 min; ask again in 2 min.")
	assert.False(t, out.Complete())

	b.now = noon.Add(5 * time.Minute)
	b.plane.Answer("http://staging-shop.apps.platform.localhost:19080/shop-web-http", 502)
	out, err = b.Promote(t.Context(), request)
	require.NoError(t, err)
	assert.Contains(t, out.Components[0].Sentence, "answers 502")
	b.plane.Answer("http://staging-shop.apps.platform.localhost:19080/shop-web-http", 200)
	out, err = b.Promote(t.Context(), request)
	require.NoError(t, err)
	assert.Equal(t, flowclient.Promoted, out.Components[0].Result)
}

func TestAKeyIsForOneKindOfRequest(t *testing.T) {
	b := newBench(t)
	b.shop()
	_, err := b.Rollback(t.Context(), flowclient.Promotion{Origin: flowclient.Origin{Key: "test:2", Who: "developer"}, Project: "shop"})
	var invalid *flowclient.Invalid
	require.ErrorAs(t, err, &invalid)
	assert.Equal(t, "was used before, for a promote", invalid.Why)
}

func TestAListingThatFailsRemovesNothing(t *testing.T) {
	for _, kind := range []flowclient.Kind{flowclient.KindProject, flowclient.KindComponent, flowclient.KindComponentRelease, flowclient.KindWorkflowRun} {
		t.Run(string(kind), func(t *testing.T) {
			b := newBench(t)
			b.shop()
			broken, deleted := errors.New("connection reset"), 0
			b.before = func(op string, k flowclient.Kind) error {
				if op == "delete" {
					deleted++
				}
				if op == "list" && k == kind {
					return broken
				}
				return nil
			}
			request := flowclient.TeardownRequest{Origin: b.origin(), Scope: "all"}
			_, err := b.Teardown(t.Context(), request)
			require.ErrorIs(t, err, broken)
			assert.Zero(t, deleted)
			b.before = nil
			out, err := b.Teardown(t.Context(), request)
			require.NoError(t, err)
			assert.Equal(t, []string{"shop"}, out.Projects)
		})
	}
}

func TestTeardownLeavesWhatNoWalkthroughMade(t *testing.T) {
	b := newBench(t)
	b.shop()
	_, err := b.plane.Create(t.Context(), flowclient.Object{Kind: flowclient.KindComponent, Metadata: flowclient.Metadata{Name: "mine"},
		Spec: json.RawMessage(`{"owner":{"projectName":"shop"}}`)})
	require.NoError(t, err)
	out, err := b.Teardown(t.Context(), flowclient.TeardownRequest{Origin: b.origin(), Scope: "all"})
	require.NoError(t, err)
	assert.Empty(t, out.Projects)
	require.Len(t, out.Refused, 1)
	assert.Contains(t, out.Refused[0], "component mine, which carries no label")

	require.NoError(t, b.plane.Delete(t.Context(), flowclient.KindComponent, "mine"))
	w, err := b.BeginWalkthrough(t.Context(), "walk", "static", "developer")
	require.NoError(t, err)
	_, err = b.Scaffold(t.Context(), flowclient.ScaffoldRequest{Origin: b.origin(), Template: "static", Project: w.Project, Walkthrough: true})
	require.NoError(t, err)
	out, err = b.Teardown(t.Context(), flowclient.TeardownRequest{Origin: b.origin(), Scope: "static"})
	require.NoError(t, err)
	assert.Equal(t, []string{"shop"}, out.Projects)
	assert.Contains(t, strings.Join(out.Refused, ""), w.Project+" belongs to the walkthrough under way")
	out, err = b.Teardown(t.Context(), flowclient.TeardownRequest{Origin: b.origin(), Scope: "project:" + w.Project})
	require.NoError(t, err)
	assert.Equal(t, []string{w.Project}, out.Projects, "by name it goes")
}

func TestAWalkthroughNeedsItsMemory(t *testing.T) {
	b := newBench(t)
	b.plane.Free = 999_999_999
	_, err := b.BeginWalkthrough(t.Context(), "walk", "static", "developer")
	require.ErrorContains(t, err, "needs 1.5 GB free for static; 0.9 GB is available")
	runs, err := b.Walkthroughs(t.Context())
	require.NoError(t, err)
	assert.Empty(t, runs)
	host, err := b.Host(t.Context())
	require.NoError(t, err)
	assert.Equal(t, b.plane.Free, host.AvailableBytes)
}

func TestAFailedBuildWaitsForItsLogAndIsThenToldWithout(t *testing.T) {
	b := newBench(t)
	b.shop()
	_, err := b.Commit(t.Context(), flowclient.CommitRequest{Origin: b.origin(), Project: "shop", Message: "Break", Files: map[string]string{"ci/test.sh": "echo no\nexit 1\n"}})
	require.NoError(t, err)
	b.before = func(op string, _ flowclient.Kind) error {
		if op == "log" {
			return errors.New("the log store is away")
		}
		return nil
	}
	require.ErrorContains(t, b.Pass(t.Context(), true), "the log store is away")
	assert.Empty(t, b.events(flowclient.EventBuildFailed))
	assert.Len(t, b.events(flowclient.EventBuildPassed), 1, "one build's log holds up no other build")
	b.now = noon.Add(6 * time.Minute)
	require.NoError(t, b.Pass(t.Context(), true))
	require.Len(t, b.events(flowclient.EventBuildFailed), 1)
	b.before = nil
	require.NoError(t, b.Pass(t.Context(), true))
	assert.Len(t, b.events(flowclient.EventBuildFailed), 1)
	again, err := flowclient.New(b.changed)
	require.NoError(t, err)
	before := b.noted.Load()
	require.NoError(t, again.Pass(t.Context(), true))
	assert.Len(t, b.events(flowclient.EventBuildFailed), 1, "a new process tells nothing again")
	assert.Positive(t, before)
}

func TestStateTellsOfAPassThatFails(t *testing.T) {
	b := newBench(t)
	b.shop()
	broken := atomic.Bool{}
	broken.Store(true)
	b.before = nil
	away := outage{ControlPlane: b.plane, broken: &broken}
	deps := b.changed
	deps.ControlPlane = away
	deps.Settings.PassEvery = 5 * time.Millisecond
	c, err := flowclient.New(deps)
	require.NoError(t, err)
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- c.Run(ctx) }()
	state := func() flowclient.State {
		s, err := c.State(t.Context())
		require.NoError(t, err)
		return s
	}
	require.Eventually(t, func() bool { return strings.Contains(state().PassError, "list WorkflowRun") }, 5*time.Second, time.Millisecond)
	broken.Store(false)
	require.Eventually(t, func() bool { s := state(); return s.PassError == "" && s.LastPass != nil }, 5*time.Second, time.Millisecond)
	require.Len(t, state().Projects, 1)
	one := state().Projects[0]
	assert.Equal(t, flowclient.ProjectState{Project: "shop", Promotion: "manual", Soak: "0s", Template: "static", Labelled: true,
		Window: flowclient.Window{Project: "shop", Open: true, Sentence: "Production changes to shop are allowed at any time."}}, one)
	stop()
	require.NoError(t, <-ended)
}

// outage is a control plane that cannot list runs while broken.
type outage struct {
	flowclient.ControlPlane
	broken *atomic.Bool
}

func (o outage) List(ctx context.Context, kind flowclient.Kind, f flowclient.Filter) ([]flowclient.Object, error) {
	if o.broken.Load() && kind == flowclient.KindWorkflowRun {
		return nil, &flowclient.Upstream{Part: "control plane", Err: errors.New("connection refused")}
	}
	return o.ControlPlane.List(ctx, kind, f)
}

func TestATemplateThatDoesNotRenderMakesNothing(t *testing.T) {
	for name, files := range map[string]fstest.MapFS{
		"an unknown field":   {"bad/repository/x": {Data: []byte("{{.Nope}}")}, "bad/objects/p.yaml": {Data: []byte("kind: Project\nmetadata: {name: p}\n")}},
		"no YAML":            {"bad/repository/x": {Data: []byte("x")}, "bad/objects/p.yaml": {Data: []byte("kind: [")}},
		"an object unnamed":  {"bad/repository/x": {Data: []byte("x")}, "bad/objects/p.yaml": {Data: []byte("kind: Project\n")}},
		"a broken directive": {"bad/repository/x": {Data: []byte("{{")}, "bad/objects/p.yaml": {Data: []byte("kind: Project\nmetadata: {name: p}\n")}},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t)
			deps := b.changed
			deps.Templates = files
			c, err := flowclient.New(deps)
			require.NoError(t, err)
			_, err = c.Scaffold(t.Context(), flowclient.ScaffoldRequest{Origin: b.origin(), Template: "bad", Project: "shop"})
			require.ErrorContains(t, err, "template bad")
			open, err := b.store.Open(t.Context())
			require.NoError(t, err)
			assert.Empty(t, open)
			_, err = b.plane.Commits(t.Context(), "platform/shop", "main", 1)
			assert.True(t, flowclient.IsNotFound(err))
		})
	}
}

func TestAControllerNamesWhatItMisses(t *testing.T) {
	b := newBench(t)
	deps := b.changed
	deps.Prober = nil
	_, err := flowclient.New(deps)
	require.EqualError(t, err, "flow controller: Prober is missing")
}
