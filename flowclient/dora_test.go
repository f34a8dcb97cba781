package flowclient

import (
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// tape is a journal made by hand: instants are minutes after the period's begin.
type tape struct{ events []Event }

var periodBegin = time.Date(2026, 3, 1, 0, 0, 0, 0, time.UTC)

func minute(n int) time.Time { return periodBegin.Add(time.Duration(n) * time.Minute) }

func (j *tape) add(at int, kind string, body any) *tape {
	raw, err := json.Marshal(body)
	if err != nil {
		panic(err)
	}
	j.events = append(j.events, Event{Seq: int64(len(j.events) + 1), Key: fmt.Sprint(len(j.events)), Kind: kind, At: minute(at), Project: "shop", Body: raw})
	return j
}

// built is the build of a commit that began at a minute and ended a minute later.
func (j *tape) built(at int, component, commit string) *tape {
	b := BuildEvent{Build: Build{Run: component + "-run-" + commit, Component: component, Commit: commit}}
	return j.add(at, EventBuildStarted, b).add(at+1, EventBuildPassed, b)
}

// moved is a move of one component between the releases of two commits.
func (j *tape) moved(at int, kind, component, from, to string) *tape {
	return j.add(at, kind, MoveEvent{Outcome: Outcome{Project: "shop", Components: []ComponentOutcome{part(kind, component, from, to)}}})
}

func (j *tape) promoted(at int, component, from, to string) *tape {
	return j.moved(at, EventPromoted, component, from, to)
}

func (j *tape) rolledBack(at int, component, from, to string) *tape {
	return j.moved(at, EventRolledBack, component, from, to)
}

func part(kind, component, from, to string) ComponentOutcome {
	o := ComponentOutcome{Component: component, Result: Promoted, To: component + "-" + to, ToCommit: to}
	if kind == EventRolledBack {
		o.Result = RolledBack
	}
	if from != "" {
		o.From, o.FromCommit = component+"-"+from, from
	}
	return o
}

const day = 24 * 60 // minutes

func TestAJournalIsMeasured(t *testing.T) {
	minutes := func(n int64) int64 { return n * 60 }
	for _, c := range []struct {
		name string
		tape *tape
		want DoraReport // of ten days, without what the other columns say
		rate float64    // below 0: none
	}{
		{"nothing happened", &tape{}, DoraReport{}, -1},
		{"one change is built and promoted", (&tape{}).built(10, "web", "a").promoted(40, "web", "", "a"),
			DoraReport{Promotions: 1, PerDay: 0.1, LeadTime: Spread{1, minutes(30), minutes(30)}, Merges: 1, MergesPerHour: 1}, 0},
		{"a promotion carries what was built before its commit", (&tape{}).built(0, "web", "a").built(10, "web", "b").built(20, "web", "c").promoted(60, "web", "", "c"),
			DoraReport{Promotions: 1, PerDay: 0.1, LeadTime: Spread{3, minutes(50), minutes(60)}, Merges: 3, MergesPerHour: 3}, 0},
		{"a change counts at the first promotion that carried it", (&tape{}).built(0, "web", "a").promoted(10, "web", "", "a").built(20, "web", "b").promoted(50, "web", "a", "b").
			rolledBack(60, "web", "b", "a").promoted(90, "web", "a", "b"),
			DoraReport{Promotions: 3, PerDay: 0.3, LeadTime: Spread{2, minutes(10), minutes(30)}, Failed: 1, Restore: Spread{1, minutes(10), minutes(10)}, Rollbacks: 1, Merges: 2, MergesPerHour: 2}, 1.0 / 3},
		{"a rebuild of a commit does not shorten its lead time", (&tape{}).built(0, "web", "a").built(50, "web", "a").promoted(60, "web", "", "a"),
			DoraReport{Promotions: 1, PerDay: 0.1, LeadTime: Spread{1, minutes(60), minutes(60)}, Merges: 1, MergesPerHour: 1}, 0},
		{"a build that failed was carried by its mend", (&tape{}).add(0, EventBuildStarted, BuildEvent{Build: Build{Component: "web", Commit: "a"}}).
			add(1, EventBuildFailed, BuildEvent{Build: Build{Component: "web", Commit: "a"}}).built(10, "web", "b").promoted(20, "web", "", "b"),
			DoraReport{Promotions: 1, PerDay: 0.1, LeadTime: Spread{2, minutes(10), minutes(20)}, Merges: 2, MergesPerHour: 2}, 0},
		{"a build known by its end alone counts from there", (&tape{}).add(5, EventBuildPassed, BuildEvent{Build: Build{Component: "web", Commit: "a"}}).promoted(20, "web", "", "a"),
			DoraReport{Promotions: 1, PerDay: 0.1, LeadTime: Spread{1, minutes(15), minutes(15)}, Merges: 1, MergesPerHour: 1}, 0},
		{"a commit without a build is told as unmeasured, once", (&tape{}).promoted(20, "web", "", "x").promoted(30, "web", "x", "y").promoted(40, "web", "y", "x"),
			DoraReport{Promotions: 3, PerDay: 0.3, Unmeasured: 2}, 0},
		{"what was delivered before the period is not delivered in it", (&tape{}).built(-50, "web", "a").promoted(-20, "web", "", "a").built(-10, "web", "b").promoted(30, "web", "a", "b"),
			DoraReport{Promotions: 1, PerDay: 0.1, LeadTime: Spread{1, minutes(40), minutes(40)}}, 0},
		{"the period's end is not part of it", (&tape{}).built(0, "web", "a").promoted(10*day, "web", "", "a"), DoraReport{Merges: 1, MergesPerHour: 1}, -1},
		{"the period's begin is", (&tape{}).promoted(0, "web", "", "x"), DoraReport{Promotions: 1, PerDay: 0.1, Unmeasured: 1}, 0},
		{"a rollback to something else is no failure of the promotion", (&tape{}).promoted(0, "web", "a", "b").rolledBack(10, "web", "b", "z"),
			DoraReport{Promotions: 1, PerDay: 0.1, Unmeasured: 1, Rollbacks: 1}, 0},
		{"another component's rollback is none either", (&tape{}).promoted(0, "web", "a", "b").rolledBack(10, "api", "b", "a"),
			DoraReport{Promotions: 1, PerDay: 0.1, Unmeasured: 1, Rollbacks: 1}, 0},
		{"the failure of a promotion before the period is not the period's", (&tape{}).promoted(-10, "web", "a", "b").rolledBack(10, "web", "b", "a"),
			DoraReport{Rollbacks: 1}, -1},
		{"a rollback after the period is not looked at", (&tape{}).promoted(10*day-5, "web", "a", "b").rolledBack(10*day+5, "web", "b", "a"),
			DoraReport{Promotions: 1, PerDay: 0.1, Unmeasured: 1}, 0},
		{"the last promotion with the two releases is the one that failed", (&tape{}).promoted(0, "web", "a", "b").rolledBack(10, "web", "b", "a").promoted(100, "web", "a", "b").rolledBack(105, "web", "b", "a"),
			DoraReport{Promotions: 2, PerDay: 0.2, Unmeasured: 1, Failed: 2, Restore: Spread{2, minutes(5), minutes(10)}, Rollbacks: 2}, 1},
		{"the next promotion restores where it came before the rollback", (&tape{}).promoted(0, "web", "a", "b").promoted(7, "web", "b", "c").rolledBack(30, "web", "b", "a"),
			DoraReport{Promotions: 2, PerDay: 0.2, Unmeasured: 2, Failed: 1, Restore: Spread{1, minutes(7), minutes(7)}, Rollbacks: 1}, 0.5},
		{"a promotion is restored with its last component", (&tape{}).add(0, EventPromoted, MoveEvent{Outcome: Outcome{Components: []ComponentOutcome{
			part(EventPromoted, "api", "a", "b"), part(EventPromoted, "web", "a", "b"), {Component: "db", Result: Retry}}}}).
			rolledBack(10, "web", "b", "a").rolledBack(25, "api", "b", "a"),
			DoraReport{Promotions: 1, PerDay: 0.1, Unmeasured: 2, Failed: 1, Restore: Spread{1, minutes(25), minutes(25)}, Rollbacks: 2}, 1},
		{"a move that moved nothing is none", (&tape{}).add(0, EventPromoted, MoveEvent{Outcome: Outcome{Components: []ComponentOutcome{{Component: "web", Result: Superseded}}}}),
			DoraReport{}, -1},
		{"what cannot be read and what is another kind count for nothing", (&tape{}).add(0, EventPromoted, "text").add(1, EventBuildStarted, 7).add(2, EventLockSet, LockEvent{Who: "sre"}),
			DoraReport{}, -1},
		{"a merge of two components is one, and an hour with merges is one", (&tape{}).built(0, "web", "a").built(2, "api", "a").built(70, "web", "b").built(75, "web", "c").built(300, "web", "d"),
			DoraReport{Merges: 4, MergesPerHour: 4.0 / 3}, -1},
	} {
		t.Run(c.name, func(t *testing.T) {
			got := Dora(c.tape.events, minute(0), minute(10*day))
			c.want.From, c.want.To, c.want.Measures = minute(0), minute(10*day), got.Measures
			if c.rate < 0 {
				assert.Nil(t, got.FailureRate)
			} else if assert.NotNil(t, got.FailureRate) {
				assert.InDelta(t, c.rate, *got.FailureRate, 1e-9)
			}
			assert.InDelta(t, c.want.PerDay, got.PerDay, 1e-9)
			assert.InDelta(t, c.want.MergesPerHour, got.MergesPerHour, 1e-9)
			got.FailureRate, got.PerDay, got.MergesPerHour = nil, c.want.PerDay, c.want.MergesPerHour
			assert.Equal(t, c.want, got)
		})
	}
}

func TestAPeriodWithoutLengthHasNothingInIt(t *testing.T) {
	for _, to := range []time.Time{minute(5), minute(0)} {
		r := Dora((&tape{}).built(5, "web", "a").promoted(5, "web", "", "a").events, minute(5), to)
		_, err := json.Marshal(r)
		require.NoError(t, err)
		assert.Zero(t, r.Promotions)
		assert.Zero(t, r.PerDay)
	}
}

func TestASpreadIsOfValuesThatOccurred(t *testing.T) {
	hours := func(n ...int) (all []time.Duration) {
		for _, one := range n {
			all = append(all, time.Duration(one)*time.Hour)
		}
		return all
	}
	assert.Equal(t, Spread{}, spread(nil))
	assert.Equal(t, Spread{1, 7 * 3600, 7 * 3600}, spread(hours(7)))
	assert.Equal(t, Spread{2, 1 * 3600, 9 * 3600}, spread(hours(9, 1)))
	assert.Equal(t, Spread{10, 5 * 3600, 9 * 3600}, spread(hours(10, 9, 8, 7, 6, 5, 4, 3, 2, 1)))
	assert.Equal(t, Spread{11, 6 * 3600, 10 * 3600}, spread(hours(11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1)))
}

func TestASoakStarvesWhatIsMergedTooOften(t *testing.T) {
	for _, c := range []struct {
		perHour float64
		soak    time.Duration
		want    float64
	}{
		{6, 30 * time.Minute, 0.2987}, {6, 0, 6}, {0, time.Hour, 0}, {-1, time.Hour, 0}, {6, -time.Hour, 6},
		{1, time.Hour, 1 / math.E}, {2, time.Hour, 2 / math.E / math.E}, {60, 30 * time.Minute, 0},
	} {
		assert.InDelta(t, c.want, Starvation(c.perHour, c.soak), 1e-4, "%v an hour against %s", c.perHour, c.soak)
	}
	assert.Empty(t, starvationNote("shop", 2, 30*time.Minute), "one merge per soak is the most that helps")
	assert.Equal(t, "About 6.0 merges an hour into shop meet a soak of 30 min: each begins the soak anew, and about 0.3 promotions an hour get through. Merge in larger batches, or shorten the soak.",
		starvationNote("shop", 6, 30*time.Minute))
	assert.Contains(t, starvationNote("shop", 20, 30*time.Minute), "and fewer than 0.01 promotions")
}

// someTape draws a journal in which production follows its own moves.
func someTape(t *rapid.T) *tape {
	j := &tape{}
	running, displaced := map[string]string{}, map[string]string{}
	at := -2 * day
	for i := range rapid.IntRange(0, 40).Draw(t, "length") {
		at += rapid.IntRange(1, day).Draw(t, "pause")
		component := rapid.SampledFrom([]string{"web", "api"}).Draw(t, "component")
		commit := fmt.Sprintf("c%d", rapid.IntRange(max(0, i-4), i).Draw(t, "commit"))
		switch rapid.IntRange(0, 3).Draw(t, "what") {
		case 0, 1:
			j.built(at, component, commit)
		case 2:
			if running[component] != commit {
				j.promoted(at, component, running[component], commit)
				running[component], displaced[component] = commit, running[component]
			}
		case 3:
			if back := displaced[component]; back != "" {
				j.rolledBack(at, component, running[component], back)
				running[component], displaced[component] = back, ""
			}
		}
	}
	return j
}

func TestMeasuresKeepTheirOrder(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		j := someTape(t)
		from, to := minute(0), minute(rapid.IntRange(1, 30*day).Draw(t, "to"))
		r := Dora(j.events, from, to)
		require.LessOrEqual(t, r.Failed, r.Promotions)
		require.LessOrEqual(t, r.Failed, r.Rollbacks, "each rollback of one component undoes one promotion")
		require.Equal(t, r.Failed, r.Restore.Count)
		require.Equal(t, r.Promotions > 0, r.FailureRate != nil)
		for _, s := range []Spread{r.LeadTime, r.Restore} {
			require.LessOrEqual(t, s.MedianSeconds, s.P90Seconds)
			require.GreaterOrEqual(t, s.MedianSeconds, int64(0))
		}
		require.Len(t, r.Measures, len(doraMeasures))

		shuffled := slices.Clone(j.events)
		for i := range shuffled {
			k := rapid.IntRange(0, i).Draw(t, "place")
			shuffled[i], shuffled[k] = shuffled[k], shuffled[i]
		}
		require.Equal(t, r, Dora(shuffled, from, to), "the order in which events are given is of no account")

		var later []Event
		for _, e := range j.events {
			e.At = e.At.Add(48 * time.Hour)
			later = append(later, e)
		}
		moved := Dora(later, from.Add(48*time.Hour), to.Add(48*time.Hour))
		moved.From, moved.To = from, to
		require.Equal(t, r, moved, "when it happened is of no account")
	})
}

func TestARollbackNeverLowersTheFailureRateAndAPromotionNeverTheFrequency(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		j := someTape(t)
		from, to := minute(0), minute(30*day)
		before := Dora(j.events, from, to)
		at := rapid.IntRange(0, 30*day-1).Draw(t, "at")
		component := rapid.SampledFrom([]string{"web", "api"}).Draw(t, "of")
		a, b := fmt.Sprintf("c%d", rapid.IntRange(0, 20).Draw(t, "from")), fmt.Sprintf("c%d", rapid.IntRange(0, 20).Draw(t, "to"))
		after := Dora((&tape{slices.Clone(j.events)}).rolledBack(at, component, a, b).events, from, to)
		require.GreaterOrEqual(t, after.Failed, before.Failed)
		require.Equal(t, before.Promotions, after.Promotions)
		require.Equal(t, before.Rollbacks+1, after.Rollbacks)
		require.Equal(t, before.LeadTime, after.LeadTime)
		after = Dora((&tape{slices.Clone(j.events)}).promoted(at, component, a, b).events, from, to)
		require.Greater(t, after.PerDay, before.PerDay)
	})
}
