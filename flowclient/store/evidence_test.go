package store_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"platform.dev/platform/flowclient"
)

// spans is a trace store that has one trace, or cannot be read.
type spans struct {
	flowclient.Telemetry
	trace flowclient.Trace
	err   error
}

func (s *spans) Trace(context.Context, string) (flowclient.Trace, error) { return s.trace, s.err }

func TestEvidenceSaysWhatCouldNotBeReadAndTellsTheRest(t *testing.T) {
	traces := &spans{trace: flowclient.Trace{Spans: []flowclient.Span{{Service: "workflow"}, {Service: "flow"}, {Service: "workflow"}}}}
	b := newBench(t)
	b.deps.History, b.deps.Traces, b.deps.Telemetry = b.store, b.store, traces
	var err error
	b.Controller, err = flowclient.New(b.deps)
	require.NoError(t, err)
	b.shop()
	const trace = "4bf92f3577b34da6a3ce929d0e0e4736"
	origin := b.origin()
	origin.Trace = "00-" + trace + "-00f067aa0ba902b7-01"
	_, err = b.Commit(t.Context(), flowclient.CommitRequest{Origin: origin, Project: "shop", Message: "m", Files: map[string]string{"x": "y"}})
	require.NoError(t, err)

	e, err := b.EvidenceOfFlow(t.Context(), trace)
	require.NoError(t, err)
	assert.Equal(t, []string{"flow", "workflow"}, e.Services)
	assert.NotEmpty(t, e.Logs)
	assert.Empty(t, e.Notes)
	assert.Contains(t, e.Links, "http://workflow/runs/"+e.Builds[0].Run)

	traces.trace, traces.err = flowclient.Trace{}, &flowclient.Upstream{Part: "trace store", Err: errors.New("connection refused")}
	b.before = func(op string, _ flowclient.Kind) error {
		if op == "log" {
			return &flowclient.Upstream{Part: "log store", Err: errors.New("connection refused")}
		}
		return nil
	}
	e, err = b.EvidenceOfFlow(t.Context(), trace)
	require.NoError(t, err)
	assert.Empty(t, e.Logs)
	assert.Empty(t, e.Services)
	assert.NotEmpty(t, e.Intents)
	notes := strings.Join(e.Notes, "\n")
	assert.Contains(t, notes, "The spans of the trace could not be read: trace store: connection refused.")
	assert.Contains(t, notes, "The log of stage")
	assert.Contains(t, notes, "could not be read: log store: connection refused.")

	b.before, traces.err = nil, &flowclient.NotFound{Kind: "trace", Name: trace}
	e, err = b.EvidenceOfFlow(t.Context(), trace)
	require.NoError(t, err)
	assert.Equal(t, []string{"No span of the trace is kept."}, e.Notes)
}

func TestATraceFindsWhatWasRefusedAndLockedInIt(t *testing.T) {
	const trace = "4bf92f3577b34da6a3ce929d0e0e4736"
	byHand(t, nil, func(w *autoWorld) {
		w.stage("shop-web", commitA)
		in := func(o flowclient.Origin) flowclient.Origin {
			o.Trace = "00-" + trace + "-00f067aa0ba902b7-01"
			return o
		}
		_, err := w.EvidenceOfFlow(w.Context(), trace)
		require.True(w, flowclient.IsNotFound(err), "%v", err)
		w.lock("shop-web", commitA)
		_, err = w.ask(func(r *flowclient.Promotion) { r.Origin = in(r.Origin) })
		assertRefused(w, err, "lock")
		_, err = w.ask()
		assertRefused(w, err, "lock")
		_, err = w.SetFreeze(w.Context(), flowclient.FreezeRequest{Origin: in(w.origin()), Project: "shop", Until: time.Now().Add(time.Hour), Reason: "stocktaking"})
		require.NoError(w, err)

		e, err := w.EvidenceOfFlow(w.Context(), trace)
		require.NoError(w, err)
		require.Len(w, e.Refused, 1, "the one in the trace")
		assert.Equal(w, flowclient.EventPromoteRefuse, e.Refused[0].Kind)
		require.NotNil(w, e.Refused[0].Replayed)
		assert.True(w, *e.Refused[0].Replayed)
		assert.Equal(w, []string{trace}, e.Traces)
		var kinds []string
		for _, event := range e.Events {
			kinds = append(kinds, event.Kind)
		}
		assert.Equal(w, []string{flowclient.EventPromoteRefuse, flowclient.EventFreezeSet}, kinds)
	})
}

