package window_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"platform.dev/platform/flowclient/window"
)

var dayNames = []string{"Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun"}

// oracle answers minute by minute from a table of the minutes of a week, filled
// by walking from each day's start for as long as the window lasts.
type oracle struct {
	open map[string]bool // "Mon 09:00"
	zone *time.Location
}

func newOracle(firstDay, days, start, end int, zone *time.Location) oracle {
	length := end - start
	if length < 0 {
		length += 1440
	}
	o := oracle{open: map[string]bool{}, zone: zone}
	for d := range days {
		for m := range length {
			minute := start + m
			day := (firstDay + d + minute/1440) % 7
			o.open[fmt.Sprintf("%s %02d:%02d", dayNames[day], minute%1440/60, minute%60)] = true
		}
	}
	return o
}

func (o oracle) contains(at time.Time) bool { return o.open[at.In(o.zone).Format("Mon 15:04")] }

// interesting days: both changes of daylight saving in the north and the south,
// half-hour and quarter-hour zones, a zone that skipped a day, and an ordinary day.
var seasons = []struct{ zone, around string }{
	{"Europe/London", "2026-03-29T00:00:00Z"}, {"Europe/London", "2026-10-25T00:00:00Z"},
	{"America/New_York", "2026-03-08T06:00:00Z"}, {"America/New_York", "2026-11-01T05:00:00Z"},
	{"Australia/Lord_Howe", "2026-04-04T15:00:00Z"}, {"Australia/Lord_Howe", "2026-10-03T15:00:00Z"},
	{"America/Santiago", "2026-09-06T03:00:00Z"}, {"Asia/Kathmandu", "2026-06-01T00:00:00Z"},
	{"Pacific/Apia", "2011-12-30T08:00:00Z"}, {"Africa/Casablanca", "2026-02-15T02:00:00Z"},
	{"UTC", "2026-12-31T20:00:00Z"}, {"Asia/Tokyo", "2026-11-20T12:00:00Z"},
	{"America/Havana", "2026-03-08T04:00:00Z"}, {"Asia/Beirut", "2026-03-28T20:00:00Z"},
}

func TestWindowEqualsAMinuteByMinuteOracle(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		season := rapid.SampledFrom(seasons).Draw(t, "season")
		zone, err := time.LoadLocation(season.zone)
		require.NoError(t, err)
		around, err := time.Parse(time.RFC3339, season.around)
		require.NoError(t, err)
		first, days := rapid.IntRange(0, 6).Draw(t, "first"), rapid.IntRange(1, 7).Draw(t, "days")
		start := rapid.IntRange(0, 1439).Draw(t, "start")
		end := rapid.IntRange(0, 1440).Filter(func(end int) bool { return end != start }).Draw(t, "end")

		text := fmt.Sprintf("%s-%s %02d:%02d-%02d:%02d %s", dayNames[first], dayNames[(first+days-1)%7],
			start/60, start%60, end/60, end%60, season.zone)
		w, err := window.Parse(text)
		require.NoError(t, err, text)
		o := newOracle(first, days, start, end, zone)

		now := around.Add(time.Duration(rapid.IntRange(-36*3600, 36*3600).Draw(t, "second")) * time.Second)
		require.Equal(t, o.contains(now), w.Contains(now), "%s at %s", text, now.In(zone))

		want, flips := time.Time{}, false
		for minute := now.Truncate(time.Minute).Add(time.Minute); minute.Before(now.Add(10 * 24 * time.Hour)); minute = minute.Add(time.Minute) {
			if o.contains(minute) != o.contains(now) {
				want, flips = minute, true
				break
			}
		}
		got, ok := w.Next(now)
		if !flips {
			require.True(t, !ok || got.After(now.Add(9*24*time.Hour)), "%s at %s: flips at %s, the oracle saw none", text, now.In(zone), got)
			return
		}
		require.True(t, ok, "%s at %s: never flips, the oracle says %s", text, now.In(zone), want)
		require.Equal(t, want.UTC(), got.UTC(), "%s at %s", text, now.In(zone))
	})
}

func FuzzParse(f *testing.F) {
	for _, text := range []string{"Mon-Fri 09:00-17:00 Europe/London", "Sun 22:00-24:00 UTC", "Mon", "Mon-Fri 99:99-00:00 x"} {
		f.Add(text)
	}
	now := time.Date(2026, 3, 29, 0, 59, 59, 0, time.UTC)
	f.Fuzz(func(t *testing.T, text string) {
		w, err := window.Parse(text)
		if err != nil {
			require.False(t, w.Contains(now), "what cannot be read holds no instant")
			return
		}
		if flip, ok := w.Next(now); ok {
			require.True(t, flip.After(now))
			require.NotEqual(t, w.Contains(now), w.Contains(flip))
			require.Equal(t, w.Contains(now), w.Contains(flip.Add(-time.Nanosecond)))
		}
	})
}
