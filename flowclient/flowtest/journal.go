package flowtest

import (
	"context"
	"encoding/json"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"platform.dev/platform/flowclient"
)

// Memory is everything that a controller remembers.
type Memory interface {
	flowclient.Journal
	flowclient.LockStore
	flowclient.Sightings
	flowclient.Runs
	flowclient.PullStore
	flowclient.AppliedStore
	flowclient.Traces
	flowclient.History
	flowclient.Standings
	flowclient.FreezeStore
	Decider
}

// Decider keeps what bots decide, in the audit trail.
type Decider interface {
	Decided(ctx context.Context, d flowclient.Decision) error
}

// Journal is the contract of the controller's memory. open gives an empty one
// and reopen gives it again as a process that starts anew finds it.
func Journal(t *testing.T, open func(t *testing.T) (m Memory, reopen func() Memory)) {
	for name, test := range map[string]func(t *testing.T, m Memory, reopen func() Memory){
		"an intent is recorded once per key":              intentOnce,
		"an outcome and its events are recorded together": settleOnce,
		"events are noted once and listed in order":       noteOnce,
		"identical requests at once begin one intent":     beginTogether,
		"a lock is set once and cleared once":             lockOnce,
		"clearing by environment":                         clearByEnvironment,
		"a freeze is set once and cleared once":           freezeOnce,
		"freezes end by themselves":                       freezesEnd,
		"identical freezes at once are one":               freezeTogether,
		"a release counts from when it was first seen":    seenSince,
		"a clock that goes backwards shortens no soak":    clockBackwards,
		"one walkthrough is under way at a time":          runOnce,
		"pull requests are pointed at and looked at":      pullsRemembered,
		"applied manifests are replaced one by one":       manifestsRemembered,
		"a commit's first trace is kept":                  tracesRemembered,
		"history is read by project and by trace":         historyRead,
		"records are paged, newest first":                 recordsPaged,
		"records are narrowed by what they are about":     recordsNarrowed,
		"records are what was recorded":                   recordsWhole,
		"what happened in a stretch of time":              happenedBetween,
	} {
		t.Run(name, func(t *testing.T) {
			m, reopen := open(t)
			test(t, m, reopen)
		})
	}
}

var noon = time.Date(2026, 11, 20, 12, 0, 0, 123456789, time.UTC)

func intent(key string) flowclient.Intent {
	return flowclient.Intent{Key: key, Kind: "promote", Asked: "5f4e3d", Who: "developer", At: noon, Body: json.RawMessage(`{"project":"shop"}`)}
}

func happened(key string) flowclient.Event {
	return flowclient.Event{Key: key, Kind: flowclient.EventPromoted, At: noon, Project: "shop", Component: "shop-web", Walkthrough: true, Body: json.RawMessage(`{"n":1}`)}
}

func intentOnce(t *testing.T, m Memory, reopen func() Memory) {
	first, fresh, err := m.Begin(t.Context(), intent("zulip:31"))
	require.NoError(t, err)
	assert.True(t, fresh)
	require.NotEmpty(t, first.ID)
	other := intent("zulip:31")
	other.Kind, other.Asked, other.Who = "rollback", "another", "sre"
	again, fresh, err := m.Begin(t.Context(), other)
	require.NoError(t, err)
	assert.False(t, fresh)
	assert.Equal(t, first, again)
	_, found, err := m.Find(t.Context(), "zulip:32")
	require.NoError(t, err)
	assert.False(t, found)

	second, _, err := m.Begin(t.Context(), intent("zulip:32"))
	require.NoError(t, err)
	assert.NotEqual(t, first.ID, second.ID)
	open, err := reopen().Open(t.Context())
	require.NoError(t, err)
	assert.Equal(t, []flowclient.Intent{first, second}, open, "oldest first, also after a restart")
}

