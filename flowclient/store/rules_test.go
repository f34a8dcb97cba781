package store_test

import (
	"encoding/json"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"platform.dev/platform/flowclient"
)

// The rules of promotion one by one, as people meet them through a controller.
// What the automatic pass makes of them has tests of its own (auto_test.go).

// byHand is a world with the project shop, which is promoted by hand.
func byHand(t *testing.T, annotations map[string]string, test func(w *autoWorld), change ...func(*flowclient.Deps)) {
	t.Helper()
	automatically(t, func(w *autoWorld) {
		all := map[string]string{flowclient.AnnotationPromotion: "manual"}
		for name, value := range annotations {
			all[name] = value
		}
		w.project("shop", all)
		test(w)
	}, change...)
}

func (w *autoWorld) ask(change ...func(*flowclient.Promotion)) (flowclient.Outcome, error) {
	r := flowclient.Promotion{Origin: w.origin(), Project: "shop"}
	for _, f := range change {
		f(&r)
	}
	return w.Promote(w.Context(), r)
}

func forced(r *flowclient.Promotion) { r.Force = true }

// results are those of an outcome by component.
func results(out flowclient.Outcome) map[string]string {
	all := map[string]string{}
	for _, c := range out.Components {
		all[c.Component] = c.Result
	}
	return all
}

// refusedBy asserts that nothing was moved, by the gate.
func refusedBy(t require.TestingT, err error, gate string) *flowclient.Refusal {
	var r *flowclient.Refusal
	require.ErrorAs(t, err, &r)
	require.Equal(t, gate, r.Gate, r.Sentence)
	return r
}

// assertRefused is refusedBy where its sentence says nothing new.
func assertRefused(t require.TestingT, err error, gate string) {
	require.NotEmpty(t, refusedBy(t, err, gate).Sentence)
}

func TestRule1ARefusalIsOfTheWholeRequestAndComesBeforeARetry(t *testing.T) {
	byHand(t, map[string]string{flowclient.AnnotationProductionWindow: "Mon-Fri 09:00-17:00 UTC"}, func(w *autoWorld) {
		for _, component := range []string{"shop-api", "shop-cron", "shop-web"} {
			w.stageOf(component, commitA, 100*mi)
		}
		w.plane.SetReady("shop-cron-staging", false)
		w.lock("shop-api", commitA)
		w.quota(400*mi, 0)
		_, err := w.ask()
		r := refusedBy(w, err, "lock")
		failing := map[string]bool{}
		for _, v := range r.Gates {
			if !v.Pass {
				failing[v.Gate+" "+v.Component] = true
			}
			if v.Gate == "window" {
				require.NotNil(w, v.Flips, "the instant at which it opens")
			}
			if v.Gate == "soak" {
				assert.True(w, v.Pass, "every gate was asked, the passing ones included")
			}
		}
		assert.Equal(w, map[string]bool{"lock shop-api": true, "window ": true, "capacity ": true, "ready shop-cron": true}, failing, "all are asked")

		w.plane.SetReady("shop-cron-staging", true)
		_, err = w.store.ClearLocks(w.Context(), "shop-api", commitA, "", "sre", time.Now(), func([]flowclient.Lock) flowclient.Event {
			return flowclient.Event{Key: "cleared", Kind: flowclient.EventLockCleared, At: time.Now(), Body: json.RawMessage(`{}`)}
		})
		require.NoError(w, err)
		_, err = w.ask()
		assertRefused(w, err, "window")
		w.later(57 * time.Hour) // Monday 09:00
		_, err = w.ask()
		assertRefused(w, err, "capacity")
		for _, component := range []string{"shop-api", "shop-cron", "shop-web"} {
			w.requireRuns(component, "")
		}

		w.quota(1000*mi, 0)
		w.plane.SetReady("shop-cron-staging", false)
		out, err := w.ask()
		require.NoError(w, err)
		assert.Equal(w, map[string]string{"shop-api": flowclient.Promoted, "shop-cron": flowclient.Retry, "shop-web": flowclient.Promoted}, results(out))
		assert.Len(w, out.Components, 3, "every requested component once")
		assert.False(w, out.Complete(), "207")
		w.plane.SetReady("shop-cron-staging", true)
		out, err = w.ask()
		require.NoError(w, err)
		assert.Equal(w, map[string]string{"shop-api": flowclient.Unchanged, "shop-cron": flowclient.Promoted, "shop-web": flowclient.Unchanged}, results(out))
		assert.True(w, out.Complete(), "200")
	})
}

