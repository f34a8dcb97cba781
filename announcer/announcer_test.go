package announcer

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
	"pgregory.net/rapid"

	"platform.dev/platform/bots/markup"
	"platform.dev/platform/flowclient"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// memory is the announcer's ports as a store keeps them. fail, when set, is asked before each write.
type memory struct {
	mu      sync.Mutex
	events  []flowclient.Event
	rows    []row
	cursors map[string]string
	fail    func(op string) error
}

type row struct {
	key, bot, place string
	message         markup.Message
	revisions       int
}

func newMemory() *memory { return &memory{cursors: map[string]string{}} }

func (m *memory) Events(_ context.Context, after int64, limit int) ([]flowclient.Event, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	var found []flowclient.Event
	for _, e := range m.events {
		if e.Seq > after && len(found) < limit {
			found = append(found, e)
		}
	}
	return found, nil
}

func (m *memory) Put(_ context.Context, key, bot string, place, payload []byte, _ time.Time) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if err := m.broken("put"); err != nil {
		return err
	}
	var message markup.Message
	if err := json.Unmarshal(payload, &message); err != nil {
		return err
	}
	for i, r := range m.rows {
		if r.key == key {
			old, err := json.Marshal(r.message)
			if err != nil {
				return err
			}
			if !bytes.Equal(old, payload) {
				m.rows[i].message = message
				m.rows[i].revisions++
			}
			return nil
		}
	}
	m.rows = append(m.rows, row{key: key, bot: bot, place: string(place), message: message, revisions: 1})
	return nil
}

func (m *memory) Cursor(_ context.Context, name string) (string, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.cursors[name], nil
}

func (m *memory) SetCursor(_ context.Context, name, value string) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if err := m.broken("cursor"); err != nil {
		return err
	}
	m.cursors[name] = value
	return nil
}

func (m *memory) broken(op string) error {
	if m.fail == nil {
		return nil
	}
	return m.fail(op)
}

// happen records an event.
func (m *memory) happen(e flowclient.Event) {
	m.mu.Lock()
	defer m.mu.Unlock()
	e.Seq = int64(len(m.events) + 1)
	m.events = append(m.events, e)
}

// outbox is what is owed: "place key title".
func (m *memory) outbox() []string {
	m.mu.Lock()
	defer m.mu.Unlock()
	var lines []string
	for _, r := range m.rows {
		lines = append(lines, fmt.Sprintf("%s %s", r.place, r.key))
	}
	return lines
}

// announcing makes an announcer on m at an instant.
func announcing(t *testing.T, m *memory, now time.Time) *Announcer {
	t.Helper()
	a, err := New(Config{
		Enabled: true, Events: m, Outbox: m, Cursor: m, Bot: "platform", Sandbox: "platform-sandbox",
		Now: func() time.Time { return now }, Log: slog.New(slog.DiscardHandler),
	})
	require.NoError(t, err)
	return a
}

func TestEventsBecomeMessagesInTheirPlacesInOrder(t *testing.T) {
	m := newMemory()
	s := samples(t)
	m.happen(s["scaffolded"])
	walkthrough := s["promoted"]
	walkthrough.Walkthrough, walkthrough.Project = true, "static-7"
	m.happen(walkthrough)
	m.happen(s["lock-set"])
	require.NoError(t, announcing(t, m, noon).pass(t.Context()))
	assert.Equal(t, []string{
		`{"stream":"shop","topic":"builds"} announce/project/shop/scaffolded`,
		`{"stream":"platform-sandbox","topic":"static-7: promotions"} announce/promote/31`,
		`{"stream":"shop","topic":"promotions"} announce/lock/1/set`,
	}, m.outbox())
	assert.Equal(t, "3", m.cursors[CursorName])
	assert.Equal(t, "platform", m.rows[0].bot)
}