func settleOnce(t *testing.T, m Memory, reopen func() Memory) {
	in, _, err := m.Begin(t.Context(), intent("zulip:31"))
	require.NoError(t, err)
	require.NoError(t, m.Settle(t.Context(), in.ID, flowclient.Settlement{Outcome: json.RawMessage(`{"a":1}`), At: noon, Events: []flowclient.Event{happened("one"), happened("two")}}))
	require.NoError(t, m.Settle(t.Context(), in.ID, flowclient.Settlement{Outcome: json.RawMessage(`{"a":2}`), At: noon, Events: []flowclient.Event{happened("three")}}))
	m = reopen()
	in, found, err := m.Find(t.Context(), "zulip:31")
	require.NoError(t, err)
	require.True(t, found)
	assert.JSONEq(t, `{"a":1}`, string(in.Outcome), "settling twice changes nothing")
	open, err := m.Open(t.Context())
	require.NoError(t, err)
	assert.Empty(t, open)
	events, err := m.Events(t.Context(), 0, 10)
	require.NoError(t, err)
	require.Len(t, events, 2)
	want := happened("two")
	want.Seq = events[1].Seq
	assert.Equal(t, want, events[1])
	assert.True(t, flowclient.IsNotFound(m.Settle(t.Context(), "no-such-id", flowclient.Settlement{Outcome: json.RawMessage(`{}`), At: noon})))
}

func noteOnce(t *testing.T, m Memory, reopen func() Memory) {
	require.NoError(t, m.Note(t.Context(), happened("a"), happened("b")))
	require.NoError(t, m.Note(t.Context(), happened("b"), happened("c"), happened("c")))
	require.NoError(t, m.Note(t.Context()))
	m = reopen()
	var keys []string
	for after := int64(0); ; {
		page, err := m.Events(t.Context(), after, 2)
		require.NoError(t, err)
		if len(page) == 0 {
			break
		}
		for _, e := range page {
			assert.Greater(t, e.Seq, after)
			keys, after = append(keys, e.Key), e.Seq
		}
	}
	assert.Equal(t, []string{"a", "b", "c"}, keys)
}

func beginTogether(t *testing.T, m Memory, _ func() Memory) {
	fresh, ids := make([]bool, 16), make([]string, 16)
	for _, err := range together(16, func(i int) (err error) {
		var in flowclient.Intent
		in, fresh[i], err = m.Begin(t.Context(), intent("zulip:31"))
		ids[i] = in.ID
		return err
	}) {
		require.NoError(t, err)
	}
	count := 0
	for i := range fresh {
		assert.Equal(t, ids[0], ids[i])
		if fresh[i] {
			count++
		}
	}
	assert.Equal(t, 1, count)
}

func aLock(environment string) flowclient.Lock {
	return flowclient.Lock{Component: "shop-web", Commit: "0123456789012345678901234567890123456789", Environment: environment,
		Reason: "bad", Who: "sre", At: noon, Releases: []string{"shop-web-1"}}
}

func lockOnce(t *testing.T, m Memory, reopen func() Memory) {
	first, fresh, err := m.SetLock(t.Context(), aLock(""), happened("set/1"))
	require.NoError(t, err)
	assert.True(t, fresh)
	want := aLock("")
	want.ID = first.ID
	assert.Equal(t, want, first)
	other := aLock("")
	other.Who = "admin"
	again, fresh, err := m.SetLock(t.Context(), other, happened("set/2"))
	require.NoError(t, err)
	assert.False(t, fresh)
	assert.Equal(t, first, again)
	held, err := reopen().Locks(t.Context())
	require.NoError(t, err)
	assert.Equal(t, []flowclient.Lock{first}, held)

	event := func([]flowclient.Lock) flowclient.Event { return happened("clear/1") }
	cleared, err := m.ClearLocks(t.Context(), first.Component, first.Commit, "", "sre", noon, event)
	require.NoError(t, err)
	assert.Equal(t, []flowclient.Lock{first}, cleared)
	late, fresh, err := m.SetLock(t.Context(), aLock(""), happened("set/1"))
	require.NoError(t, err)
	assert.False(t, fresh)
	assert.Equal(t, first, late, "a request heard again after the lock was cleared sets nothing")
	second, fresh, err := m.SetLock(t.Context(), aLock(""), happened("set/3"))
	require.NoError(t, err)
	assert.True(t, fresh)
	assert.NotEqual(t, first.ID, second.ID)
	cleared, err = m.ClearLocks(t.Context(), first.Component, first.Commit, "", "sre", noon, event)
	require.NoError(t, err)
	assert.Equal(t, []flowclient.Lock{first}, cleared, "a clear heard again clears nothing that was set since")
	held, err = m.Locks(t.Context())
	require.NoError(t, err)
	assert.Equal(t, []flowclient.Lock{second}, held)
	events, err := m.Events(t.Context(), 0, 10)
	require.NoError(t, err)
	require.Len(t, events, 3)
	assert.Equal(t, "set/1 clear/1 set/3", events[0].Key+" "+events[1].Key+" "+events[2].Key)
}

