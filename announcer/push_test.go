package announcer

import (
	"encoding/json"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"platform.dev/platform/bots/markup"
	"platform.dev/platform/flowclient"
)

// built is an event of a component's build, some time after noon.
func built(t require.TestingT, kind, component, run string, after time.Duration) flowclient.Event {
	phase := map[string]string{flowclient.EventBuildStarted: flowclient.BuildRunning, flowclient.EventBuildPassed: flowclient.BuildSucceeded, flowclient.EventBuildFailed: flowclient.BuildFailed}[kind]
	b := building(phase, func(b *flowclient.BuildEvent) {
		b.Build.Component, b.Build.Run, b.Build.URL = component, run, "http://127.0.0.1:10081/builds/"+run
		switch end := noon.Add(after); kind {
		case flowclient.EventBuildFailed:
			b.Build.CompletedAt, b.Build.FailedStage, b.Lines = &end, "test", []string{"@**all** FAULT in " + component}
		case flowclient.EventBuildPassed:
			b.Build.CompletedAt = &end
		}
	})
	body, err := json.Marshal(b)
	require.NoError(t, err)
	return flowclient.Event{Key: "build/" + run + "/" + kind, Kind: kind, At: noon.Add(after), Project: "shop", Component: component, Body: body}
}

func TestTheBuildsOfOnePushAreOneMessageThatBecomesTheirResult(t *testing.T) {
	m := newMemory()
	tell := func(e flowclient.Event) markup.Message {
		m.happen(e)
		require.NoError(t, announcing(t, m, noon.Add(time.Minute)).pass(t.Context()), "another process each time")
		require.Len(t, m.rows, 1)
		return m.rows[0].message
	}
	one := tell(built(t, flowclient.EventBuildStarted, "shop-web", "web-1", 0))
	assert.Equal(t, "announce.build.started", one.Kind)
	golden(t, "several-started", tell(built(t, flowclient.EventBuildStarted, "shop-api", "api-1", Together)))
	tell(built(t, flowclient.EventBuildPassed, "shop-web", "web-1", 40*time.Second))
	golden(t, "several-failed", tell(built(t, flowclient.EventBuildFailed, "shop-api", "api-1", 50*time.Second)))
	assert.Equal(t, "announce/build/web-1", m.rows[0].key)

	m.happen(built(t, flowclient.EventBuildStarted, "shop-api", "api-2", 55*time.Second))
	require.NoError(t, announcing(t, m, noon.Add(time.Minute)).pass(t.Context()))
	require.Len(t, m.rows, 2, "built again it is told by itself")
	assert.Equal(t, "announce/build/api-2", m.rows[1].key)
}

func TestAPushThatBuildsEverythingSaysSoOnce(t *testing.T) {
	m := newMemory()
	const components = maxBuilds + 3
	for _, kind := range []string{flowclient.EventBuildStarted, flowclient.EventBuildPassed} {
		for i := range components {
			m.happen(built(t, kind, fmt.Sprintf("shop-%02d", i), fmt.Sprintf("run-%02d", i), time.Duration(i)*time.Second))
		}
	}
	require.NoError(t, announcing(t, m, noon.Add(time.Minute)).pass(t.Context()))
	require.Len(t, m.rows, 1)
	golden(t, "several-passed", m.rows[0].message)
}

func TestWhatIsNoPushIsToldApart(t *testing.T) {
	for _, tc := range []struct {
		name   string
		second func(*flowclient.BuildEvent, *flowclient.Event)
		rows   int
	}{
		{"the same push", func(*flowclient.BuildEvent, *flowclient.Event) {}, 1},
		{"another commit", func(b *flowclient.BuildEvent, _ *flowclient.Event) { b.Build.Commit = secondCommit }, 2},
		{"no commit", func(b *flowclient.BuildEvent, _ *flowclient.Event) { b.Build.Commit = "" }, 2},
		{"another project", func(_ *flowclient.BuildEvent, e *flowclient.Event) { e.Project = "blog" }, 2},
		{"later", func(_ *flowclient.BuildEvent, e *flowclient.Event) { e.At = e.At.Add(Together + 1) }, 2},
	} {
		t.Run(tc.name, func(t *testing.T) {
			m := newMemory()
			m.happen(built(t, flowclient.EventBuildStarted, "shop-web", "web-1", 0))
			e := built(t, flowclient.EventBuildStarted, "shop-api", "api-1", 0)
			var b flowclient.BuildEvent
			require.NoError(t, json.Unmarshal(e.Body, &b))
			tc.second(&b, &e)
			var err error
			e.Body, err = json.Marshal(b)
			require.NoError(t, err)
			m.happen(e)
			require.NoError(t, announcing(t, m, noon.Add(time.Minute)).pass(t.Context()))
			assert.Len(t, m.rows, tc.rows)
		})
	}
}

