package store_test

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"sync/atomic"
	"testing"
	"testing/fstest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"platform.dev/platform/flowclient"
)

func TestARefusalIsTheAnswerAlsoWhenItCannotBeAnnounced(t *testing.T) {
	b := newBench(t)
	b.shop()
	second := b.push("second")
	_, err := b.SetLock(t.Context(), flowclient.LockRequest{Origin: b.origin(), Component: "shop-web", Commit: second.SHA, Reason: "bad"})
	require.NoError(t, err)
	deps := b.deps
	deps.Journal = noNotes{b.store}
	c, err := flowclient.New(deps)
	require.NoError(t, err)
	_, err = c.Promote(t.Context(), flowclient.Promotion{Origin: b.origin(), Project: "shop"})
	var refusal *flowclient.Refusal
	require.ErrorAs(t, err, &refusal)
	assert.Equal(t, "lock", refusal.Gate)
}

// noNotes is a journal that takes no events by themselves.
type noNotes struct{ flowclient.Journal }

func (noNotes) Note(context.Context, ...flowclient.Event) error { return errors.New("disk full") }

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

func TestAPinThatTheControlPlaneRefusesIsTheComponentsOutcome(t *testing.T) {
	b := newBench(t)
	b.shop()
	b.push("second")
	b.before = func(op string, kind flowclient.Kind) error {
		if op == "update" && kind == flowclient.KindReleaseBinding {
			return &flowclient.Invalid{Field: "spec.releaseName", Value: "x", Why: "is frozen"}
		}
		return nil
	}
	one := b.promote()
	assert.Equal(t, flowclient.Superseded, one.Result)
	assert.Contains(t, one.Sentence, "is frozen")
	assert.Len(t, b.events(flowclient.EventPromoted), 1)
}

func TestAKeyThatWasUsedStandsForNoOtherRequest(t *testing.T) {
	b := newBench(t)
	b.shop() // scaffolds under the key test:1 and promotes under test:2
	commit := b.push("second")
	lock := flowclient.LockRequest{Origin: flowclient.Origin{Key: "lock", Who: "sre"}, Component: "shop-web", Commit: commit.SHA, Reason: "x"}
	_, err := b.SetLock(t.Context(), lock)
	require.NoError(t, err)
	_, err = b.ClearLock(t.Context(), lock)
	require.NoError(t, err)
	commits, err := b.plane.Commits(t.Context(), "platform/shop", "main", 2)
	require.NoError(t, err)
	lock.Commit = commits[1].SHA
	scaffold := flowclient.Origin{Key: "test:1", Who: "developer"}
	promote := flowclient.Origin{Key: "test:2", Who: "developer"}
	before, err := b.store.Events(t.Context(), 0, 1000)
	require.NoError(t, err)
	for name, ask := range map[string]func() error{
		"another kind": func() error {
			_, err := b.Rollback(t.Context(), flowclient.Promotion{Origin: promote, Project: "shop"})
			return err
		},
		"another component": func() error {
			_, err := b.Promote(t.Context(), flowclient.Promotion{Origin: promote, Project: "shop", Component: "shop-web"})
			return err
		},
		"another project": func() error {
			_, err := b.Scaffold(t.Context(), flowclient.ScaffoldRequest{Origin: scaffold, Template: "static", Project: "blog", Walkthrough: true})
			return err
		},
		"a project without the label": func() error {
			_, err := b.Scaffold(t.Context(), flowclient.ScaffoldRequest{Origin: scaffold, Template: "static", Project: "shop"})
			return err
		},
		"another scope": func() error {
			_, err := b.Teardown(t.Context(), flowclient.TeardownRequest{Origin: scaffold, Scope: "all"})
			return err
		},
		"a lock of another":     func() error { _, err := b.SetLock(t.Context(), lock); return err },
		"clearing another lock": func() error { _, err := b.ClearLock(t.Context(), lock); return err },
	} {
		var invalid *flowclient.Invalid
		require.ErrorAs(t, ask(), &invalid, name)
		assert.Equal(t, "origin.key", invalid.Field, name)
		assert.Contains(t, invalid.Why, "was used before, for another request", name)
	}
	after, err := b.store.Events(t.Context(), 0, 1000)
	require.NoError(t, err)
	assert.Equal(t, before, after, "nothing happened")
	_, err = b.Scaffold(t.Context(), flowclient.ScaffoldRequest{Origin: flowclient.Origin{Key: "test:1", Who: "somebody else"}, Template: "static", Project: "shop", Walkthrough: true})
	assert.NoError(t, err, "the same request has its outcome, whoever repeats it")
}

