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

// oracle answers minute by minute: from a table of the minutes of a week, filled
// by walking from each day's start for as long as the window lasts, and from the
// freezes one after the other. Without a table every minute of the week is open.
type oracle struct {
	open    map[string]bool // "Mon 09:00"
	zone    *time.Location
	freezes []window.Freeze
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

func (o oracle) contains(at time.Time) bool {
	for _, f := range o.freezes {
		if !at.Before(f.From) && at.Before(f.Until) {
			return false
		}
	}
	return o.open == nil || o.open[at.In(o.zone).Format("Mon 15:04")]
}

// horizon is how far the oracle looks.
const horizon = 10 * 24 * time.Hour

// first is the first instant that is open (or closed): at itself, or the start
// of a minute after it; found is false when none is within the horizon.
func (o oracle) first(at time.Time, open bool) (instant time.Time, found bool) {
	if o.contains(at) == open {
		return at, true
	}
	for m := at.Truncate(time.Minute).Add(time.Minute); m.Before(at.Add(horizon)); m = m.Add(time.Minute) {
		if o.contains(m) == open {
			return m, true
		}
	}
	return time.Time{}, false
}

// zones have every kind of daylight saving there is: none, north, south, half an
// hour, two hours, negative, at midnight, during Ramadan, given up or skipping a
// day, with offsets of whole hours, halves and quarters.
var zones = []string{
	"UTC", "Europe/London", "Europe/Dublin", "Europe/Lisbon", "Atlantic/Azores", "Europe/Berlin", "Europe/Athens", "Europe/Chisinau",
	"Europe/Istanbul", "Europe/Moscow", "Europe/Volgograd", "Asia/Beirut", "Asia/Gaza", "Asia/Jerusalem", "Asia/Amman", "Asia/Tehran",
	"Asia/Dubai", "Asia/Kabul", "Asia/Kolkata", "Asia/Kathmandu", "Asia/Yangon", "Asia/Shanghai", "Asia/Tokyo", "Asia/Pyongyang",
	"Africa/Cairo", "Africa/Casablanca", "Africa/El_Aaiun", "Africa/Lagos", "Africa/Juba", "Africa/Windhoek",
	"America/New_York", "America/Chicago", "America/Denver", "America/Phoenix", "America/Los_Angeles", "America/Anchorage", "America/Adak",
	"America/St_Johns", "America/Havana", "America/Sao_Paulo", "America/Santiago", "America/Asuncion", "America/Caracas", "America/Nuuk", "America/Scoresbysund",
	"America/Mexico_City", "Antarctica/Troll", "Antarctica/Macquarie", "Australia/Sydney", "Australia/Adelaide", "Australia/Lord_Howe", "Australia/Eucla",
	"Pacific/Auckland", "Pacific/Chatham", "Pacific/Apia", "Pacific/Kiritimati", "Pacific/Norfolk", "Pacific/Honolulu", "Pacific/Fiji", "Etc/GMT+12",
}

// aroundTransition draws an instant within a day and a half of a change of the
// zone's offset where it has one after a drawn instant, else that instant.
func aroundTransition(t *rapid.T, zone *time.Location) time.Time {
	drawn := time.Date(rapid.IntRange(2005, 2040).Draw(t, "year"), time.Month(rapid.IntRange(1, 12).Draw(t, "month")), rapid.IntRange(1, 28).Draw(t, "day"), 0, 0, 0, 0, time.UTC)
	if _, change := drawn.In(zone).ZoneBounds(); !change.IsZero() && change.Before(drawn.AddDate(1, 0, 0)) {
		drawn = change
	}
	return drawn.Add(time.Duration(rapid.IntRange(-36*3600, 36*3600).Draw(t, "second")) * time.Second).UTC()
}

// aWindow draws a window with its oracle.
func aWindow(t *rapid.T) (window.Window, oracle) {
	name := rapid.SampledFrom(zones).Draw(t, "zone")
	zone, err := time.LoadLocation(name)
	require.NoError(t, err)
	first, days := rapid.IntRange(0, 6).Draw(t, "first"), rapid.IntRange(1, 7).Draw(t, "days")
	start := rapid.IntRange(0, 1439).Draw(t, "start")
	end := rapid.IntRange(0, 1440).Filter(func(end int) bool { return end != start }).Draw(t, "end")
	text := fmt.Sprintf("%s-%s %02d:%02d-%02d:%02d %s", dayNames[first], dayNames[(first+days-1)%7], start/60, start%60, end/60, end%60, name)
	w, err := window.Parse(text)
	require.NoError(t, err, text)
	require.Equal(t, text, w.String())
	return w, newOracle(first, days, start, end, zone)
}

// someFreezes draws freezes around an instant, overlapping, adjacent and empty ones among them.
func someFreezes(t *rapid.T, around time.Time) []window.Freeze {
	around = around.Truncate(time.Minute)
	minutes := func(label string, low, high int) time.Duration {
		return time.Duration(rapid.IntRange(low, high).Draw(t, label)) * time.Minute
	}
	var freezes []window.Freeze
	for range rapid.IntRange(0, 5).Draw(t, "freezes") {
		f := window.Freeze{Who: "ops", Reason: "drawn", All: rapid.Bool().Draw(t, "all")}
		f.From = around.Add(minutes("from", -3*1440, 4*1440))
		if len(freezes) > 0 && rapid.Bool().Draw(t, "adjacent") {
			f.From = freezes[len(freezes)-1].Until
		}
		f.Until = f.From.Add(minutes("lasts", -10, 3*1440))
		freezes = append(freezes, f)
	}
	return freezes
}

func TestAWindowEqualsAMinuteByMinuteOracle(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w, o := aWindow(t)
		now := aroundTransition(t, o.zone)
		require.Equal(t, o.contains(now), w.Contains(now), "%s at %s", w, now.In(o.zone))
		want, flips := o.first(now, !o.contains(now))
		got, ok := w.Next(now)
		if !flips {
			require.True(t, !ok || !got.Before(now.Add(horizon)), "%s at %s: flips at %s, the oracle saw none", w, now.In(o.zone), got)
			return
		}
		require.True(t, ok, "%s at %s: never flips, the oracle says %s", w, now.In(o.zone), want)
		require.Equal(t, want, got, "%s at %s", w, now.In(o.zone))
	})
}

