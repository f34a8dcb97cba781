package flowtest

import (
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"platform.dev/platform/flowclient"
)

// aFreeze is a freeze of shop for some hours from noon on.
func aFreeze(from, hours int) flowclient.Freeze {
	begin := noon.Add(time.Duration(from) * time.Hour)
	return flowclient.Freeze{Project: "shop", From: begin, Until: begin.Add(time.Duration(hours) * time.Hour), Reason: "the fair", Who: "sre", At: noon}
}

// frozen makes the event of a freeze that a store has recorded.
func frozen(key string, of *[]flowclient.Freeze) func(flowclient.Freeze) flowclient.Event {
	return func(f flowclient.Freeze) flowclient.Event {
		if of != nil {
			*of = append(*of, f)
		}
		return happened(key)
	}
}

func freezeOnce(t *testing.T, m Memory, reopen func() Memory) {
	ctx := t.Context()
	var told []flowclient.Freeze
	first, fresh, err := m.SetFreeze(ctx, "set/1", aFreeze(0, 2), frozen("set/1", &told))
	require.NoError(t, err)
	assert.True(t, fresh)
	want := aFreeze(0, 2)
	want.ID = first.ID
	assert.Equal(t, want, first)
	assert.Equal(t, []flowclient.Freeze{first}, told, "the event is told of the freeze as it is recorded")
	_, found, err := m.FreezeSet(ctx, "set/2")
	require.NoError(t, err)
	assert.False(t, found)

	m = reopen()
	other := aFreeze(1, 9)
	other.Who = "admin"
	again, fresh, err := m.SetFreeze(ctx, "set/1", other, frozen("set/1", nil))
	require.NoError(t, err)
	assert.False(t, fresh)
	assert.Equal(t, first, again, "a request heard twice sets one freeze")
	second, fresh, err := m.SetFreeze(ctx, "set/2", aFreeze(0, 2), frozen("set/2", nil))
	require.NoError(t, err)
	assert.True(t, fresh, "two people may want the same")
	assert.NotEqual(t, first.ID, second.ID)

	cleared, found, err := m.ClearFreeze(ctx, "clear/1", first.ID, "sre", noon, frozen("clear/1", nil))
	require.NoError(t, err)
	require.True(t, found)
	assert.Equal(t, first, cleared)
	m = reopen()
	cleared, found, err = m.ClearFreeze(ctx, "clear/1", second.ID, "sre", noon, frozen("clear/1", nil))
	require.NoError(t, err)
	assert.True(t, found)
	assert.Equal(t, first, cleared, "a clear heard again clears nothing more")
	_, found, err = m.ClearFreeze(ctx, "clear/2", first.ID, "sre", noon, frozen("clear/2", nil))
	require.NoError(t, err)
	assert.False(t, found, "what is cleared cannot be cleared again")
	late, fresh, err := m.SetFreeze(ctx, "set/1", aFreeze(0, 2), frozen("set/1", nil))
	require.NoError(t, err)
	assert.False(t, fresh)
	assert.Equal(t, first, late, "a request heard again after the freeze was cleared sets nothing")
	kept, found, err := m.FreezeSet(ctx, "set/1")
	require.NoError(t, err)
	assert.True(t, found, "what is cleared is history")
	assert.Equal(t, first, kept)

	held, err := m.Freezes(ctx, noon)
	require.NoError(t, err)
	assert.Equal(t, []flowclient.Freeze{second}, held)
	events, err := m.Events(ctx, 0, 10)
	require.NoError(t, err)
	require.Len(t, events, 3)
	assert.Equal(t, "set/1 set/2 clear/1", events[0].Key+" "+events[1].Key+" "+events[2].Key)
}

func freezesEnd(t *testing.T, m Memory, reopen func() Memory) {
	ctx := t.Context()
	var set []flowclient.Freeze
	for key, f := range map[string]flowclient.Freeze{"late": aFreeze(5, 1), "long": aFreeze(0, 4), "short": aFreeze(1, 1)} {
		recorded, _, err := m.SetFreeze(ctx, key, f, frozen(key, nil))
		require.NoError(t, err)
		set = append(set, recorded)
	}
	m = reopen()
	for _, c := range []struct{ hour, left int }{{0, 3}, {1, 3}, {2, 2}, {4, 1}, {5, 1}, {6, 0}} {
		now := noon.Add(time.Duration(c.hour) * time.Hour)
		held, err := m.Freezes(ctx, now)
		require.NoError(t, err)
		assert.Len(t, held, c.left, "after %d hours", c.hour)
		for i, f := range held {
			assert.True(t, f.Until.After(now))
			assert.False(t, i > 0 && f.From.Before(held[i-1].From), "by when they begin")
		}
	}
	for _, f := range set {
		_, found, err := m.ClearFreeze(ctx, "clear", f.ID, "sre", f.Until, frozen("clear", nil))
		require.NoError(t, err)
		assert.False(t, found, "what has ended needs no clearing")
	}
	_, found, err := m.ClearFreeze(ctx, "clear", set[0].ID+99, "sre", noon, frozen("clear", nil))
	require.NoError(t, err)
	assert.False(t, found)
}

