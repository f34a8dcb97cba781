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

	"platform.dev/platform/bots/markup"
	"platform.dev/platform/flowclient"
)

// movedByItself is a promotion of components by the automatic pass, some time after noon.
func movedByItself(t require.TestingT, after time.Duration, note string, components ...string) flowclient.Event {
	b := flowclient.MoveEvent{Origin: flowclient.Origin{Key: "pass", Who: automatic}, Outcome: flowclient.Outcome{Project: "shop", Note: note}}
	for _, name := range components {
		b.Outcome.Components = append(b.Outcome.Components, flowclient.ComponentOutcome{
			Component: name, Result: flowclient.Promoted, From: name + "-aaa", To: name + "-bbb", FromCommit: firstCommit, ToCommit: secondCommit,
			Gates: []flowclient.Verdict{
				{Gate: "soak", Component: name, Pass: true, Numbers: map[string]string{"soak": "5m0s"}, Sentence: name + " 9988776 has been in staging for 5 min; 5 min was asked for."},
				{Gate: "window", Pass: true, Numbers: map[string]string{"window": "Mon-Fri"}, Sentence: "Production changes to shop are allowed Mon-Fri. Open now."},
			},
		})
	}
	body, err := json.Marshal(b)
	require.NoError(t, err)
	return flowclient.Event{Key: fmt.Sprintf("promote/%d/%s", after, strings.Join(components, "+")), Kind: flowclient.EventPromoted, At: noon.Add(after), Project: "shop", Body: body}
}

func TestWhatMovesByItselfTogetherIsOneMessageThatGrows(t *testing.T) {
	m := newMemory()
	tell := func(e flowclient.Event) {
		m.happen(e)
		require.NoError(t, announcing(t, m, noon.Add(time.Minute)).pass(t.Context()), "another process each time")
	}
	tell(movedByItself(t, 0, "", "shop-web"))
	tell(movedByItself(t, 13*time.Millisecond, "The type of shop-api changed.", "shop-api"))
	tell(movedByItself(t, Together, "The type of shop-api changed.", "shop-new", "shop-old"))
	require.Len(t, m.rows, 1)
	assert.Equal(t, "announce.promotion.done", m.rows[0].message.Kind)
	assert.Equal(t, 3, m.rows[0].revisions)
	golden(t, "several-moves", m.rows[0].message)

	tell(movedByItself(t, Together, "", "shop-web"))
	require.Len(t, m.rows, 2, "what moves once more is another promotion")
	assert.Equal(t, 3, m.rows[0].revisions)
}

func TestMovesThatHaveNothingInCommonAreToldApart(t *testing.T) {
	for name, c := range map[string]struct {
		between, second func(e *flowclient.Event)
		rows            int
	}{
		"the same project at the same time": {nil, nil, 1},
		"another project":                   {nil, func(e *flowclient.Event) { e.Project = "blog" }, 2},
		"later":                             {nil, func(e *flowclient.Event) { e.At = noon.Add(Together + 1) }, 2},
		"a person's": {nil, func(e *flowclient.Event) {
			*e = event(t, flowclient.EventPromoted, "promote/person", flowclient.MoveEvent{Origin: flowclient.Origin{Who: "developer"}})
		}, 2},
		"a way back between": {func(e *flowclient.Event) {
			*e = event(t, flowclient.EventRolledBack, "rollback/1", moveBy("developer", flowclient.RolledBack))
		}, nil, 3},
		"a build between": {func(e *flowclient.Event) {
			*e = event(t, flowclient.EventBuildStarted, "build/1/started", building(flowclient.BuildRunning, nil))
		}, nil, 2},
		"a lock between, of another project": {func(e *flowclient.Event) {
			*e = locked(t, flowclient.EventLockSet, "blog-web", "sre", 0)
			e.Project = "blog"
		}, nil, 2},
		"more than one message should list": {nil, func(e *flowclient.Event) {
			var names []string
			for i := range maxMoving {
				names = append(names, fmt.Sprintf("shop-%d", i))
			}
			*e = movedByItself(t, 1, "", names...)
		}, 2},
	} {
		t.Run(name, func(t *testing.T) {
			m := newMemory()
			m.happen(movedByItself(t, 0, "", "shop-web"))
			if c.between != nil {
				var e flowclient.Event
				c.between(&e)
				m.happen(e)
			}
			second := movedByItself(t, 1, "", "shop-api")
			if c.second != nil {
				c.second(&second)
			}
			m.happen(second)
			require.NoError(t, announcing(t, m, noon).pass(t.Context()))
			assert.Len(t, m.rows, c.rows)
		})
	}
}

// TestEveryMoveIsToldOnceWhateverCrashes tells moves to processes that come and
// go, and finds each in exactly one message.
func TestEveryMoveIsToldOnceWhateverCrashes(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		m := newMemory()
		a := announcing(t, m, noon.Add(time.Minute))
		count := rapid.IntRange(1, 12).Draw(rt, "moves")
		var at time.Duration
		for i := range count {
			at += time.Duration(rapid.IntRange(0, 20).Draw(rt, "later")) * time.Second
			m.happen(movedByItself(rt, at, "", fmt.Sprintf("shop-%02d", i)))
			if rapid.IntRange(0, 4).Draw(rt, "otherwise") == 0 {
				m.happen(locked(rt, flowclient.EventLockSet, fmt.Sprintf("lock-%02d", i), "sre", at))
			}
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
				text, err := json.Marshal(r.message.Blocks[0])
				require.NoError(rt, err)
				if strings.Contains(string(text), fmt.Sprintf(`"shop-%02d"`, i)) {
					told++
				}
			}
			require.Equal(rt, 1, told, "shop-%02d", i)
		}
	})
}

func TestAMoveTellsFromWhatToWhat(t *testing.T) {
	for name, c := range map[string]struct {
		moved flowclient.ComponentOutcome
		says  string
	}{
		"two commits":               {flowclient.ComponentOutcome{From: "shop-web-aaa", FromCommit: firstCommit, To: "shop-web-bbb", ToCommit: secondCommit}, "1a2b3c4 to 9988776"},
		"the first one":             {flowclient.ComponentOutcome{To: "shop-web-bbb", ToCommit: secondCommit}, "9988776"},
		"releases without a commit": {flowclient.ComponentOutcome{From: "shop-web-aaa", To: "shop-web-bbb"}, "shop-web-aaa to shop-web-bbb"},
		"two releases of a commit":  {flowclient.ComponentOutcome{From: "shop-web-aaa", FromCommit: firstCommit, To: "shop-web-bbb", ToCommit: firstCommit}, "1a2b3c4, from release shop-web-aaa to shop-web-bbb"},
		"a release put back again":  {flowclient.ComponentOutcome{From: "shop-web-aaa", FromCommit: firstCommit, To: "shop-web-aaa", ToCommit: firstCommit}, "1a2b3c4 to 1a2b3c4"},
	} {
		t.Run(name, func(t *testing.T) {
			c.moved.Component, c.moved.Result = "shop-web", flowclient.Promoted
			for _, line := range [][]markup.Span{component(c.moved), waitingMove(c.moved)} {
				text := markup.Plain(markup.Message{Blocks: []markup.Block{markup.Text(line...)}})
				assert.Equal(t, "shop-web: "+c.says, strings.TrimSpace(text))
			}
		})
	}
}
