package announcer

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"platform.dev/platform/flowclient"
)

// locked is an event of a lock that somebody set or cleared, some time after noon.
func locked(t require.TestingT, kind, component, who string, after time.Duration) flowclient.Event {
	body, err := json.Marshal(flowclient.LockEvent{Who: who, Link: "http://127.0.0.1:9991/#narrow/near/" + component,
		Locks: []flowclient.Lock{{Component: component, Commit: secondCommit, Reason: "breaks @**Sam SRE**'s pager", Who: who}}})
	require.NoError(t, err)
	return flowclient.Event{Key: fmt.Sprintf("lock/%s/%d/%s", component, after, kind), Kind: kind, At: noon.Add(after), Project: "shop", Component: component, Body: body}
}

func TestLocksThatOnePersonSetsTogetherAreOneMessageThatGrows(t *testing.T) {
	m := newMemory()
	tell := func(e flowclient.Event) {
		m.happen(e)
		require.NoError(t, announcing(t, m, noon.Add(time.Minute)).pass(t.Context()), "another process each time")
	}
	tell(locked(t, flowclient.EventLockSet, "shop-web", "sre @**all**", 0))
	require.Len(t, m.rows, 1)
	assert.Equal(t, "announce.lock.set", m.rows[0].message.Kind)
	tell(locked(t, flowclient.EventLockSet, "shop-api", "sre @**all**", Together))
	require.Len(t, m.rows, 1)
	golden(t, "several-locks", m.rows[0].message)

	tell(locked(t, flowclient.EventLockCleared, "shop-api", "sre @**all**", Together+1))
	tell(locked(t, flowclient.EventLockCleared, "shop-web", "sre @**all**", Together+2))
	require.Len(t, m.rows, 2)
	golden(t, "several-locks-cleared", m.rows[1].message)
	tell(locked(t, flowclient.EventLockSet, "shop-web", "sre @**all**", Together+3))
	require.Len(t, m.rows, 3, "what was cleared between is not told as if it still held")
	assert.Equal(t, 2, m.rows[0].revisions)
}

func TestLocksThatHaveNothingInCommonAreToldApart(t *testing.T) {
	for name, c := range map[string]struct {
		second func(e *flowclient.Event)
		rows   int
	}{
		"the same person at the same time": {func(*flowclient.Event) {}, 1},
		"another project":                  {func(e *flowclient.Event) { e.Project = "blog" }, 2},
		"later":                            {func(e *flowclient.Event) { e.At = noon.Add(Together + 1) }, 2},
		"another person":                   {func(e *flowclient.Event) { *e = locked(t, flowclient.EventLockSet, "shop-api", "admin", 1) }, 2},
		"a lock and an end of one":         {func(e *flowclient.Event) { e.Kind = flowclient.EventLockCleared }, 2},
	} {
		t.Run(name, func(t *testing.T) {
			m := newMemory()
			second := locked(t, flowclient.EventLockSet, "shop-api", "sre", 1)
			c.second(&second)
			m.happen(locked(t, flowclient.EventLockSet, "shop-web", "sre", 0))
			m.happen(second)
			require.NoError(t, announcing(t, m, noon).pass(t.Context()))
			assert.Len(t, m.rows, c.rows)
		})
	}
}

// TestEveryLockIsToldOnceWhateverTheirOrder tells locks and their ends to
// processes that come and go, and finds each in exactly one message.
func TestEveryLockIsToldOnceWhateverTheirOrder(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		m := newMemory()
		a := announcing(t, m, noon.Add(time.Minute))
		count := rapid.IntRange(1, 12).Draw(rt, "locks")
		var at time.Duration
		for i := range count {
			at += time.Duration(rapid.IntRange(0, 20).Draw(rt, "later")) * time.Second / 4
			kind := rapid.SampledFrom([]string{flowclient.EventLockSet, flowclient.EventLockCleared}).Draw(rt, "kind")
			who := rapid.SampledFrom([]string{"sre", "admin"}).Draw(rt, "who")
			m.happen(locked(rt, kind, fmt.Sprintf("shop-%02d", i), who, at))
			budget := rapid.IntRange(0, 8).Draw(rt, "writes")
			m.fail = func(string) error {
				if budget--; budget < 0 {
					return errors.New("crash")
				}
				return nil
			}
			_ = a.pass(t.Context()) // may crash: that is the point
			if rapid.Bool().Draw(rt, "restarted") {
				a = announcing(t, m, noon.Add(time.Minute))
			}
		}
		m.fail = nil
		require.NoError(rt, a.pass(t.Context()))
		whole := newMemory()
		whole.events = m.events
		require.NoError(rt, announcing(t, whole, noon.Add(time.Minute)).pass(t.Context()))
		require.Equal(rt, whole.outbox(), m.outbox(), "the same messages, whoever announced them")
		for i, r := range m.rows {
			require.Equal(rt, whole.rows[i].message, r.message)
		}
		for i := range count {
			told := 0
			for _, r := range m.rows {
				text, err := json.Marshal(r.message)
				require.NoError(rt, err)
				if strings.Contains(string(text), fmt.Sprintf(`"shop-%02d"`, i)) {
					told++
				}
			}
			require.Equal(rt, 1, told, "shop-%02d", i)
		}
	})
}
