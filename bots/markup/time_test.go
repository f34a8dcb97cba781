package markup_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

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