func TestABuildIsOneMessageThatBecomesItsResult(t *testing.T) {
	m := newMemory()
	s := samples(t)
	a := announcing(t, m, noon)
	m.happen(s["build-started"])
	require.NoError(t, a.pass(t.Context()))
	require.Len(t, m.rows, 1)
	assert.Equal(t, markup.Working, m.rows[0].message.Status)
	m.happen(s["build-failed"])
	require.NoError(t, a.pass(t.Context()))
	require.Len(t, m.rows, 1)
	assert.Equal(t, "announce/build/shop-web-run-0a1b2c3d", m.rows[0].key)
	assert.Equal(t, markup.Failed, m.rows[0].message.Status)
	assert.Equal(t, 2, m.rows[0].revisions)
}

func TestAnEventThatCannotBeAnnouncedHoldsNothingUp(t *testing.T) {
	m := newMemory()
	m.happen(flowclient.Event{Key: "x", Kind: "from.the.future", At: noon, Project: "shop", Body: []byte(`{}`)})
	m.happen(flowclient.Event{Key: "y", Kind: flowclient.EventPromoted, At: noon, Project: "shop", Body: []byte(`"no object"`)})
	nowhere := samples(t)["removed"]
	nowhere.Project = ""
	m.happen(nowhere)
	m.happen(samples(t)["removed"])
	a := announcing(t, m, noon)
	said := 0
	a.cfg.Said = func() { said++ }
	require.NoError(t, a.pass(t.Context()))
	assert.Len(t, m.outbox(), 1)
	assert.Equal(t, 1, said, "who delivers is woken for what was put")
	assert.Equal(t, "4", m.cursors[CursorName])
}

// TestACrashAnywhereSaysEverythingOnce stops the announcer at every write in
// turn, and goes on with another.
func TestACrashAnywhereSaysEverythingOnce(t *testing.T) {
	events := func(m *memory) {
		s := samples(t)
		old := s["lock-set"]
		old.At = noon.Add(-3 * time.Hour)
		m.happen(old)
		for _, name := range []string{"build-started", "promoted", "build-passed", "lock-cleared"} {
			m.happen(s[name])
		}
	}
	whole := newMemory()
	events(whole)
	writes := 0
	whole.fail = func(string) error { writes++; return nil }
	require.NoError(t, announcing(t, whole, noon).pass(t.Context()))
	require.GreaterOrEqual(t, writes, 10)
	for stop := 1; stop <= writes; stop++ {
		t.Run(strconv.Itoa(stop), func(t *testing.T) {
			m := newMemory()
			events(m)
			n := 0
			crash := errors.New("crash")
			m.fail = func(string) error {
				if n++; n >= stop {
					return crash
				}
				return nil
			}
			require.ErrorIs(t, announcing(t, m, noon).pass(t.Context()), crash)
			m.fail = nil
			require.NoError(t, announcing(t, m, noon).pass(t.Context()))
			assert.Equal(t, whole.rows, m.rows)
			assert.Equal(t, whole.cursors, m.cursors)
		})
	}
}

func TestOldEventsAreFoldedIntoOneMessagePerPlace(t *testing.T) {
	m := newMemory()
	s := samples(t)
	at := func(name string, ago time.Duration) flowclient.Event {
		e := s[name]
		e.At = noon.Add(-ago)
		return e
	}
	m.happen(at("scaffolded", 5*time.Hour))
	m.happen(at("build-started", 4*time.Hour))
	m.happen(at("build-passed", 4*time.Hour))
	for i := range 23 {
		e := at("lock-set", 3*time.Hour-time.Duration(i)*time.Minute) // too far apart to be one message
		e.Key = fmt.Sprintf("lock/%d/set", i)
		m.happen(e)
	}
	m.happen(at("promoted", time.Hour+time.Second))
	m.happen(at("rolled-back", time.Hour))
	require.NoError(t, announcing(t, m, noon).pass(t.Context()))
	assert.Equal(t, []string{
		`{"stream":"shop","topic":"builds"} announce/summary/0/shop/builds`,
		`{"stream":"shop","topic":"promotions"} announce/summary/0/shop/promotions`,
		`{"stream":"shop","topic":"promotions"} announce/rollback/33`,
	}, m.outbox())
	assert.Equal(t, "28", m.cursors[CursorName])
	golden(t, "summary-builds", m.rows[0].message)
	golden(t, "summary-promotions", m.rows[1].message)
}