func TestRule2ALockMatchesByCommitAndOnlyTheTargetsLockBinds(t *testing.T) {
	b := newBench(t)
	b.shop()
	second := b.push("second")
	ask := func(environment, reason string) flowclient.LockRequest {
		return flowclient.LockRequest{Origin: b.origin(), Component: "shop-web", Commit: second.SHA, Environment: environment, Reason: reason}
	}
	everywhere, err := b.SetLock(t.Context(), ask("", "bad"))
	require.NoError(t, err)
	again, err := b.SetLock(t.Context(), ask("", "another reason"))
	require.NoError(t, err)
	assert.Equal(t, everywhere, again, "set twice is one lock")
	_, err = b.SetLock(t.Context(), ask(flowclient.Production, "bad there"))
	require.NoError(t, err)

	// The same commit is cut into another release, as after an edit of the component type.
	staging, err := b.plane.Get(t.Context(), flowclient.KindReleaseBinding, "shop-web-staging")
	require.NoError(t, err)
	var spec flowclient.ReleaseBindingSpec
	require.NoError(t, staging.Decode(&spec, nil))
	release, err := b.plane.Get(t.Context(), flowclient.KindComponentRelease, spec.ReleaseName)
	require.NoError(t, err)
	release.Metadata.Name = "shop-web-recut"
	_, err = b.plane.Create(t.Context(), release)
	require.NoError(t, err)
	require.NoError(t, b.plane.Bind("shop-web-staging", "shop-web-recut"))
	for _, force := range []bool{false, true} {
		_, err = b.Promote(t.Context(), flowclient.Promotion{Origin: b.origin(), Project: "shop", Force: force})
		assert.Contains(t, refusedBy(t, err, "lock").Sentence, "is locked", "no input lifts a lock")
	}

	cleared, err := b.ClearLock(t.Context(), ask("", ""))
	require.NoError(t, err)
	assert.Len(t, cleared, 2, "without an environment every entry of the pair")
	history, err := b.store.Events(t.Context(), 0, 1000)
	require.NoError(t, err)
	var kinds []string
	for _, e := range history {
		if e.Kind == flowclient.EventLockSet || e.Kind == flowclient.EventLockCleared {
			kinds = append(kinds, e.Kind)
		}
	}
	assert.Equal(t, []string{flowclient.EventLockSet, flowclient.EventLockSet, flowclient.EventLockCleared}, kinds, "the history is only added to")
	b.promoted()

	late, err := b.SetLock(t.Context(), ask("", "too late"))
	require.NoError(t, err)
	assert.Contains(t, late.Note, "takes nothing out of service", "set later it has no effect, and says so")
	_, err = b.Rollback(t.Context(), flowclient.Promotion{Origin: b.origin(), Project: "shop"})
	require.NoError(t, err, "a lock on what runs must not trap it")
}

func TestRule3ARollbackReturnsConsumesAndIsHeld(t *testing.T) {
	b := newBench(t)
	b.deps.Standings, b.deps.History = b.store, b.store
	var err error
	b.Controller, err = flowclient.New(b.deps)
	require.NoError(t, err)
	b.shop()
	b.push("second")
	b.promoted()
	b.now = b.now.Add(time.Hour)
	_, err = b.plane.Create(t.Context(), flowclient.Object{Kind: flowclient.KindResource, Metadata: flowclient.Metadata{Name: "orders"},
		Spec: json.RawMessage(`{"owner":{"projectName":"shop"},"type":{"kind":"ClusterResourceType","name":"postgres"}}`)})
	require.NoError(t, err)
	back := func() (flowclient.Outcome, error) {
		return b.Rollback(t.Context(), flowclient.Promotion{Origin: b.origin(), Project: "shop"})
	}
	out, err := back()
	require.NoError(t, err)
	assert.Equal(t, flowclient.RolledBack, out.Components[0].Result)
	assert.Contains(t, out.Note, "A rollback moves code only.")
	assert.Contains(t, out.Note, "the resource orders, made since")
	_, err = b.plane.Get(t.Context(), flowclient.KindResourceReleaseBinding, "orders-production")
	assert.True(t, flowclient.IsNotFound(err), "a rollback never touches resources")
	_, err = back()
	assert.Contains(t, refusedBy(t, err, "").Sentence, "nothing recorded")

	holds, err := b.store.Holds(t.Context())
	require.NoError(t, err)
	require.Len(t, holds, 1)
	assert.Equal(t, out.Components[0].From, holds[0].Release, "what was rolled back is held")
	why, err := b.Why(t.Context(), "shop", "")
	require.NoError(t, err)
	i := slices.IndexFunc(why.Components[0].Gates, func(v flowclient.Verdict) bool { return v.Gate == "hold" })
	assert.False(t, why.Components[0].Gates[i].Pass)
	b.promoted()
	holds, err = b.store.Holds(t.Context())
	require.NoError(t, err)
	assert.Empty(t, holds, "a person who promotes lifts it")

	_, err = b.Rollback(t.Context(), flowclient.Promotion{Origin: b.origin(), Project: "shop", Environment: flowclient.Staging})
	assert.Contains(t, refusedBy(t, err, "").Sentence, "cannot be rolled back while autoDeploy holds it")
}

