package bots

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"pgregory.net/rapid"
)

// TestHoweverManyAskFewAreRemembered asks as more people than are remembered.
func TestHoweverManyAskFewAreRemembered(t *testing.T) {
	r := newRates(DefaultRate)
	at := time.Date(2026, 3, 2, 10, 0, 0, 0, time.UTC)
	for i := range 3 * ratedPeople {
		assert.True(t, r.admit(fmt.Sprint("zulip:", i), at).ok)
	}
	assert.LessOrEqual(t, len(r.by), ratedPeople)
}

// TestNobodyGetsMoreThanTheRate lets one person ask at any times, also out of
// order: within any window no more is admitted than the burst and what flows in,
// who waits as long as they are told is admitted, and an episode is told of once.
func TestNobodyGetsMoreThanTheRate(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		limit := Rate{PerMinute: rapid.IntRange(1, 120).Draw(t, "per minute"), Burst: rapid.IntRange(1, 20).Draw(t, "burst")}
		r, now := newRates(limit), time.Date(2026, 3, 2, 10, 0, 0, 0, time.UTC)
		began, admitted, told := now, 0, false
		for _, gap := range rapid.SliceOfN(rapid.IntRange(-2000, 20_000), 1, 60).Draw(t, "gaps in ms") {
			asked := now.Add(time.Duration(gap) * time.Millisecond)
			if admitted == 0 {
				began, now = asked, asked
			}
			now = later(now, asked)
			pace := r.admit("zulip:10", asked)
			if pace.ok {
				admitted++
				told = false
			} else {
				assert.Equal(t, !told, pace.first)
				told = true
				assert.Positive(t, pace.wait)
				if probe := r.by["zulip:10"].bucket.TokensAt(now.Add(pace.wait + time.Millisecond)); probe < 1 {
					t.Fatalf("after waiting %s there are %f", pace.wait, probe)
				}
			}
			most := float64(limit.Burst) + now.Sub(began).Minutes()*float64(limit.PerMinute)
			if float64(admitted) > most+1e-6 {
				t.Fatalf("%d admitted, %f at most", admitted, most)
			}
		}
	})
}

func later(a, b time.Time) time.Time {
	if b.After(a) {
		return b
	}
	return a
}
