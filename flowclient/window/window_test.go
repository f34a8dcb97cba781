package window_test

import (
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"platform.dev/platform/flowclient/window"
)

func at(t testing.TB, text string) time.Time {
	t.Helper()
	instant, err := time.Parse(time.RFC3339, text)
	require.NoError(t, err)
	return instant.UTC()
}

func parse(t testing.TB, text string) window.Window {
	t.Helper()
	w, err := window.Parse(text)
	require.NoError(t, err)
	return w
}

func TestWhatIsNoWindowFailsClosedQuotingTheText(t *testing.T) {
	for name, c := range map[string]struct{ text, why string }{
		"empty":               {"", "write it as"},
		"no zone":             {"Mon-Fri 09:00-17:00", "write it as"},
		"an unknown zone":     {"Mon-Fri 09:00-17:00 Europe/Londn", `"Europe/Londn" is no time zone`},
		"the machine's zone":  {"Mon-Fri 09:00-17:00 Local", `"Local" is no time zone`},
		"its file":            {"Mon-Fri 09:00-17:00 localtime", `"localtime" is no time zone`},
		"its rules":           {"Mon-Fri 09:00-17:00 posixrules", `"posixrules" is no time zone`},
		"with leap seconds":   {"Mon-Fri 09:00-17:00 right/Europe/London", `"right/Europe/London" is no time zone`},
		"a copy":              {"Mon-Fri 09:00-17:00 posix/Europe/London", `"posix/Europe/London" is no time zone`},
		"a path for a zone":   {"Mon-Fri 09:00-17:00 ../etc/passwd", "is no time zone"},
		"an unknown day":      {"Mon-Fry 09:00-17:00 UTC", `"Fry" is no day`},
		"starts as it ends":   {"Mon-Fri 09:00-09:00 UTC", "same time"},
		"minute 60":           {"Mon-Fri 09:60-17:00 UTC", "09:60 is no time"},
		"hour 25":             {"Mon-Fri 09:00-25:00 UTC", "25:00 is no time"},
		"a minute past 24:00": {"Mon-Fri 09:00-24:01 UTC", "24:01 is no time"},
		"starts at 24:00":     {"Mon-Fri 24:00-06:00 UTC", "24:00 is no time"},
		"one-digit hour":      {"Mon-Fri 9:00-17:00 UTC", "write it as"},
		"two spaces":          {"Mon-Fri  09:00-17:00 UTC", "write it as"},
		"far too long":        {strings.Repeat("Mon-Fri", 100), "longer than"},
	} {
		t.Run(name, func(t *testing.T) {
			w, err := window.Parse(c.text)
			var syntax *window.SyntaxError
			require.ErrorAs(t, err, &syntax)
			assert.Contains(t, syntax.Why, c.why)
			assert.LessOrEqual(t, len(syntax.Text), 140)
			assert.Contains(t, window.Broken("shop", err), `the production window "`+c.text[:min(len(c.text), 120)])
			noon := at(t, "2026-11-20T12:00:00Z")
			for kind, calendar := range map[string]window.Calendar{"its window": window.Within(w), "a calendar of nothing": {}} {
				assert.False(t, calendar.Contains(noon), "%s holds no instant", kind)
				_, opens := calendar.NextOpen(noon)
				assert.False(t, opens, "%s never opens", kind)
			}
			_, flips := w.Next(noon)
			assert.False(t, flips)
			assert.Nil(t, w.Zone())
		})
	}
}

