package commands_test

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"platform.dev/platform/commands"
)

func zone(t testing.TB, name string) *time.Location {
	t.Helper()
	z, err := time.LoadLocation(name)
	require.NoError(t, err)
	return z
}

func TestInstantsAreReadAsPeopleWriteThem(t *testing.T) {
	london, friday := zone(t, "Europe/London"), time.Date(2026, 11, 20, 18, 30, 0, 0, time.UTC)
	for _, c := range []struct {
		text string
		zone *time.Location
		want string
	}{
		{"2026-12-24", london, "2026-12-24T00:00:00Z"},
		{"2026-07-01", london, "2026-06-30T23:00:00Z"},
		{"2026-12-24T17:00", london, "2026-12-24T17:00:00Z"},
		{"2026-07-01 17:00", london, "2026-07-01T16:00:00Z"},
		{"  2026-12-24   9:05 ", time.UTC, "2026-12-24T09:05:00Z"},
		{"2026-12-24T17:00Z", london, "2026-12-24T17:00:00Z"},
		{"2026-12-24t17:00:30+02:00", london, "2026-12-24T15:00:30Z"},
		{"2026-12-24T17:00-05:00", london, "2026-12-24T22:00:00Z"},
		{"fri 17:00", london, "2026-11-27T17:00:00Z"}, // today's has passed
		{"Fri 19:00", london, "2026-11-20T19:00:00Z"},
		{"wednesday 10:00", london, "2026-11-25T10:00:00Z"},
		{"friday", london, "2026-11-27T00:00:00Z"},
		{"mon", london, "2026-11-23T00:00:00Z"},
		{"Monday 09:00", zone(t, "Asia/Tokyo"), "2026-11-23T00:00:00Z"},
		{"sat 01:00", zone(t, "Asia/Tokyo"), "2026-11-27T16:00:00Z"}, // it is Saturday 03:30 there
		{"17:00", london, "2026-11-21T17:00:00Z"},
		{"18:30", london, "2026-11-21T18:30:00Z"}, // now is not ahead
		{"18:31", london, "2026-11-20T18:31:00Z"},
		{"2h", london, "2026-11-20T20:30:00Z"},
		{"90m", london, "2026-11-20T20:00:00Z"},
		{"1d12h", london, "2026-11-22T06:30:00Z"},
		{"2W", london, "2026-12-04T18:30:00Z"},
		{"2026-10-25 01:30", london, "2026-10-25T00:30:00Z"},                 // shown twice: the first
		{"2018-11-04", zone(t, "America/Sao_Paulo"), "2018-11-04T03:00:00Z"}, // a day without midnight
	} {
		got, err := commands.ParseInstant(c.text, friday, c.zone)
		require.NoError(t, err, c.text)
		assert.Equal(t, c.want, got.UTC().Format(time.RFC3339), c.text)
	}
}

func TestWhatIsNoInstantIsToldHowToWriteOne(t *testing.T) {
	now := time.Date(2026, 3, 27, 12, 0, 0, 0, time.UTC)
	for text, says := range map[string]string{
		"":                          "it is no instant; write a day (2026-12-24)",
		"soon":                      "it is no instant",
		"2026-02-30":                "there is no such day",
		"0000-01-01":                "the year 0 is too far away; write one from 2000 to 2999",
		"3000-01-01T00:00Z":         "the year 3000 is too far away",
		"2026-13-01":                "there is no such day",
		"24:00":                     "24:00 is no time of day",
		"fri 17:60":                 "17:60 is no time of day",
		"frx 17:00":                 "it is no instant",
		"sunset 17:00":              "it is no instant",
		"0h":                        "it is no instant",
		"-2h":                       "it is no instant",
		"367d":                      "it is no instant",
		"2026-03-29T01:30":          "no clock of Europe/London shows 01:30 on that day",
		"sun 01:30":                 "no clock of Europe/London shows 01:30 on that day",
		strings.Repeat("mon ", 100): "it is longer than 40 bytes",
	} {
		_, err := commands.ParseInstant(text, now, zone(t, "Europe/London"))
		assert.ErrorContains(t, err, says, text)
	}
}

func TestSpansAreReadAsPeopleWriteThem(t *testing.T) {
	for text, want := range map[string]time.Duration{"14d": 14 * 24 * time.Hour, "1h30m": 90 * time.Minute, "45s": 45 * time.Second, "1w1d": 8 * 24 * time.Hour, " 2H ": 2 * time.Hour} {
		got, err := commands.ParseSpan(text)
		require.NoError(t, err, text)
		assert.Equal(t, want, got, text)
	}
	for _, text := range []string{"", "d", "14", "1m1h", "0d", "367d", "99999999d", "1.5h", "-1d", "٣d"} {
		_, err := commands.ParseSpan(text)
		assert.Error(t, err, text)
	}
}

func TestANextInstantIsAheadAndShowsWhatWasWritten(t *testing.T) {
	zones := []string{"UTC", "Europe/London", "America/New_York", "Australia/Lord_Howe", "Asia/Kathmandu", "America/Sao_Paulo", "Pacific/Apia"}
	rapid.Check(t, func(t *rapid.T) {
		z, err := time.LoadLocation(rapid.SampledFrom(zones).Draw(t, "zone"))
		require.NoError(t, err)
		now := time.Unix(rapid.Int64Range(1_000_000_000, 2_000_000_000).Draw(t, "now"), 0)
		hour, minute := rapid.IntRange(0, 23).Draw(t, "hour"), rapid.IntRange(0, 59).Draw(t, "minute")
		day := rapid.SampledFrom([]string{"", "mon ", "thu ", "sun "}).Draw(t, "day")
		text := day + time.Date(2000, 1, 1, hour, minute, 0, 0, time.UTC).Format("15:04")
		got, err := commands.ParseInstant(text, now, z)
		if err != nil { // the clocks are put forward over it
			assert.ErrorContains(t, err, "no clock of")
			return
		}
		assert.True(t, got.After(now), "%s is after %s", got, now)
		assert.LessOrEqual(t, got.Sub(now), 8*24*time.Hour)
		assert.Equal(t, []int{hour, minute}, []int{got.In(z).Hour(), got.In(z).Minute()})
		if day != "" {
			assert.Equal(t, strings.TrimSpace(day), strings.ToLower(got.In(z).Weekday().String()[:3]))
		}
	})
}

func FuzzParseInstant(f *testing.F) {
	for _, text := range []string{"2026-12-24", "2026-12-24T17:00", "fri 17:00", "17:00", "2h", "1d12h", "2026-12-24T17:00:00+02:00"} {
		f.Add(text, int64(1_795_000_000))
	}
	london := zone(f, "Europe/London")
	f.Fuzz(func(t *testing.T, text string, unix int64) {
		now := time.Unix(unix%2_000_000_000+2_000_000_000, 0)
		at, err := commands.ParseInstant(text, now, london)
		if err != nil {
			return
		}
		again, err := commands.ParseInstant(at.Format(time.RFC3339), now, time.UTC)
		require.NoError(t, err)
		assert.Zero(t, at.Truncate(time.Second).Compare(again.Truncate(time.Second)), "what was read is an instant: %s", text)
	})
}