func TestAPushAnnouncedBeforeTheGapStillEnds(t *testing.T) {
	m := newMemory()
	m.happen(built(t, flowclient.EventBuildStarted, "shop-web", "web-1", 0))
	require.NoError(t, announcing(t, m, noon).pass(t.Context()))
	m.happen(built(t, flowclient.EventBuildStarted, "shop-api", "api-1", 0))
	for _, run := range []string{"web", "api"} {
		m.happen(built(t, flowclient.EventBuildPassed, "shop-"+run, run+"-1", time.Minute))
	}
	require.NoError(t, announcing(t, m, noon.Add(5*time.Hour)).pass(t.Context()))
	require.Len(t, m.rows, 1)
	assert.Equal(t, markup.Done, m.rows[0].message.Status)
	assert.Contains(t, markup.Plain(m.rows[0].message), "2 components")
}

// TestHoweverOftenItStopsAPushEndsInTheSameMessage announces the builds of one
// push with crashes in between, and once without.
func TestHoweverOftenItStopsAPushEndsInTheSameMessage(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		var events []flowclient.Event
		n := rapid.IntRange(1, 5).Draw(rt, "components")
		for i := range n {
			events = append(events, built(rt, flowclient.EventBuildStarted, fmt.Sprint("c", i), fmt.Sprint("r", i), time.Duration(i)*time.Second))
		}
		for i := range n {
			kind := rapid.SampledFrom([]string{flowclient.EventBuildPassed, flowclient.EventBuildFailed}).Draw(rt, "end")
			events = append(events, built(rt, kind, fmt.Sprint("c", i), fmt.Sprint("r", i), time.Minute))
		}
		whole, broken := newMemory(), newMemory()
		for _, e := range events {
			whole.happen(e)
			broken.happen(e)
			budget := rapid.IntRange(0, 3).Draw(rt, "writes")
			broken.fail = func(string) error {
				if budget--; budget < 0 {
					return fmt.Errorf("crash")
				}
				return nil
			}
			_ = announcing(t, broken, noon.Add(2*time.Minute)).pass(t.Context()) // may crash: that is the point
		}
		broken.fail = nil
		for _, m := range []*memory{whole, broken} {
			if err := announcing(t, m, noon.Add(2*time.Minute)).pass(t.Context()); err != nil {
				rt.Fatal(err)
			}
			if len(m.rows) != 1 {
				rt.Fatalf("%d messages: %v", len(m.rows), m.outbox())
			}
		}
		if a, b := markup.Plain(whole.rows[0].message), markup.Plain(broken.rows[0].message); a != b {
			rt.Fatalf("%s\nis not\n%s", b, a)
		}
	})
}

func TestOfManyPushesTheOldestAreForgotten(t *testing.T) {
	p := &pushes{}
	for i := range maxPushes + 10 {
		e := built(t, flowclient.EventBuildStarted, "shop-web", fmt.Sprint("r", i), time.Duration(i)*time.Hour)
		require.NotNil(t, p.see(e))
	}
	assert.Len(t, p.order, maxPushes)
	assert.Len(t, p.byRun, maxPushes)
	assert.Nil(t, p.see(built(t, flowclient.EventBuildPassed, "shop-web", "r0", 0)), "it is told by itself")
	assert.NotNil(t, p.see(built(t, flowclient.EventBuildPassed, "shop-web", "r10", 0)))
}

func TestTheAuthorOfAPushIsMentionedWhenABuildFailed(t *testing.T) {
	p := Push{Project: "shop", Commit: firstCommit, Author: "dev", Subject: "x", Builds: []flowclient.BuildEvent{{}, {}}}
	mentions := func() (n int) {
		visit(several(p, func(name string) markup.Span { return markup.M("10", name) }), func(s markup.Span) {
			if s.Kind == markup.SpanMention {
				n++
			}
		})
		return n
	}
	assert.Zero(t, mentions())
	p.Builds[1].Build.Phase = flowclient.BuildFailed
	assert.Equal(t, 1, mentions())
}