func TestADecisionThatNobodyKeptIsNotThere(t *testing.T) {
	b := newBench(t)
	var refused *flowclient.Refusal
	_, err := b.Replay(t.Context(), "x")
	require.ErrorAs(t, err, &refused, "without a history there is nothing to read from")
	_, err = b.Undo(t.Context(), flowclient.UndoRequest{Origin: b.origin(), Project: "shop"})
	require.ErrorAs(t, err, &refused)
	assert.True(t, strings.HasSuffix(refused.Sentence, "roll back by hand."))

	b.deps.History = b.store
	b.Controller, err = flowclient.New(b.deps)
	require.NoError(t, err)
	_, err = b.Replay(t.Context(), "x")
	assert.True(t, flowclient.IsNotFound(err), "%v", err)
	var invalid *flowclient.Invalid
	for _, id := range []string{"", strings.Repeat("x", 601), "\x00"} {
		_, err = b.Replay(t.Context(), id)
		require.ErrorAs(t, err, &invalid, "%q", id)
		assert.Equal(t, "id", invalid.Field)
	}
	for _, r := range []flowclient.UndoRequest{{Project: "shop"}, {Origin: b.origin(), Project: "No"}, {Origin: flowclient.Origin{Key: "k", Who: flowclient.Automatic}, Project: "shop"}} {
		_, err = b.Undo(t.Context(), r)
		require.ErrorAs(t, err, &invalid, "%v", r)
	}
	key := b.origin()
	b.shop()
	_, err = b.Rollback(t.Context(), flowclient.Promotion{Origin: key, Project: "shop"})
	require.ErrorAs(t, err, &refused)
	b.push("second")
	b.promoted()
	_, err = b.Rollback(t.Context(), flowclient.Promotion{Origin: key, Project: "shop"})
	require.NoError(t, err)
	_, err = b.Undo(t.Context(), flowclient.UndoRequest{Origin: key, Project: "shop"})
	require.ErrorAs(t, err, &invalid, "a key that was used for a rollback stands for no undo")
}

// decidedAgain asserts that so many moves, and refusals to move, are recorded
// of a binding, and that the inputs recorded with each come to the same again.
func decidedAgain(t require.TestingT, c *flowclient.Controller, binding string, moves, refusals int) {
	e, err := c.EvidenceOfBinding(context.Background(), binding)
	require.NoError(t, err)
	found := 0
	for _, in := range append(e.Intents, e.Refused...) {
		if in.Replayed == nil {
			continue // no rule decided it
		}
		found++
		again, err := c.Replay(context.Background(), in.ID)
		require.NoError(t, err)
		require.True(t, again.Same && *in.Replayed, "%s %s\n%s\n%s", in.Kind, in.ID, again.Recorded, again.Replayed)
	}
	require.Equal(t, moves+refusals, found)
	trail, err := c.Audit(context.Background(), flowclient.AuditQuery{})
	require.NoError(t, err)
	for _, entry := range trail.Entries {
		if again, err := c.Replay(context.Background(), entry.Ref); !flowclient.IsNotFound(err) {
			require.NoError(t, err)
			require.True(t, again.Same, "the audit trail's reference is good too: %s", entry.Ref)
			found--
		}
	}
	require.LessOrEqual(t, found, 0, "each decision is on the trail")
	require.Len(t, e.Refused, refusals)
}