func freezeTogether(t *testing.T, m Memory, _ func() Memory) {
	fresh, set := make([]bool, 16), make([]flowclient.Freeze, 16)
	errs := together(16, func(i int) (err error) {
		set[i], fresh[i], err = m.SetFreeze(t.Context(), "set/1", aFreeze(0, 1), frozen("set/1", nil))
		return err
	})
	require.NoError(t, errors.Join(errs...))
	count := 0
	for i := range set {
		assert.Equal(t, set[0], set[i])
		if fresh[i] {
			count++
		}
	}
	assert.Equal(t, 1, count)
}

// freezeRefuses: during a freeze nothing is promoted or rolled back, whoever set it.
func freezeRefuses(t *testing.T, s *site) {
	first := s.scaffold(false).Commit.SHA
	s.promoted()
	s.reaches(flowclient.Production, first)
	second := s.push("index.html", page("second")).SHA
	s.promoted()
	s.reaches(flowclient.Production, second)
	third := s.push("index.html", page("third")).SHA

	request := flowclient.FreezeRequest{Origin: s.origin(), Project: s.project, Until: time.Now().Add(26 * time.Hour).UTC(), Reason: "the fair"}
	freeze, err := s.Flow.SetFreeze(s.ctx(), request)
	require.NoError(t, err)
	assert.NotZero(t, freeze.ID)
	assert.Equal(t, freeze.At, freeze.From, "without a beginning it begins now")
	assert.True(t, request.Until.Equal(freeze.Until))
	assert.Equal(t, s.project+" developer the fair", freeze.Project+" "+freeze.Who+" "+freeze.Reason)
	again, err := s.Flow.SetFreeze(s.ctx(), request)
	require.NoError(t, err)
	assert.Equal(t, freeze, again, "the same request heard twice sets one freeze")
	another := request
	another.Until = request.Until.Add(time.Hour)
	_, err = s.Flow.SetFreeze(s.ctx(), another)
	var invalid *flowclient.Invalid
	require.ErrorAs(t, err, &invalid, "another request under the same key")
	assert.Equal(t, "origin.key", invalid.Field)

	held, err := s.Flow.Freezes(s.ctx())
	require.NoError(t, err)
	assert.Contains(t, held, freeze)
	window, err := s.Flow.Window(s.ctx(), s.project)
	require.NoError(t, err)
	assert.False(t, window.Open)
	assert.Equal(t, []flowclient.Freeze{freeze}, window.Freezes)
	require.NotNil(t, window.Flips)
	assert.True(t, freeze.Until.Equal(*window.Flips), "it opens when the freeze ends")
	for _, move := range []func() (flowclient.Outcome, error){s.promote, s.rollback} {
		_, err = move()
		r := refusal(t, err, "window")
		assert.Contains(t, r.Sentence, "Frozen until "+freeze.Until.Format("Mon 2 Jan"))
		assert.Contains(t, r.Sentence, " by developer: the fair; opens then, in 1 d 2 h")
	}
	s.reaches(flowclient.Production, second)

	thaw := flowclient.FreezeRequest{Origin: s.origin(), ID: freeze.ID}
	cleared, err := s.Flow.ClearFreeze(s.ctx(), thaw)
	require.NoError(t, err)
	assert.Equal(t, freeze, cleared)
	twice, err := s.Flow.ClearFreeze(s.ctx(), thaw)
	require.NoError(t, err)
	assert.Equal(t, cleared, twice, "the same request heard twice has one effect")
	thaw.Origin = s.origin()
	_, err = s.Flow.ClearFreeze(s.ctx(), thaw)
	assert.True(t, flowclient.IsNotFound(err), "%v", err)
	s.promoted()
	s.reaches(flowclient.Production, third)
	assert.Len(t, s.events(flowclient.EventFreezeSet), 1)
	assert.Len(t, s.events(flowclient.EventFreezeCleared), 1)
}