func TestABuildAnnouncedBeforeTheGapStillEnds(t *testing.T) {
	m := newMemory()
	s := samples(t)
	m.happen(s["build-started"])
	require.NoError(t, announcing(t, m, noon).pass(t.Context()))
	m.happen(s["build-passed"])
	m.happen(s["promoted"])
	require.NoError(t, announcing(t, m, noon.Add(5*time.Hour)).pass(t.Context()))
	assert.Equal(t, []string{
		`{"stream":"shop","topic":"builds"} announce/build/shop-web-run-0a1b2c3d`,
		`{"stream":"shop","topic":"promotions"} announce/summary/1/shop/promotions`,
	}, m.outbox())
	assert.Equal(t, markup.Done, m.rows[0].message.Status)
}

func TestAReviewEnvironmentIsOneMessageThatChangesWithIt(t *testing.T) {
	m := newMemory()
	s := samples(t)
	a := announcing(t, m, noon)
	for i, name := range []string{"review-queued", "review-created", "review-failed", "review-updated", "review-destroyed"} {
		m.happen(s[name])
		require.NoError(t, a.pass(t.Context()))
		require.Len(t, m.rows, 1, name)
		assert.Equal(t, i+1, m.rows[0].revisions, name)
	}
	again := s["review-created"]
	again.Key = "review/4/2/created"
	m.happen(again)
	require.NoError(t, a.pass(t.Context()))
	assert.Equal(t, []string{
		`{"stream":"platform-sandbox","topic":"shop: pull requests"} announce/review/4/1`,
		`{"stream":"platform-sandbox","topic":"shop: pull requests"} announce/review/4/2`,
	}, m.outbox(), "opened again it has another environment")
}

func TestAReviewEnvironmentAnnouncedBeforeTheGapIsBroughtUpToDate(t *testing.T) {
	const sandbox = `{"stream":"platform-sandbox","topic":"shop: pull requests"} announce/`
	for _, tc := range []struct {
		name        string
		before, gap []string // samples
		want        []string // what was put in the gap's wake
	}{
		{"made before, gone in the gap", []string{"pull-opened", "review-created"}, []string{"review-destroyed", "pull-merged"},
			[]string{sandbox + "review/4/1", `{"stream":"shop","topic":"pull requests"} announce/summary/2/shop/pull requests`}},
		{"queued before, made in the gap", []string{"pull-opened", "review-queued"}, []string{"review-created"}, []string{sandbox + "review/4/1"}},
		{"all of it in the gap", nil, []string{"pull-opened", "review-created", "review-updated", "review-destroyed"},
			[]string{`{"stream":"shop","topic":"pull requests"} announce/summary/0/shop/pull requests`, sandbox + "summary/0/platform-sandbox/shop: pull requests"}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			m := newMemory()
			s := samples(t)
			for _, name := range tc.before {
				m.happen(s[name])
			}
			require.NoError(t, announcing(t, m, noon).pass(t.Context()))
			before := map[string]int{}
			for _, r := range m.rows {
				before[r.key] = r.revisions
			}
			for _, name := range tc.gap {
				m.happen(s[name])
			}
			require.NoError(t, announcing(t, m, noon.Add(5*time.Hour)).pass(t.Context()))
			var put []string
			for _, r := range m.rows {
				if r.revisions > before[r.key] {
					put = append(put, fmt.Sprintf("%s %s", r.place, r.key))
				}
			}
			assert.Equal(t, tc.want, put)
		})
	}
}

func TestMoreOldEventsAfterACrashEditTheSameSummary(t *testing.T) {
	m := newMemory()
	s := samples(t)
	m.happen(s["lock-set"])
	m.fail = func(op string) error {
		if op == "cursor" {
			return errors.New("crash")
		}
		return nil
	}
	require.Error(t, announcing(t, m, noon.Add(2*time.Hour)).pass(t.Context()))
	m.fail = nil
	m.happen(s["lock-cleared"])
	require.NoError(t, announcing(t, m, noon.Add(2*time.Hour)).pass(t.Context()))
	assert.Len(t, m.outbox(), 1)
	assert.Equal(t, 2, m.rows[0].revisions)
}