// The rules of windows, word for word: each holds or does not hold an instant.
func TestTheRulesOfWindows(t *testing.T) {
	for name, c := range map[string]struct {
		text string
		open map[string]bool
	}{
		"the start belongs to it, the end does not": {"Mon-Fri 09:00-17:00 UTC", map[string]bool{
			"2026-11-20T08:59:59.999999999Z": false, "2026-11-20T09:00:00Z": true, "2026-11-20T16:59:59.999999999Z": true, "2026-11-20T17:00:00Z": false}},
		"an overnight window belongs to its start day": {"Fri 22:00-02:00 UTC", map[string]bool{
			"2026-11-20T01:00:00Z": false, "2026-11-20T22:00:00Z": true, "2026-11-21T01:59:59Z": true, "2026-11-21T02:00:00Z": false, "2026-11-21T22:00:00Z": false}},
		"Fri-Mon wraps": {"Fri-Mon 09:00-17:00 UTC", map[string]bool{
			"2026-11-19T12:00:00Z": false, "2026-11-20T12:00:00Z": true, "2026-11-22T12:00:00Z": true, "2026-11-23T12:00:00Z": true, "2026-11-24T12:00:00Z": false}},
		"a single day is a range": {"Sat 09:00-17:00 UTC", map[string]bool{
			"2026-11-20T12:00:00Z": false, "2026-11-21T12:00:00Z": true, "2026-11-22T12:00:00Z": false}},
		"24:00 is a legal end": {"Sun 22:00-24:00 UTC", map[string]bool{
			"2026-11-22T21:59:59Z": false, "2026-11-22T23:59:59Z": true, "2026-11-23T00:00:00Z": false}},
		"an end at 00:00 is the same": {"Sun 22:00-00:00 UTC", map[string]bool{
			"2026-11-22T21:59:59Z": false, "2026-11-22T23:59:59Z": true, "2026-11-23T00:00:00Z": false}},
		"days may be written in any case": {"mon-FRI 09:00-17:00 UTC", map[string]bool{"2026-11-20T12:00:00Z": true}},
		"before 1970 the clock is the same": {"Wed 23:00-24:00 UTC", map[string]bool{
			"1969-12-31T22:59:59Z": false, "1969-12-31T23:00:00Z": true, "1970-01-01T00:00:00Z": false}},
	} {
		t.Run(name, func(t *testing.T) {
			for instant, open := range c.open {
				assert.Equal(t, open, parse(t, c.text).Contains(at(t, instant)), instant)
			}
		})
	}
}

// What other tools are known to get wrong.
func TestAnUnknownZoneIsNotReadAsUTC(t *testing.T) {
	for _, zone := range []string{"Europe/Londn", "BST+1", "Mars/Olympus", "+01:00"} {
		w, err := window.Parse("Mon-Sun 00:00-24:00 " + zone)
		require.Error(t, err, zone)
		assert.False(t, w.Contains(at(t, "2026-11-20T12:00:00Z")), zone)
	}
}

func TestTheStartInstantIsOpen(t *testing.T) {
	w := parse(t, "Mon-Fri 09:00-17:00 Europe/London")
	for _, start := range []string{"2026-11-20T09:00:00Z", "2026-07-03T08:00:00Z"} {
		assert.True(t, w.Contains(at(t, start)), start)
		opens, ok := w.Next(at(t, start).Add(-time.Nanosecond))
		require.True(t, ok)
		assert.Equal(t, at(t, start), opens)
	}
}

func TestAWindowThatStartsInsideTheSpringGapStillOpens(t *testing.T) {
	w := parse(t, "Sun 01:30-06:00 Europe/London")
	opens, ok := w.Next(at(t, "2026-03-28T12:00:00Z"))
	require.True(t, ok)
	assert.Equal(t, at(t, "2026-03-29T01:00:00Z"), opens, "the clock shows 02:00 when the gap ends: the window has begun")
	closes, ok := w.Next(opens)
	require.True(t, ok)
	assert.Equal(t, at(t, "2026-03-29T05:00:00Z"), closes)
}

func TestAWindowInsideTheSpringGapOpensAWeekLater(t *testing.T) {
	opens, ok := parse(t, "Sun 01:15-01:45 Europe/London").Next(at(t, "2026-03-28T12:00:00Z"))
	require.True(t, ok)
	assert.Equal(t, at(t, "2026-04-05T00:15:00Z"), opens)
}

func TestTheSpringGapShortensAWindow(t *testing.T) {
	longer := parse(t, "Sun 00:30-03:00 Europe/London")
	opens, _ := longer.Next(at(t, "2026-03-28T12:00:00Z"))
	closes, _ := longer.Next(opens)
	assert.Equal(t, 90*time.Minute, closes.Sub(opens))
}

func TestTheAutumnFoldRepeatsAWindow(t *testing.T) {
	fold := parse(t, "Sun 01:15-01:45 Europe/London")
	now, edges := at(t, "2026-10-24T12:00:00Z"), []string{}
	for range 4 {
		now, _ = fold.Next(now)
		edges = append(edges, now.Format("2 15:04"))
	}
	assert.Equal(t, []string{"25 00:15", "25 00:45", "25 01:15", "25 01:45"}, edges)
}

func TestADayThatAZoneSkippedHasNoWindow(t *testing.T) {
	opens, ok := parse(t, "Fri 09:00-17:00 Pacific/Apia").Next(at(t, "2011-12-29T12:00:00Z"))
	require.True(t, ok)
	assert.Equal(t, at(t, "2012-01-05T19:00:00Z"), opens, "there was no Friday, 30 December 2011 in Samoa")
}

