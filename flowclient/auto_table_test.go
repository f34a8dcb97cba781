package flowclient

import (
	"fmt"
	"math"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// differing is a listing in which each of these projects has something that differs.
func differing(sums map[string]uint64) map[string]*listed {
	all := map[string]*listed{}
	for project, sum := range sums {
		all[project] = &listed{sum: sum, differs: true}
	}
	return all
}

func TestAListingMakesDueWhatChanged(t *testing.T) {
	var tab table
	list := func(sums map[string]uint64) []string {
		tab.compare(differing(sums), nil)
		due := tab.take(friday, true)
		for _, project := range due {
			tab.put(project, stood{}, dueNever)
		}
		return due
	}
	assert.Equal(t, []string{"shop"}, list(map[string]uint64{"shop": 1}))
	assert.Empty(t, list(map[string]uint64{"shop": 1}))
	assert.Equal(t, []string{"shop"}, list(map[string]uint64{"shop": 2}))
	assert.Equal(t, []string{"blog"}, list(map[string]uint64{"shop": 2, "blog": 1}))

	// Between two listings it was another: what was decided then may no longer be so.
	tab.touch("shop")
	require.Equal(t, []string{"shop"}, tab.take(friday, false))
	tab.put("shop", stood{}, dueNever)
	assert.Equal(t, []string{"shop"}, list(map[string]uint64{"shop": 2, "blog": 1}))
	assert.Empty(t, list(map[string]uint64{"shop": 2, "blog": 1}))

	assert.Empty(t, list(map[string]uint64{"blog": 1}), "what is gone is forgotten")
	assert.Nil(t, tab.stands("shop"))
	tab.compare(map[string]*listed{"blog": {sum: 9}}, nil)
	assert.Empty(t, tab.take(friday, true), "nothing follows where nothing differs")
}

func TestATableKeepsWhatIsDueWhen(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var tab table
		due := map[string]int64{}
		now := friday
		for range rapid.IntRange(1, 40).Draw(t, "steps") {
			project := fmt.Sprintf("p%d", rapid.IntRange(0, 5).Draw(t, "project"))
			switch rapid.SampledFrom([]string{"touch", "put", "remove", "take", "tick"}).Draw(t, "what") {
			case "touch":
				tab.touch(project)
				due[project] = dueNow
			case "put":
				at := now.Add(time.Duration(rapid.IntRange(1, 5).Draw(t, "in")) * time.Minute).UnixNano()
				tab.put(project, stood{}, at)
				if before, known := due[project]; known {
					due[project] = min(before, at)
				}
			case "remove":
				tab.remove(project)
				delete(due, project)
			case "tick":
				now = now.Add(time.Minute)
			case "take":
				var want []string
				for project, at := range due {
					if at <= now.UnixNano() {
						want = append(want, project)
						due[project] = dueNever
					}
				}
				require.ElementsMatch(t, want, tab.take(now, true))
			}
			least := int64(dueNever)
			for _, at := range due {
				least = min(least, at)
			}
			at, ok := tab.next()
			require.Equal(t, least != dueNever, ok)
			require.True(t, !ok || at.UnixNano() == least)
			require.Len(t, tab.index, len(due))
		}
	})
}

func TestAnInstantThatNoRowCanHoldIsNeverDue(t *testing.T) {
	last := time.Unix(0, math.MaxInt64)
	for _, at := range []time.Time{last.Add(1), time.Date(2312, 2, 2, 0, 0, 0, 0, time.UTC), time.Unix(1<<55, 0)} {
		assert.EqualValues(t, dueNever, dueAt(at), "%s", at)
	}
	assert.Equal(t, friday.UnixNano(), dueAt(friday))
	assert.EqualValues(t, dueNever-1, dueAt(last.Add(-1)))

	// A soak of centuries, as a decision comes to it, is not looked at again and again.
	since, soak := friday, time.Duration(math.MaxInt64)
	var rows table
	rows.touch("shop")
	require.Equal(t, []string{"shop"}, rows.take(friday, true))
	rows.put("shop", stood{}, dueAt(since.Add(soak)))
	assert.Empty(t, rows.take(friday.AddDate(100, 0, 0), true))
}
