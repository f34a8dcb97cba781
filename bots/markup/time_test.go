package markup_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"platform.dev/platform/bots/markup"
)

func TestAnAgeIsSaidInOneUnit(t *testing.T) {
	for age, want := range map[time.Duration]string{
		-time.Minute: "just now", 0: "just now", 5*time.Second - 1: "just now",
		5 * time.Second: "5 s ago", 59 * time.Second: "59 s ago",
		time.Minute: "1 min ago", time.Hour - 1: "59 min ago",
		time.Hour: "1 h ago", 26 * time.Hour: "26 h ago",
		48 * time.Hour: "2 days ago", 200 * time.Hour: "8 days ago",
	} {
		assert.Equal(t, want, markup.Ago(age), age)
	}
}

func TestADurationIsSaidAsPreciselyAsPeopleRead(t *testing.T) {
	for d, want := range map[time.Duration]string{
		0: "0 ms", 14 * time.Millisecond: "14 ms", time.Second - 1: "999 ms",
		4200 * time.Millisecond: "4.2 s", 10*time.Second - 1: "9.9 s",
		10 * time.Second: "10 s", time.Minute - 1: "59 s",
		time.Minute: "1 min", 65 * time.Second: "1 min 5 s", time.Hour - 1: "59 min 59 s",
		time.Hour: "1 h 0 min", 123 * time.Minute: "2 h 3 min",
	} {
		assert.Equal(t, want, markup.Took(d), d)
	}
}

func TestWhatIsAheadIsSaidInTwoUnits(t *testing.T) {
	for ahead, want := range map[time.Duration]string{
		-time.Hour: "now", 0: "now", 1: "in 1 s", time.Second - 1: "in 1 s", 40 * time.Second: "in 40 s", time.Minute - 1: "in 1 min",
		310 * time.Second: "in 5 min 10 s", time.Hour: "in 1 h", 63*time.Hour - time.Second: "in 2 d 15 h",
		73*time.Minute + time.Second: "in 1 h 14 min", 24*time.Hour + 59*time.Minute: "in 1 d 1 h", 24*time.Hour - 1: "in 1 d", 400 * 24 * time.Hour: "in 400 d",
	} {
		assert.Equal(t, want, markup.In(ahead), ahead)
	}
}

func TestAnInstantIsSaidInItsOwnZone(t *testing.T) {
	london, err := time.LoadLocation("Europe/London")
	require.NoError(t, err)
	kathmandu, err := time.LoadLocation("Asia/Kathmandu")
	require.NoError(t, err)
	sao, err := time.LoadLocation("America/Sao_Paulo")
	require.NoError(t, err)
	now := time.Date(2026, 12, 31, 23, 30, 0, 0, time.UTC)
	for _, c := range []struct {
		at   time.Time
		want string
	}{
		{time.Date(2026, 11, 23, 9, 0, 0, 0, london), "Mon 23 Nov 09:00 GMT"},
		{time.Date(2026, 7, 1, 9, 0, 0, 0, london), "Wed 1 Jul 09:00 BST"},
		{time.Date(2027, 1, 4, 9, 0, 0, 0, london), "Mon 4 Jan 2027 09:00 GMT"},
		{time.Date(2027, 1, 4, 9, 0, 0, 0, kathmandu), "Mon 4 Jan 09:00 UTC+0545"}, // it is 2027 there
		{time.Date(2026, 1, 4, 9, 0, 0, 0, sao), "Sun 4 Jan 09:00 UTC-03"},
	} {
		assert.Equal(t, c.want, markup.At(c.at, now))
	}
}