// The time package gives that day an end before it (go.dev/issue/81583), which
// is no reason to look for the next change for ever.
func TestTheLastDayOfALeapYearEndsToo(t *testing.T) {
	for _, zone := range []string{"Europe/London", "America/New_York", "Australia/Sydney"} {
		for _, year := range []int{2028, 2040, 2044} {
			w := parse(t, "Mon-Sun 06:00-05:00 "+zone)
			now := time.Date(year, 12, 31, 0, 0, 0, 0, time.UTC)
			for range 48 {
				flip, ok := w.Next(now)
				require.True(t, ok)
				local := flip.In(w.Zone())
				require.Contains(t, []string{"06:00", "05:00"}, local.Format("15:04"), "%s from %s", zone, now)
				require.Less(t, flip.Sub(now), 24*time.Hour)
				now = now.Add(30 * time.Minute)
			}
		}
	}
}

func TestCopiesOfAWindowAreReadByManyAtOnce(t *testing.T) {
	var parser window.Parser
	var all sync.WaitGroup
	for worker := range 8 {
		all.Go(func() {
			w, err := parser.Parse("Mon-Fri 09:00-17:00 Europe/London")
			if !assert.NoError(t, err) {
				return
			}
			for i := range 400 { // far apart, so that every goroutine teaches the zone other spans
				instant := time.Date(1980+(i*7+worker*13)%90, time.Month(1+i%12), 1+i%28, i%24, 0, 0, 0, time.UTC)
				local := instant.In(w.Zone())
				want := local.Weekday() >= time.Monday && local.Weekday() <= time.Friday && local.Hour() >= 9 && local.Hour() < 17
				if !assert.Equal(t, want, w.Contains(instant), local) {
					return
				}
			}
		})
	}
	all.Wait()
}

func TestAParserSaysWhatParseSaysAndRemembersIt(t *testing.T) {
	var parser window.Parser
	for _, p := range []*window.Parser{&parser, nil} {
		for _, text := range []string{"Mon-Fri 09:00-17:00 Europe/London", "Sat 10:00-12:00 Europe/London", "Mon", strings.Repeat("x", 5000)} {
			want, wrong := window.Parse(text)
			for range 2 {
				got, err := p.Parse(text)
				assert.Equal(t, wrong, err)
				assert.Equal(t, want.String(), got.String())
			}
		}
	}
	known := func() float64 {
		return testing.AllocsPerRun(100, func() { _, _ = parser.Parse("Sat 10:00-12:00 Europe/London") })
	}
	assert.Zero(t, known())
	for i := range 10_000 {
		_, _ = parser.Parse(time.Unix(int64(i)*60, 0).UTC().Format("Mon 15:04-") + "24:00 no/zone/" + time.Unix(int64(i), 0).UTC().Format("150405"))
	}
	_, err := parser.Parse("Sat 10:00-12:00 Europe/London")
	require.NoError(t, err, "a parser that was full goes on")
	assert.Zero(t, known())
}

func TestSpan(t *testing.T) {
	for want, d := range map[string]time.Duration{
		"less than a second": 999 * time.Millisecond,
		"40 s":               40*time.Second + 300*time.Millisecond,
		"5 min 10 s":         5*time.Minute + 10*time.Second,
		"2 h":                2*time.Hour + 59*time.Second,
		"2 d 15 h":           63*time.Hour + 59*time.Minute,
	} {
		assert.Equal(t, want, window.Span(d))
	}
}

func TestASpanThatIsToComeIsRoundedUp(t *testing.T) {
	for want, d := range map[string]time.Duration{
		"less than a second": 0,
		"1 s":                time.Millisecond,
		"3 s":                2*time.Second + 400*time.Millisecond,
		"40 s":               40 * time.Second,
		"1 min":              59*time.Second + time.Nanosecond,
		"2 h":                2 * time.Hour,
		"2 h 1 min":          2*time.Hour + time.Second,
		"1 d":                23*time.Hour + 59*time.Minute + time.Second,
		"2 d 15 h":           63 * time.Hour,
		"2 d 16 h":           63*time.Hour + time.Nanosecond,
		"3 d":                71*time.Hour + time.Minute,
	} {
		assert.Equal(t, want, window.SpanUp(d))
	}
}