func TestACalendarEqualsAMinuteByMinuteOracle(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w, o := aWindow(t)
		now := aroundTransition(t, o.zone)
		o.freezes = someFreezes(t, now)
		calendar := window.Within(w, o.freezes...)
		if rapid.Bool().Draw(t, "without a window") {
			calendar, o.open = window.Anytime(o.freezes...), nil
		}
		require.Equal(t, o.contains(now), calendar.Contains(now), "%s at %s", w, now.In(o.zone))
		for _, open := range []bool{true, false} {
			next := calendar.NextClose
			if open {
				next = calendar.NextOpen
			}
			want, found := o.first(now, open)
			got, ok := next(now)
			if found {
				require.True(t, ok, "the oracle says %s", want)
				require.Equal(t, want, got, "%s at %s, open %v", w, now.In(o.zone), open)
			} else {
				require.True(t, !ok || !got.Before(now.Add(horizon)), "%s, where the oracle saw none", got)
			}
			if ok {
				require.Equal(t, open, calendar.Contains(got))
			}
			if open != o.contains(now) {
				flip, flips := calendar.Next(now)
				require.Equal(t, ok, flips)
				require.Equal(t, got, flip)
			}
		}
		require.NotPanics(t, func() { calendar.Sentence("shop", now) })
	})
}

func FuzzParse(f *testing.F) {
	for _, text := range []string{"Mon-Fri 09:00-17:00 Europe/London", "Sun 22:00-24:00 UTC", "Mon", "Mon-Fri 99:99-00:00 x", "Sun 01:15-01:45 Australia/Lord_Howe"} {
		f.Add(text, int64(1774745999), int64(3600))
	}
	var parser window.Parser
	f.Fuzz(func(t *testing.T, text string, unix, freeze int64) {
		const years300 = 300 * 365 * 86400
		now := time.Unix(unix%years300, 0)
		w, err := window.Parse(text)
		known, again := parser.Parse(text)
		require.Equal(t, err, again)
		require.Equal(t, w.String(), known.String())
		if err != nil {
			require.False(t, w.Contains(now), "what cannot be read holds no instant")
			require.LessOrEqual(t, len(err.Error()), 1000)
			return
		}
		require.Equal(t, w.Contains(now), known.Contains(now))
		if flip, ok := w.Next(now); ok {
			require.True(t, flip.After(now))
			require.NotEqual(t, w.Contains(now), w.Contains(flip))
			require.Equal(t, w.Contains(now), w.Contains(flip.Add(-time.Nanosecond)))
		}
		calendar := window.Within(w, window.Freeze{From: now, Until: now.Add(time.Duration(freeze%years300) * time.Second / 100)})
		if opens, ok := calendar.NextOpen(now); ok {
			require.True(t, calendar.Contains(opens))
			require.False(t, opens.After(now) && calendar.Contains(opens.Add(-time.Nanosecond)))
		}
	})
}