func clearByEnvironment(t *testing.T, m Memory, _ func() Memory) {
	for i, environment := range []string{"", "staging", "production"} {
		_, _, err := m.SetLock(t.Context(), aLock(environment), happened(fmt.Sprint("set/", i)))
		require.NoError(t, err)
	}
	wipe := func(environment, key string) int {
		cleared, err := m.ClearLocks(t.Context(), "shop-web", aLock("").Commit, environment, "sre", noon,
			func([]flowclient.Lock) flowclient.Event { return happened(key) })
		require.NoError(t, err)
		return len(cleared)
	}
	assert.Equal(t, 1, wipe("production", "clear/1"))
	assert.Equal(t, 0, wipe("production", "clear/2"))
	assert.Equal(t, 2, wipe("", "clear/3"))
}

func seenSince(t *testing.T, m Memory, reopen func() Memory) {
	for i, c := range []struct {
		release string
		at      int // minutes
		since   int
	}{{"b", 0, 0}, {"b", 5, 0}, {"c", 7, 7}, {"b", 9, 9}, {"b", 12, 9}} {
		since, err := m.Seen(t.Context(), "shop-web-staging", c.release, noon.Add(time.Duration(c.at)*time.Minute))
		require.NoError(t, err)
		assert.Equal(t, noon.Add(time.Duration(c.since)*time.Minute), since, "sighting %d: B, C, B starts over", i)
		m = reopen()
	}
}

func clockBackwards(t *testing.T, m Memory, _ func() Memory) {
	_, err := m.Seen(t.Context(), "shop-web-staging", "b", noon)
	require.NoError(t, err)
	since, err := m.Seen(t.Context(), "shop-web-staging", "c", noon.Add(-time.Hour))
	require.NoError(t, err)
	assert.Equal(t, noon, since)
}

func runOnce(t *testing.T, m Memory, reopen func() Memory) {
	w := flowclient.Walkthrough{Key: "zulip:31", Template: "static", Who: "developer", Started: noon}
	first, fresh, err := m.BeginRun(t.Context(), w)
	require.NoError(t, err)
	assert.True(t, fresh)
	assert.Equal(t, "static-1", first.Project)
	assert.Equal(t, "static-1", first.Topic)
	m = reopen()
	again, fresh, err := m.BeginRun(t.Context(), w)
	require.NoError(t, err)
	assert.True(t, fresh, "the same key is its own run")
	assert.Equal(t, first, again)
	w.Key, w.Topic = "zulip:32", "a topic"
	busy, fresh, err := m.BeginRun(t.Context(), w)
	require.NoError(t, err)
	assert.False(t, fresh)
	assert.Equal(t, first, busy)

	ended := noon.Add(time.Minute)
	first.Step, first.State, first.Ended, first.Result, first.Message = "closing", []byte(`{"n":1}`), &ended, "failed", "no page"
	require.NoError(t, m.UpdateRun(t.Context(), first))
	second, fresh, err := m.BeginRun(t.Context(), w)
	require.NoError(t, err)
	assert.True(t, fresh)
	assert.Equal(t, "static-2", second.Project)
	assert.Equal(t, "a topic", second.Topic)
	runs, err := reopen().LastRuns(t.Context(), 5)
	require.NoError(t, err)
	assert.Equal(t, []flowclient.Walkthrough{second, first}, runs)
	assert.True(t, flowclient.IsNotFound(m.UpdateRun(t.Context(), flowclient.Walkthrough{ID: 99})))
}