// freezeOfEvery: a freeze of every project holds each, and one to come holds none yet.
func freezeOfEvery(t *testing.T, s *site) {
	s.scaffold(false)
	now := time.Now().UTC()
	coming, err := s.Flow.SetFreeze(s.ctx(), flowclient.FreezeRequest{Origin: s.origin(), From: now.Add(time.Hour), Until: now.Add(2 * time.Hour), Reason: "a drill"})
	require.NoError(t, err)
	window, err := s.Flow.Window(s.ctx(), s.project)
	require.NoError(t, err)
	assert.True(t, window.Open)
	assert.Contains(t, window.Sentence, "Freeze from ")
	assert.Contains(t, window.Sentence, " in every project by developer: a drill.")
	require.NotNil(t, window.Flips)
	assert.True(t, coming.From.Equal(*window.Flips), "it closes when the freeze begins")
	s.promoted()

	holding, err := s.Flow.SetFreeze(s.ctx(), flowclient.FreezeRequest{Origin: s.origin(), Until: now.Add(30 * time.Minute), Reason: "the move"})
	require.NoError(t, err)
	s.push("index.html", page("second"))
	_, err = s.promote()
	assert.Contains(t, refusal(t, err, "window").Sentence, "in every project by developer: the move")
	state, err := s.Flow.State(s.ctx())
	require.NoError(t, err)
	for _, p := range state.Projects {
		assert.False(t, p.Window.Open, p.Project)
		assert.Len(t, p.Window.Freezes, 2)
	}
	held, err := s.Flow.Freezes(s.ctx())
	require.NoError(t, err)
	assert.Equal(t, []flowclient.Freeze{holding, coming}, held, "by when they begin")
	for _, f := range held {
		_, err := s.Flow.ClearFreeze(s.ctx(), flowclient.FreezeRequest{Origin: s.origin(), ID: f.ID})
		require.NoError(t, err)
	}
	s.promoted()
}

// badFreezes: what a freeze may not be is named by its field.
func badFreezes(t *testing.T, s *site) {
	s.scaffold(false)
	now := time.Now()
	for name, c := range map[string]struct {
		field  string
		change func(r *flowclient.FreezeRequest)
	}{
		"no reason":                    {"reason", func(r *flowclient.FreezeRequest) { r.Reason = " " }},
		"no end":                       {"until", func(r *flowclient.FreezeRequest) { r.Until = time.Time{} }},
		"an end that has passed":       {"until", func(r *flowclient.FreezeRequest) { r.Until = now.Add(-time.Minute) }},
		"an end before its beginning":  {"until", func(r *flowclient.FreezeRequest) { r.From, r.Until = now.Add(2*time.Hour), now.Add(time.Hour) }},
		"an end at its beginning":      {"until", func(r *flowclient.FreezeRequest) { r.From = r.Until }},
		"an end in more than a year":   {"until", func(r *flowclient.FreezeRequest) { r.Until = now.Add(367 * 24 * time.Hour) }},
		"a beginning that has passed":  {"from", func(r *flowclient.FreezeRequest) { r.From = now.Add(-time.Hour) }},
		"a project that is no name":    {"project", func(r *flowclient.FreezeRequest) { r.Project = "Shop_1" }},
		"nobody who asks":              {"origin.who", func(r *flowclient.FreezeRequest) { r.Origin.Who = "" }},
		"a reason as long as a novel":  {"reason", func(r *flowclient.FreezeRequest) { r.Reason = page("x") + string(make([]byte, 2000)) }},
		"a key that cannot be a key's": {"origin.key", func(r *flowclient.FreezeRequest) { r.Origin.Key = string(make([]byte, 301)) }},
	} {
		t.Run(name, func(t *testing.T) {
			r := flowclient.FreezeRequest{Origin: s.origin(), Project: s.project, Until: now.Add(time.Hour), Reason: "the fair"}
			c.change(&r)
			_, err := s.Flow.SetFreeze(s.ctx(), r)
			var invalid *flowclient.Invalid
			require.ErrorAs(t, err, &invalid)
			assert.Equal(t, c.field, invalid.Field)
			assert.NotEmpty(t, invalid.Why)
		})
	}
	_, err := s.Flow.SetFreeze(s.ctx(), flowclient.FreezeRequest{Origin: s.origin(), Project: "nowhere", Until: now.Add(time.Hour), Reason: "the fair"})
	assert.True(t, flowclient.IsNotFound(err), "%v", err)
	_, err = s.Flow.ClearFreeze(s.ctx(), flowclient.FreezeRequest{Origin: s.origin(), ID: 4711})
	assert.True(t, flowclient.IsNotFound(err), "%v", err)
	_, err = s.Flow.ClearFreeze(s.ctx(), flowclient.FreezeRequest{Origin: s.origin(), ID: -1})
	var invalid *flowclient.Invalid
	require.ErrorAs(t, err, &invalid)
	assert.Equal(t, "id", invalid.Field)
	held, err := s.Flow.Freezes(s.ctx())
	require.NoError(t, err)
	assert.Empty(t, held)
}