func TestWhatIsGoneEndsWhatWasBegunInsteadOfBlockingIt(t *testing.T) {
	b := newBench(t)
	b.shop()
	b.push("second")
	in, _, err := b.store.Begin(t.Context(), planned(b, "shop"))
	require.NoError(t, err)
	require.NoError(t, b.plane.Delete(t.Context(), flowclient.KindProject, "shop"))
	require.NoError(t, b.Pass(t.Context(), true))
	settled, _, err := b.store.Find(t.Context(), in.Key)
	require.NoError(t, err)
	assert.Contains(t, string(settled.Outcome), "this could not be finished: Project \\\"shop\\\" does not exist any more.")
	assert.Len(t, b.events(flowclient.EventPromoted), 1)
}

func TestACommitThatCannotBePushedIsTriedAgainAndHoldsUpNoPromotion(t *testing.T) {
	b := newBench(t)
	b.shop()
	b.push("second")
	away := atomic.Bool{}
	away.Store(true)
	deps := b.deps
	deps.Git = noPush{Git: b.plane, away: &away}
	c, err := flowclient.New(deps)
	require.NoError(t, err)
	request := flowclient.CommitRequest{Origin: b.origin(), Project: "shop", Message: "third", Files: map[string]string{"x": "3"}}
	_, err = c.Commit(t.Context(), request)
	require.ErrorContains(t, err, "connection refused")
	out, err := c.Promote(t.Context(), flowclient.Promotion{Origin: b.origin(), Project: "shop"})
	require.NoError(t, err)
	assert.Equal(t, flowclient.Promoted, out.Components[0].Result)
	require.Error(t, c.Pass(t.Context(), true))
	away.Store(false)
	require.NoError(t, c.Pass(t.Context(), true))
	done, err := c.Commit(t.Context(), request)
	require.NoError(t, err)
	commits, err := b.plane.Commits(t.Context(), "platform/shop", "main", 10)
	require.NoError(t, err)
	require.Len(t, commits, 3)
	assert.Equal(t, done.SHA, commits[0].SHA)
}

func TestBadInputFoundLateIsToldAsSuchEachTime(t *testing.T) {
	b := newBench(t)
	b.shop()
	deps := b.deps
	deps.Git = noChange{b.plane}
	c, err := flowclient.New(deps)
	require.NoError(t, err)
	request := flowclient.CommitRequest{Origin: b.origin(), Project: "shop", Message: "m", Files: map[string]string{"x": "3"}}
	for range 2 {
		_, err = c.Commit(t.Context(), request)
		var invalid *flowclient.Invalid
		require.ErrorAs(t, err, &invalid)
		assert.Equal(t, "files", invalid.Field)
	}
	open, err := b.store.Open(t.Context())
	require.NoError(t, err)
	assert.Empty(t, open)
}

// noChange is a git server that has every file already.
type noChange struct{ flowclient.Git }

func (noChange) Push(context.Context, flowclient.Push) (flowclient.Commit, error) {
	return flowclient.Commit{}, &flowclient.Invalid{Field: "files", Value: "x", Why: "no change"}
}

// noPush is a git server that cannot be pushed to while away.
type noPush struct {
	flowclient.Git
	away *atomic.Bool
}

func (g noPush) Push(ctx context.Context, p flowclient.Push) (flowclient.Commit, error) {
	if g.away.Load() {
		return flowclient.Commit{}, &flowclient.Upstream{Part: "git server", Err: errors.New("connection refused")}
	}
	return g.Git.Push(ctx, p)
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

func TestAProjectThatSomebodyElseBeganToUseMeanwhileStays(t *testing.T) {
	b := newBench(t)
	b.shop()
	b.once("delete", flowclient.KindReleaseBinding, func() {
		_, err := b.plane.Create(t.Context(), flowclient.Object{Kind: flowclient.KindComponent, Metadata: flowclient.Metadata{Name: "mine"},
			Spec: json.RawMessage(`{"owner":{"projectName":"shop"}}`)})
		require.NoError(t, err)
	})
	out, err := b.Teardown(t.Context(), flowclient.TeardownRequest{Origin: b.origin(), Scope: "all"})
	require.NoError(t, err)
	assert.Empty(t, out.Projects)
	assert.Contains(t, strings.Join(out.Refused, ""), "component mine, which carries no label")
	assert.Empty(t, b.events(flowclient.EventRemoved))
	for kind, name := range map[flowclient.Kind]string{flowclient.KindProject: "shop", flowclient.KindComponent: "mine"} {
		_, err := b.plane.Get(t.Context(), kind, name)
		require.NoError(t, err)
	}
	_, err = b.plane.Commits(t.Context(), "platform/shop", "main", 1)
	require.NoError(t, err, "its repository stays, too")
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
	again, err := flowclient.New(b.deps)
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
	deps := b.deps
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
			deps := b.deps
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
	deps := b.deps
	deps.Prober = nil
	_, err := flowclient.New(deps)
	require.EqualError(t, err, "flow controller: Prober is missing")
}