func TestWhatThePassDecidedIsDecidedAgainFromTheJournal(t *testing.T) {
	automatically(t, func(w *autoWorld) {
		w.project("shop", map[string]string{flowclient.AnnotationSoak: "5m", flowclient.AnnotationPromotionCheck: "http"})
		w.stage("shop-api", commitA)
		w.stage("shop-web", commitA)
		w.later(6 * time.Minute)
		decidedAgain(w, w.Controller, "shop-web-production", 1, 0)

		w.annotate(flowclient.KindProject, "shop", flowclient.AnnotationProductionWindow, "Mon-Fri 09:00-17:00 Europe/London")
		w.stage("shop-web", commitB)
		w.later(6 * time.Minute)
		require.Len(w, w.told(flowclient.EventAutoParked), 1)
		w.lock("shop-web", commitB)
		w.later(time.Minute)
		require.Len(w, w.told(flowclient.EventAutoLeftOut), 1)
		_, err := w.ask()
		assertRefused(w, err, "lock")
		decidedAgain(w, w.Controller, "shop-web-production", 1, 3)
		decidedAgain(w, w.Controller, "shop-api-production", 1, 0)

		w.annotate(flowclient.KindProject, "shop", flowclient.AnnotationSoak, "soon")
		w.stage("shop-web", commitC)
		w.later(time.Minute)
		require.Len(w, w.told(flowclient.EventAutoBroken), 1)
		w.annotate(flowclient.KindProject, "shop", flowclient.AnnotationSoak, "5m")
		w.annotate(flowclient.KindProject, "shop", flowclient.AnnotationProductionWindow, "")
		w.quota(100*mi, 100*mi)
		w.later(10 * time.Minute)
		require.Len(w, w.told(flowclient.EventAutoRefused), 1)
		decidedAgain(w, w.Controller, "shop-web-production", 1, 5)
	})
}

func TestUndoLeavesWhatSomebodyElsePinsMeanwhile(t *testing.T) {
	b := newBench(t)
	b.deps.History = b.store
	var err error
	b.Controller, err = flowclient.New(b.deps)
	require.NoError(t, err)
	b.shop()
	b.push("second")
	b.promoted()
	b.push("third")
	staging, err := b.plane.Get(t.Context(), flowclient.KindReleaseBinding, "shop-web-staging")
	require.NoError(t, err)
	var spec flowclient.ReleaseBindingSpec
	require.NoError(t, staging.Decode(&spec, nil))
	b.once("list", flowclient.KindResource, func() { // production was read, and is pinned again before the undo is
		require.NoError(t, b.plane.Bind("shop-web-production", spec.ReleaseName))
	})
	out, err := b.Undo(t.Context(), flowclient.UndoRequest{Origin: b.origin(), Project: "shop"})
	require.NoError(t, err)
	assert.Equal(t, flowclient.Superseded, out.Components[0].Result)
	assert.Contains(t, out.Components[0].Sentence, "production moved on to "+spec.ReleaseName+" meanwhile; nothing was moved.")
	assert.Empty(t, b.events(flowclient.EventRolledBack))
}

func TestEvidenceShowsTheNewestOfManyRefusals(t *testing.T) {
	b := newBench(t)
	b.deps.History = b.store
	var err error
	b.Controller, err = flowclient.New(b.deps)
	require.NoError(t, err)
	b.shop()
	second := b.push("second")
	_, err = b.SetLock(t.Context(), flowclient.LockRequest{Origin: b.origin(), Component: "shop-web", Commit: second.SHA, Reason: "bad"})
	require.NoError(t, err)
	for range 101 {
		_, err = b.Promote(t.Context(), flowclient.Promotion{Origin: b.origin(), Project: "shop"})
		assertRefused(t, err, "lock")
	}
	e, err := b.EvidenceOfBinding(t.Context(), "shop-web-production")
	require.NoError(t, err)
	assert.Len(t, e.Refused, 100)
	assert.Equal(t, []string{"Of 101 refusals about shop the newest 100 are shown; the audit trail has all of them."}, e.Notes)
}