func TestRule4TheFourStepsInOrderEachCreatedOrLeft(t *testing.T) {
	b := newBench(t)
	_, err := b.Scaffold(t.Context(), flowclient.ScaffoldRequest{Origin: b.origin(), Template: "static", Project: "shop"})
	require.NoError(t, err)
	_, err = b.plane.Create(t.Context(), flowclient.Object{Kind: flowclient.KindResource, Metadata: flowclient.Metadata{Name: "orders"},
		Spec: json.RawMessage(`{"owner":{"projectName":"shop"}}`), Status: json.RawMessage(`{"latestRelease":{"name":"orders-1"}}`)})
	require.NoError(t, err)
	writes := func(do func()) []string {
		b.plane.Revive()
		do()
		all, _ := b.plane.Revive()
		return all
	}
	assert.Equal(t, []string{"create ProjectReleaseBinding", "create ResourceReleaseBinding", "create ReleaseBinding"}, writes(b.promoted))
	b.push("second")
	assert.Equal(t, []string{"update ReleaseBinding"}, writes(b.promoted), "release, displaced release, promoted-by and intent in one write; resources are never bumped")
	o, err := b.plane.Get(t.Context(), flowclient.KindReleaseBinding, "shop-web-production")
	require.NoError(t, err)
	for _, name := range []string{flowclient.AnnotationDisplaced, flowclient.AnnotationPromotedBy, flowclient.AnnotationIntent} {
		assert.NotEmpty(t, o.Metadata.Annotations[name], name)
	}

	b.push("third")
	third, err := b.plane.Get(t.Context(), flowclient.KindReleaseBinding, "shop-web-staging")
	require.NoError(t, err)
	b.once("list", flowclient.KindResource, func() { b.push("fourth") }) // after the decision, before the pin
	out := b.promote()
	assert.Equal(t, flowclient.Superseded, out.Result, "staging is read again right before the pin")
	var spec flowclient.ReleaseBindingSpec
	require.NoError(t, third.Decode(&spec, nil))
	assert.Equal(t, spec.ReleaseName, out.To)
}