func TestMoreEventsThanABatchAreAllAnnounced(t *testing.T) {
	m := newMemory()
	for i := range 2*batch + 1 {
		e := samples(t)["removed"]
		e.Key = strconv.Itoa(i)
		m.happen(e)
	}
	require.NoError(t, announcing(t, m, noon).pass(t.Context()))
	assert.Len(t, m.outbox(), 2*batch+1)
}

func TestRunAnnouncesAtAWakeAndByItself(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := newMemory()
		a := announcing(t, m, noon)
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan error)
		go func() { ended <- a.Run(ctx) }()
		synctest.Wait()
		m.happen(samples(t)["removed"])
		a.Wake()
		synctest.Wait()
		assert.Len(t, m.outbox(), 1, "at once")

		m.happen(samples(t)["scaffolded"])
		time.Sleep(Every) // of the bubble's clock
		synctest.Wait()
		assert.Len(t, m.outbox(), 2, "without a wake")

		m.fail = func(string) error { return errors.New("disk full") }
		m.happen(samples(t)["lock-set"])
		time.Sleep(Every)
		synctest.Wait()
		m.mu.Lock()
		m.fail = nil
		m.mu.Unlock()
		assert.Len(t, m.outbox(), 2)
		time.Sleep(Every)
		synctest.Wait()
		assert.Len(t, m.outbox(), 3, "after the trouble")
		cancel()
		require.NoError(t, <-ended)
	})
}

func TestWithoutCredentialsNothingIsReadAndItIsSaidOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var log bytes.Buffer
		a, err := New(Config{Log: slog.New(slog.NewTextHandler(&log, nil))})
		require.NoError(t, err)
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan error)
		go func() { ended <- a.Run(ctx) }()
		a.Wake()
		time.Sleep(time.Hour) // of the bubble's clock
		a.Wake()
		cancel()
		require.NoError(t, <-ended)
		assert.Equal(t, 1, strings.Count(log.String(), "announcements are off"))
	})
}

func TestConfigNamesWhatIsMissing(t *testing.T) {
	m := newMemory()
	full := Config{Enabled: true, Events: m, Outbox: m, Cursor: m, Bot: "platform", Sandbox: "platform-sandbox"}
	for name, change := range map[string]func(*Config){
		"Events": func(c *Config) { c.Events = nil }, "Outbox": func(c *Config) { c.Outbox = nil }, "Cursor": func(c *Config) { c.Cursor = nil },
		"Bot": func(c *Config) { c.Bot = "" }, "Sandbox": func(c *Config) { c.Sandbox = "" },
	} {
		cfg := full
		change(&cfg)
		_, err := New(cfg)
		require.ErrorContains(t, err, name+" is not set")
	}
}

// TestEveryEventIsToldExactlyOnce announces random events in random passes, some of which fail.
func TestEveryEventIsToldExactlyOnce(t *testing.T) {
	all := samples(t)
	names := []string{"promoted", "refused", "freeze-set", "removed"} // locks may share a message, and have a test of their own
	rapid.Check(t, func(rt *rapid.T) {
		m := newMemory()
		want := map[string]bool{}
		for range rapid.IntRange(1, 12).Draw(rt, "steps") {
			for range rapid.IntRange(0, 4).Draw(rt, "events") {
				e := all[rapid.SampledFrom(names).Draw(rt, "kind")]
				e.Key = fmt.Sprintf("event/%d", len(m.events))
				m.happen(e)
				want["announce/"+e.Key] = true
			}
			budget := rapid.IntRange(0, 12).Draw(rt, "writes")
			m.fail = func(string) error {
				if budget--; budget < 0 {
					return errors.New("crash")
				}
				return nil
			}
			_ = announcing(t, m, noon).pass(t.Context()) // may crash: that is the point
		}
		m.fail = nil
		if err := announcing(t, m, noon).pass(t.Context()); err != nil {
			rt.Fatal(err)
		}
		for _, r := range m.rows {
			if !want[r.key] || r.revisions != 1 {
				rt.Fatalf("%s told %d times", r.key, r.revisions)
			}
			delete(want, r.key)
		}
		if len(want) > 0 {
			rt.Fatalf("never told: %v", want)
		}
	})
}
