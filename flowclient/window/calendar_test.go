package window_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"platform.dev/platform/flowclient/window"
)

func TestACalendarWithoutFreezesIsItsWindow(t *testing.T) {
	w := parse(t, office)
	calendar := window.Within(w)
	for hour := range 24 * 8 {
		now := at(t, "2026-11-20T00:30:00Z").Add(time.Duration(hour) * time.Hour)
		assert.Equal(t, w.Contains(now), calendar.Contains(now))
		want, flips := w.Next(now)
		got, ok := calendar.Next(now)
		assert.Equal(t, flips, ok)
		assert.Equal(t, want, got)
	}
}

func TestWithoutWindowAndFreezesEveryInstantIsOpen(t *testing.T) {
	now := at(t, "2026-11-20T12:00:00Z")
	calendar := window.Anytime()
	assert.True(t, calendar.Contains(now))
	opens, ok := calendar.NextOpen(now)
	assert.True(t, ok)
	assert.Equal(t, now, opens)
	_, ok = calendar.NextClose(now)
	assert.False(t, ok)
	_, ok = calendar.Next(now)
	assert.False(t, ok, "nothing will ever change")
}

func TestAFreezeHoldsFromItsFirstInstantUntilTheOneThatIsFreeAgain(t *testing.T) {
	from, until := at(t, "2026-11-20T12:00:00Z").Add(5), at(t, "2026-11-20T13:00:00Z").Add(7)
	calendar := window.Anytime(window.Freeze{From: from, Until: until})
	for _, c := range []struct {
		at   time.Time
		open bool
	}{{from.Add(-1), true}, {from, false}, {until.Add(-1), false}, {until, true}} {
		assert.Equal(t, c.open, calendar.Contains(c.at), c.at)
	}
	flip, ok := calendar.Next(from.Add(-1))
	require.True(t, ok)
	assert.Equal(t, from, flip)
	flip, ok = calendar.Next(from)
	require.True(t, ok)
	assert.Equal(t, until, flip)
	_, ok = calendar.Next(until)
	assert.False(t, ok)
}

func TestFreezesThatTouchAreOneStretch(t *testing.T) {
	hour := func(h int) time.Time { return at(t, "2026-11-20T00:00:00Z").Add(time.Duration(h) * time.Hour) }
	calendar := window.Within(parse(t, "Mon-Sun 00:00-24:00 UTC"),
		window.Freeze{From: hour(3), Until: hour(5)}, window.Freeze{From: hour(1), Until: hour(2)},
		window.Freeze{From: hour(2), Until: hour(3)}, window.Freeze{From: hour(1), Until: hour(4)}, window.Freeze{From: hour(9), Until: hour(8)})
	closes, ok := calendar.NextClose(hour(0))
	require.True(t, ok)
	assert.Equal(t, hour(1), closes)
	opens, ok := calendar.NextOpen(closes)
	require.True(t, ok)
	assert.Equal(t, hour(5), opens)
	_, ok = calendar.NextClose(opens)
	assert.False(t, ok)
}

func TestAWindowThatOnlyEverOpensDuringAFreezeOpensAfterIt(t *testing.T) {
	friday := at(t, "2026-11-20T18:00:00Z")
	calendar := window.Within(parse(t, office), window.Freeze{From: at(t, "2026-11-23T09:00:00Z"), Until: at(t, "2026-12-23T08:00:00Z")})
	opens, ok := calendar.NextOpen(friday)
	require.True(t, ok)
	assert.Equal(t, at(t, "2026-12-23T09:00:00Z"), opens)
	flip, ok := calendar.Next(friday)
	require.True(t, ok)
	assert.Equal(t, opens, flip, "the beginning of a freeze that finds the window closed changes nothing")
}

func TestAskingACalendarAllocatesNothing(t *testing.T) {
	now := at(t, "2026-11-20T12:00:00Z")
	var freezes []window.Freeze
	for day := range 20 {
		from := now.AddDate(0, 0, 2*day+1)
		freezes = append(freezes, window.Freeze{From: from, Until: from.Add(time.Hour), Who: "ops"})
	}
	w := parse(t, office)
	for name, contains := range map[string]func(time.Time) bool{
		"a window": w.Contains, "a window with freezes": window.Within(w, freezes...).Contains, "freezes alone": window.Anytime(freezes...).Contains,
	} {
		assert.True(t, contains(now))
		assert.Zero(t, testing.AllocsPerRun(100, func() { contains(now) }), name)
	}
}
