package server

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"platform.dev/platform/bots/markup"
	"platform.dev/platform/flowclient/window"
)

// spanOf reads what people are told: "1 h 14 min".
func spanOf(text string) (sum time.Duration, err error) {
	units := map[string]time.Duration{"d": 24 * time.Hour, "h": time.Hour, "min": time.Minute, "s": time.Second}
	words := strings.Fields(text)
	for i := 0; i+1 < len(words); i += 2 {
		var n int64
		if _, err := fmt.Sscan(words[i], &n); err != nil {
			return 0, err
		}
		sum += time.Duration(n) * units[words[i+1]]
	}
	return sum, nil
}

// The window's sentence and the chat's messages tell of the same instants, often a
// moment apart, in packages that do not know each other.
func TestWhatIsLeftIsToldByOneRuleAndNeverGrows(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		within := time.Duration(rapid.SampledFrom([]int64{int64(time.Minute), int64(3 * time.Hour), int64(72 * time.Hour), int64(366 * 24 * time.Hour)}).Draw(t, "within"))
		now := time.Duration(rapid.Int64Range(1, int64(within)).Draw(t, "left"))
		later := now - time.Duration(rapid.Int64Range(0, int64(now)-1).Draw(t, "passes"))
		told := window.SpanUp(now)
		if in := markup.In(now); in != "in "+told {
			t.Fatalf("of %s one says %q and the other %q", now, told, in)
		}
		before, err := spanOf(told)
		require.NoError(t, err)
		after, err := spanOf(window.SpanUp(later))
		require.NoError(t, err)
		if before < now {
			t.Fatalf("%q is less than %s", told, now)
		}
		if after > before {
			t.Fatalf("%q of %s has become %q of %s", told, now, window.SpanUp(later), later)
		}
	})
	assert.Equal(t, "in 1 h 14 min", markup.In(73*time.Minute+time.Second))
}
