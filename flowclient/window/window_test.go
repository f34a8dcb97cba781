package window_test

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"platform.dev/platform/flowclient/window"
)

func at(t *testing.T, text string) time.Time {
	t.Helper()
	instant, err := time.Parse(time.RFC3339, text)
	require.NoError(t, err)
	return instant
}

func TestSentence(t *testing.T) {
	for name, c := range map[string]struct{ text, now, want string }{
		"closed for the weekend": {"Mon-Fri 09:00-17:00 Europe/London", "2026-11-20T18:00:00Z",
			"Production changes to shop are allowed Mon-Fri 09:00-17:00 Europe/London. Closed now; opens Mon 23 Nov 09:00 GMT, in 2 d 15 h."},
		"open until the afternoon": {"Mon-Fri 09:00-17:00 Europe/London", "2026-11-20T13:55:00Z",
			"Production changes to shop are allowed Mon-Fri 09:00-17:00 Europe/London. Open now; closes Fri 20 Nov 17:00 GMT, in 3 h 5 min."},
		"open at the very start": {"Mon-Fri 09:00-17:00 Europe/London", "2026-11-20T09:00:00Z",
			"Production changes to shop are allowed Mon-Fri 09:00-17:00 Europe/London. Open now; closes Fri 20 Nov 17:00 GMT, in 8 h."},
		"closed at the very end": {"Mon-Fri 09:00-17:00 Europe/London", "2026-11-19T17:00:00Z",
			"Production changes to shop are allowed Mon-Fri 09:00-17:00 Europe/London. Closed now; opens Fri 20 Nov 09:00 GMT, in 16 h."},
		"a zone without an abbreviation": {"Sat 22:00-02:00 America/Sao_Paulo", "2026-11-22T04:59:30Z",
			"Production changes to shop are allowed Sat 22:00-02:00 America/Sao_Paulo. Open now; closes Sun 22 Nov 02:00 UTC-03, in 30 s."},
		"always open": {"Mon-Sun 00:00-24:00 UTC", "2026-11-22T04:59:30Z",
			"Production changes to shop are allowed Mon-Sun 00:00-24:00 UTC. Open now."},
	} {
		t.Run(name, func(t *testing.T) {
			w, err := window.Parse(c.text)
			require.NoError(t, err)
			assert.Equal(t, c.want, w.Sentence("shop", at(t, c.now)))
		})
	}
}

func TestWhatIsNoWindowFailsClosedQuotingTheText(t *testing.T) {
	for name, c := range map[string]struct{ text, why string }{
		"empty":               {"", "write it as"},
		"no zone":             {"Mon-Fri 09:00-17:00", "write it as"},
		"an unknown zone":     {"Mon-Fri 09:00-17:00 Europe/Londn", `"Europe/Londn" is no time zone`},
		"the machine's zone":  {"Mon-Fri 09:00-17:00 Local", `"Local" is no time zone`},
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
			assert.False(t, w.Contains(at(t, "2026-11-20T12:00:00Z")), "what cannot be read holds no instant")
			_, flips := w.Next(at(t, "2026-11-20T12:00:00Z"))
			assert.False(t, flips)
		})
	}
}

func TestDaylightSaving(t *testing.T) {
	inGap, err := window.Parse("Sun 01:15-01:45 Europe/London")
	require.NoError(t, err)
	opens, ok := inGap.Next(at(t, "2026-03-28T12:00:00Z"))
	require.True(t, ok)
	assert.Equal(t, at(t, "2026-04-05T00:15:00Z"), opens.UTC(), "a window inside the spring gap opens a week later")

	longer, err := window.Parse("Sun 00:30-03:00 Europe/London")
	require.NoError(t, err)
	opens, _ = longer.Next(at(t, "2026-03-28T12:00:00Z"))
	closes, _ := longer.Next(opens)
	assert.Equal(t, 90*time.Minute, closes.Sub(opens), "the spring gap shortens a window")

	fold, err := window.Parse("Sun 01:15-01:45 Europe/London")
	require.NoError(t, err)
	now, edges := at(t, "2026-10-24T12:00:00Z"), []string{}
	for range 4 {
		now, _ = fold.Next(now)
		edges = append(edges, now.UTC().Format("2 15:04"))
	}
	assert.Equal(t, []string{"25 00:15", "25 00:45", "25 01:15", "25 01:45"}, edges, "the autumn fold repeats a window")
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
