package flowclient

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"platform.dev/platform/flowclient/window"
)

// noonOfFriday is Friday, 20 November 2026, at noon.
var noonOfFriday = time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)

func TestFreezesOfOtherProjectsAndThoseThatHaveEndedHoldNothing(t *testing.T) {
	freeze := func(id int64, project string, from, until int) Freeze {
		at := func(hours int) time.Time { return noonOfFriday.Add(time.Duration(hours) * time.Hour) }
		return Freeze{ID: id, Project: project, From: at(from), Until: at(until), Reason: "the fair", Who: "sre", At: at(-9)}
	}
	past, other, coming, everywhere := freeze(1, "shop", -2, 0), freeze(2, "blog", -1, 5), freeze(3, "shop", 2, 3), freeze(4, "", -1, 1)

	w := windowOf(nil, "shop", "", []Freeze{past, other}, noonOfFriday)
	assert.Equal(t, Window{Project: "shop", Open: true, Sentence: window.Always("shop")}, w)

	w = windowOf(nil, "shop", "", []Freeze{past, other, coming, everywhere}, noonOfFriday)
	assert.False(t, w.Open)
	assert.Equal(t, []Freeze{coming, everywhere}, w.Freezes, "what holds or is to come is told")
	assert.Equal(t, &everywhere.Until, w.Flips)
	assert.Contains(t, w.Sentence, "in every project by sre: the fair")
}

func TestATextThatCannotBeReadIsNoMatterOfFreezes(t *testing.T) {
	freeze := Freeze{ID: 1, From: noonOfFriday.Add(-2), Until: noonOfFriday.Add(1), Who: "sre", Reason: "the fair"}
	w := windowOf(nil, "shop", "Mon-Fri 9-17", []Freeze{freeze}, noonOfFriday)
	assert.False(t, w.Open)
	assert.Contains(t, w.Sentence, `"Mon-Fri 9-17" cannot be read`)
	assert.Nil(t, w.Flips, "the end of the freeze opens nothing")
	assert.Equal(t, []Freeze{freeze}, w.Freezes)
}

// TestAFreezeOnlyEverCloses: adding one never opens an instant, the flip is
// when open changes and not before, and a parser's memory changes nothing.
func TestAFreezeOnlyEverCloses(t *testing.T) {
	var known window.Parser
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.SampledFrom([]string{"", "Mon-Fri 09:00-17:00 Europe/London", "Fri-Mon 22:00-06:00 America/New_York", "Mon-Fri"}).Draw(t, "text")
		now := noonOfFriday.Add(time.Duration(rapid.Int64Range(0, 200*24*3600).Draw(t, "second")) * time.Second)
		var freezes []Freeze
		for i := range rapid.IntRange(0, 4).Draw(t, "freezes") {
			from := now.Add(time.Duration(rapid.IntRange(-72*3600, 72*3600).Draw(t, "from")) * time.Second)
			freezes = append(freezes, Freeze{ID: int64(i), Project: rapid.SampledFrom([]string{"", "shop", "blog"}).Draw(t, "project"),
				From: from, Until: from.Add(time.Duration(rapid.IntRange(1, 72*3600).Draw(t, "lasts")) * time.Second), Who: "sre", Reason: "drawn"})
		}
		w := windowOf(nil, "shop", text, freezes, now)
		require.Equal(t, w, windowOf(&known, "shop", text, freezes, now))
		for i := range freezes {
			fewer := windowOf(nil, "shop", text, append(append([]Freeze{}, freezes[:i]...), freezes[i+1:]...), now)
			require.False(t, w.Open && !fewer.Open, "the freeze opened %s", now)
		}
		if w.Flips != nil {
			require.True(t, w.Flips.After(now))
			require.Equal(t, w.Open, windowOf(nil, "shop", text, freezes, w.Flips.Add(-1)).Open)
			require.NotEqual(t, w.Open, windowOf(nil, "shop", text, freezes, *w.Flips).Open)
		}
	})
}