func TestRule5SoakCountsFromTheFirstSightInStaging(t *testing.T) {
	byHand(t, map[string]string{flowclient.AnnotationSoak: "5m"}, func(w *autoWorld) {
		w.stage("shop-web", commitA)
		w.later(5*time.Minute - 1)
		out, err := w.ask()
		require.NoError(w, err)
		assert.Contains(w, out.Components[0].Sentence, "has been in staging for 4 min 59 s of 5 min")
		w.later(1)
		out, err = w.ask()
		require.NoError(w, err)
		assert.Equal(w, flowclient.Promoted, out.Components[0].Result, "it passes at elapsed >= soak")

		for _, commit := range []string{commitB, commitC, commitB} {
			w.stage("shop-web", commit)
			w.later(4 * time.Minute)
		}
		out, err = w.ask()
		require.NoError(w, err)
		assert.Equal(w, flowclient.Retry, out.Components[0].Result, "B, C, B starts over")
		w.later(time.Minute)
		w.plane.SetReady("shop-web-staging", false)
		out, err = w.ask()
		require.NoError(w, err)
		assert.Equal(w, flowclient.Retry, out.Components[0].Result, "and Ready now")
		w.plane.SetReady("shop-web-staging", true)

		w.annotate(flowclient.KindProject, "shop", flowclient.AnnotationSoak, "five minutes")
		out, err = w.ask()
		require.NoError(w, err)
		assert.Contains(w, out.Components[0].Sentence, `the soak "five minutes" of shop is no duration`, "what is malformed fails closed and says why")
		w.annotate(flowclient.KindProject, "shop", flowclient.AnnotationSoak, "")
		out, err = w.ask()
		require.NoError(w, err)
		assert.Contains(w, out.Components[0].Sentence, "of 2 h", "the default where none is set")
		assert.Equal(w, "2h0m0s", w.state("shop").Soak, "shown in /state")

		skip := func(r *flowclient.Promotion) { r.SkipSoak = "the fair begins" }
		_, err = w.ask(skip)
		assert.Contains(w, refusedBy(w, err, "").Sentence, "skipping the soak is not allowed here")
	}, func(d *flowclient.Deps) { d.Settings.DefaultSoak = 2 * time.Hour })
}

func TestRule5SkipSoakLiftsSoakWithItsReasonWhereTheOperatorAllowsIt(t *testing.T) {
	byHand(t, map[string]string{flowclient.AnnotationSoak: "5m"}, func(w *autoWorld) {
		w.stage("shop-web", commitA)
		out, err := w.ask(func(r *flowclient.Promotion) { r.SkipSoak = "the fair begins" })
		require.NoError(w, err)
		assert.Equal(w, flowclient.Promoted, out.Components[0].Result)
		assert.Contains(w, out.Note, "Lifted by skipSoak: the fair begins:")
		var invalid *flowclient.Invalid
		_, err = w.ask(func(r *flowclient.Promotion) { r.SkipSoak = " \t" })
		require.ErrorAs(w, err, &invalid, "blanks are no reason")
		assert.Equal(w, "skipSoak", invalid.Field)
	}, func(d *flowclient.Deps) { d.Settings.AllowSkipSoak = true })
}

func TestRule6TheWindowBindsPromotionAndRollbackAtTheirAdmission(t *testing.T) {
	byHand(t, map[string]string{}, func(w *autoWorld) { // it is Saturday, midnight
		window := func(text string) {
			w.annotate(flowclient.KindProject, "shop", flowclient.AnnotationProductionWindow, text)
		}
		open := func() bool {
			s, err := w.Window(w.Context(), "shop")
			require.NoError(w, err)
			return s.Open
		}
		w.stage("shop-web", commitA)
		_, err := w.ask()
		require.NoError(w, err, "no window is every instant")
		w.stage("shop-web", commitB)
		_, err = w.ask()
		require.NoError(w, err)

		window("Fri 22:00-02:00 UTC")
		assert.True(w, open(), "an overnight window belongs to its start day")
		window("Mon-Fri 00:00-24:00 UTC")
		w.stage("shop-web", commitC)
		_, err = w.ask()
		assert.Contains(w, refusedBy(w, err, "window").Sentence, "Closed now; opens Mon 3 Jan 00:00 UTC, in 2 d.")
		_, err = w.ask(forced)
		assertRefused(w, err, "window")
		_, err = w.Rollback(w.Context(), flowclient.Promotion{Origin: w.origin(), Project: "shop"})
		assertRefused(w, err, "window")
		w.later(48*time.Hour - 1)
		assert.False(w, open())
		w.later(1)
		assert.True(w, open(), "the start instant is in it")
		_, err = w.Rollback(w.Context(), flowclient.Promotion{Origin: w.origin(), Project: "shop"})
		require.NoError(w, err)

		window("Mon 00:00-00:01 UTC")
		w.later(time.Minute)
		assert.False(w, open(), "the end instant is not")
		for _, broken := range []string{"Mon-Fri 09:00-17:00 Europe/Londn", "Mon 09:00-09:00 UTC", "weekdays"} {
			window(broken)
			_, err = w.ask()
			assert.Contains(w, refusedBy(w, err, "window").Sentence, broken, "what cannot be read refuses, and is quoted")
		}
	})
}
