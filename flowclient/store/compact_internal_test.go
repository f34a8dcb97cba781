package store

import (
	"context"
	"database/sql"
	"encoding/json"
	"flag"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"platform.dev/platform/flowclient"
)

var (
	today = time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)
	keep  = Keep{Messages: 30 * 24 * time.Hour, History: 500 * 24 * time.Hour, Announced: "announcer"}
)

// past writes rows of days ago into a store.
type past struct {
	require.TestingT
	*Store
	ctx context.Context
}

func days(n int) time.Time { return today.AddDate(0, 0, -n) }

// hears records a message, answered right away unless it is open.
func (p past) hears(key string, ago int, open bool) {
	_, err := p.Hear(p.ctx, key, days(ago), []byte(`{"bot":"platform"}`))
	require.NoError(p, err)
	if !open {
		require.NoError(p, p.Finish(p.ctx, key, "done", days(ago)))
	}
}

// says owes a message; how is "sent", "dropped" or "owed".
func (p past) says(key string, ago int, how string) {
	require.NoError(p, p.Put(p.ctx, key, "platform", []byte(`{}`), []byte(`{"title":"x"}`), days(ago)))
	var id int64
	require.NoError(p, p.file.Reader().QueryRowContext(p.ctx, `SELECT id FROM outbox WHERE key = ?`, key).Scan(&id))
	switch how {
	case "sent":
		require.NoError(p, p.Sent(p.ctx, id, 1, "m", days(ago)))
	case "dropped":
		require.NoError(p, p.Drop(p.ctx, id, "no", days(ago)))
	}
}

// moves records an intent that came to results, by component; open when there are none.
func (p past) moves(key, project string, ago int, results map[string]string) {
	type moved struct {
		Component string `json:"component"`
		Result    string `json:"result,omitempty"`
	}
	var plan, out []any
	for _, component := range slices.Sorted(mapKeys(results)) {
		plan = append(plan, map[string]any{"outcome": moved{Component: component}})
		out = append(out, moved{component, results[component]})
	}
	body, err := json.Marshal(map[string]any{"project": project, "moves": plan})
	require.NoError(p, err)
	in, _, err := p.Begin(p.ctx, flowclient.Intent{Key: key, Kind: "promote", Who: "sre", At: days(ago), Body: body})
	require.NoError(p, err)
	if results == nil {
		return
	}
	outcome, err := json.Marshal(map[string]any{"result": map[string]any{"components": out}})
	require.NoError(p, err)
	require.NoError(p, p.Settle(p.ctx, in.ID, flowclient.Settlement{Outcome: outcome, At: days(ago)}))
}

func mapKeys(m map[string]string) func(func(string) bool) {
	return func(yield func(string) bool) {
		for k := range m {
			if !yield(k) {
				return
			}
		}
	}
}

func (p past) happens(key, kind, project, component string, ago int) {
	require.NoError(p, p.Note(p.ctx, flowclient.Event{Key: key, Kind: kind, At: days(ago), Project: project, Component: component, Body: []byte(`{"who":"sre"}`)}))
}

// announced moves the announcer's cursor behind everything.
func (p past) announced() {
	var seq int64
	require.NoError(p, p.file.Reader().QueryRowContext(p.ctx, `SELECT coalesce(max(seq), 0) FROM events`).Scan(&seq))
	require.NoError(p, p.SetCursor(p.ctx, keep.Announced, fmt.Sprint(seq)))
}

// rows are the keys that a store has in a table.
func (p past) rows(table string) (keys []string) {
	keys, err := p.texts(p.ctx, `SELECT key FROM `+table+` ORDER BY key`)
	require.NoError(p, err)
	return keys
}

func TestOnlyWhatNothingNeedsAnyMoreIsRemoved(t *testing.T) {
	p := past{t, opened(t, filepath.Join(t.TempDir(), "flow.db")), t.Context()}
	p.hears("a answered long ago", 31, false)
	p.hears("a asks", 31, false)
	p.hears("a answered", 29, false)
	require.NoError(t, p.Ask(p.ctx, "a asks/question/1", "platform", []byte(`{}`), today.Add(-time.Hour)))
	p.says("said long ago", 31, "sent")
	p.says("given up long ago", 31, "dropped")
	p.says("owed", 400, "owed")
	p.says("said", 29, "sent")
	p.says("a asks/question/1", 31, "sent")

	p.moves("moved before", "shop", 900, map[string]string{"shop-web": "promoted", "shop-api": "unchanged"})
	p.moves("moved last", "shop", 800, map[string]string{"shop-web": "promoted"})
	p.moves("waited since", "shop", 700, map[string]string{"shop-web": "retry"})
	p.moves("moved api", "shop", 800, map[string]string{"shop-api": "rolled back"})
	p.moves("under way", "shop", 900, nil)
	p.moves("lately", "shop", 499, map[string]string{"shop-web": "retry"})
	p.moves("of a project that is gone", "blog", 900, map[string]string{"blog-web": "promoted"})

	in, _, err := p.Begin(p.ctx, flowclient.Intent{Key: "scaffolded", Kind: "scaffold", Who: "sre", At: days(900), Body: []byte(`{"project":"shop"}`)})
	require.NoError(t, err)
	require.NoError(t, p.Settle(p.ctx, in.ID, flowclient.Settlement{Outcome: []byte(`{"result":{"components":["shop-web"]}}`), At: days(900)}))

	p.happens("built before", flowclient.EventBuildPassed, "shop", "shop-web", 900)
	p.happens("built last", flowclient.EventBuildPassed, "shop", "shop-web", 800)
	p.happens("built api", flowclient.EventBuildPassed, "shop", "shop-api", 900)
	p.happens("blog was built", flowclient.EventBuildPassed, "blog", "blog-web", 900)
	p.happens("blog was removed", flowclient.EventRemoved, "blog", "", 800)
	p.happens("blog began again", flowclient.EventScaffolded, "blog", "", 799)
	p.announced()
	p.happens("not announced", flowclient.EventBuildPassed, "shop", "shop-web", 899)
	for key, ago := range map[string]int{"decided long ago": 501, "decided": 499} {
		require.NoError(t, p.Decided(p.ctx, flowclient.Decision{Key: key, Kind: "allowed", At: days(ago)}))
	}

	removed := map[string]int64{}
	require.NoError(t, p.Compact(p.ctx, today, keep, func(table string, rows int64) { removed[table] += rows }))
	assert.Equal(t, []string{"a answered", "a asks"}, p.rows("heard"))
	assert.Equal(t, []string{"a asks/question/1", "owed", "said"}, p.rows("outbox"))
	assert.Equal(t, []string{"lately", "moved api", "moved last", "under way"}, p.rows("intents"))
	assert.Equal(t, []string{"blog began again", "built api", "built last", "not announced"}, p.rows("events"))
	assert.Equal(t, []string{"decided"}, p.rows("decisions"))
	assert.Equal(t, map[string]int64{"heard": 1, "outbox": 2, "intents": 4, "events": 3, "decisions": 1}, removed)
	left, err := p.texts(p.ctx, `SELECT component || ' ' || kind FROM subjects ORDER BY 1`)
	require.NoError(t, err)
	assert.Equal(t, []string{"shop-api build.passed", "shop-api promote", "shop-web build.passed", "shop-web build.passed", "shop-web promote", "shop-web promote"}, left, "what was indexed of a row goes with it")

	p.announced()
	_, err = p.Conclude(p.ctx, "a asks/question/1", "somebody", "confirmed", today)
	require.NoError(t, err)
	require.NoError(t, p.Compact(p.ctx, today, keep, func(string, int64) {}))
	assert.Equal(t, []string{"a answered"}, p.rows("heard"))
	assert.Equal(t, []string{"owed", "said"}, p.rows("outbox"))
	assert.Equal(t, []string{"blog began again", "built api", "built last"}, p.rows("events"), "once it is announced it goes like any other")
}

func TestWhatIsUnderWayKeepsWhatMayBeSaidAgain(t *testing.T) {
	p := past{t, opened(t, filepath.Join(t.TempDir(), "flow.db")), t.Context()}
	p.says("said before", 41, "sent")
	p.hears("unanswered", 40, true)
	p.says("unanswered/progress", 39, "sent")
	require.NoError(t, p.Compact(p.ctx, today, keep, func(string, int64) {}))
	assert.Equal(t, []string{"unanswered"}, p.rows("heard"))
	assert.Equal(t, []string{"unanswered/progress"}, p.rows("outbox"))
	require.NoError(t, p.Finish(p.ctx, "unanswered", "done", today))
	run, _, err := p.BeginRun(p.ctx, flowclient.Walkthrough{Key: "walk", Template: "static", Started: days(45)})
	require.NoError(t, err)
	require.NoError(t, p.Compact(p.ctx, today, keep, func(string, int64) {}))
	assert.Equal(t, []string{"unanswered/progress"}, p.rows("outbox"))
	assert.Equal(t, []string{"unanswered"}, p.rows("heard"), "answered today, it is known for as long as any other")
	run.Ended = &today
	require.NoError(t, p.UpdateRun(p.ctx, run))
	require.NoError(t, p.Compact(p.ctx, today, keep, func(string, int64) {}))
	assert.Empty(t, p.rows("outbox"))
}

func TestNothingIsRemovedForEver(t *testing.T) {
	p := past{t, opened(t, filepath.Join(t.TempDir(), "flow.db")), t.Context()}
	p.hears("heard", 9000, false)
	p.happens("one", flowclient.EventBuildPassed, "shop", "shop-web", 9000)
	p.happens("two", flowclient.EventBuildPassed, "shop", "shop-web", 8999)
	p.announced()
	require.NoError(t, p.Compact(p.ctx, today, Keep{}, func(string, int64) { t.Error("removed") }))
	assert.Len(t, p.rows("events"), 2)
	require.NoError(t, p.Compact(p.ctx, today, Keep{History: time.Hour}, func(table string, _ int64) { assert.Equal(t, "events", table) }))
	assert.Equal(t, []string{"two"}, p.rows("events"), "where nobody announces nothing waits for it")
}

func TestWhatWasRemovedIsNotTakenForNewWhenItIsToldAgain(t *testing.T) {
	p := past{t, opened(t, filepath.Join(t.TempDir(), "flow.db")), t.Context()}
	p.happens("build/run/passed", flowclient.EventBuildPassed, "shop", "shop-web", 900)
	p.happens("build/other/passed", flowclient.EventBuildPassed, "shop", "shop-web", 800)
	p.announced()
	p.hears("slack:platform:1", 2, false)
	require.NoError(t, p.Compact(p.ctx, today, Keep{Messages: MessagesNeeded, History: keep.History, Announced: keep.Announced}, func(string, int64) {}))
	require.Equal(t, []string{"build/other/passed"}, p.rows("events"))
	p.happens("build/run/passed", flowclient.EventBuildPassed, "shop", "shop-web", 900)
	assert.Equal(t, []string{"build/other/passed"}, p.rows("events"), "a run that the control plane still has")
	p.happens("build/new/passed", flowclient.EventBuildPassed, "shop", "shop-web", 1)
	assert.Len(t, p.rows("events"), 2)
	fresh, err := p.Hear(p.ctx, "slack:platform:1", today, []byte(`{}`))
	require.NoError(t, err)
	assert.False(t, fresh, "what a chat may tell again within two days is known")
}

func TestATrailIsCutAtItsOldEndAlone(t *testing.T) {
	p := past{t, opened(t, filepath.Join(t.TempDir(), "flow.db")), t.Context()}
	for i, ago := range []int{900, 899, 10} {
		key := fmt.Sprint(i)
		p.happens(key, flowclient.EventBuildPassed, "shop", "shop-web", ago)
		p.moves(key, "shop", ago, map[string]string{"shop-web": "promoted"})
		require.NoError(t, p.Decided(p.ctx, flowclient.Decision{Key: key, Kind: "allowed", At: days(ago)}))
	}
	p.announced()
	require.NoError(t, p.Compact(p.ctx, today, keep, func(string, int64) {}))
	change := func(statement string) error {
		return p.file.Update(t.Context(), "test", func(tx *sql.Tx) error {
			_, err := tx.ExecContext(t.Context(), statement)
			return err
		})
	}
	for _, trail := range []string{"events", "intents", "decisions"} {
		assert.Equal(t, []string{"2"}, p.rows(trail))
		require.ErrorContains(t, change(`DELETE FROM `+trail), "never deleted while they are kept")
	}
	require.ErrorContains(t, change(`UPDATE compacted SET before = before - 1`), "only goes on")
	require.ErrorContains(t, change(`DELETE FROM compacted`), "never forgotten")
}

// errKilled stands for the end of the process.
type errKilled struct{}

// TestACompactionThatIsKilledAnywhereLosesNothing ends a compaction after every
// one of its writes in turn, and finds all that is needed still there, and the
// same end when another goes on.
func TestACompactionThatIsKilledAnywhereLosesNothing(t *testing.T) {
	if f := flag.Lookup("rapid.checks"); f.Value.String() == f.DefValue { // each is a file of its own
		require.NoError(t, flag.Set("rapid.checks", "20"))
		t.Cleanup(func() { assert.NoError(t, flag.Set("rapid.checks", f.DefValue)) })
	}
	dir, files := t.TempDir(), 0
	rapid.Check(t, func(rt *rapid.T) {
		budget := -1
		files++
		s, err := Open(t.Context(), filepath.Join(dir, fmt.Sprint(files)), func(_, op string) {
			if strings.HasPrefix(op, "compact ") {
				if budget--; budget == 0 {
					panic(errKilled{})
				}
			}
		})
		require.NoError(rt, err)
		p := past{rt, s, t.Context()}
		defer func() { require.NoError(rt, p.Close()) }()
		p.drawn(rt)
		needed := p.needed()
		kills := rapid.IntRange(1, 8).Draw(rt, "writes")
		for killed := true; killed; kills++ {
			budget = kills
			killed = p.compactUntilKilled(rt)
			for table, keys := range needed {
				there := p.rows(table)
				for _, key := range keys {
					require.Contains(rt, there, key, "%s", table)
				}
			}
		}
		budget = -1
		after := map[string][]string{}
		for table := range needed {
			after[table] = p.rows(table)
		}
		removed := int64(0)
		require.NoError(rt, p.Compact(p.ctx, today, keep, func(_ string, n int64) { removed += n }))
		require.Zero(rt, removed, "it went on to the end")
		for table := range needed {
			require.Equal(rt, after[table], p.rows(table))
		}
	})
}

// compactUntilKilled tells whether the process ended meanwhile.
func (p past) compactUntilKilled(t *rapid.T) (killed bool) {
	defer func() {
		if end := recover(); end != nil {
			if _, killed = end.(errKilled); !killed {
				panic(end)
			}
		}
	}()
	require.NoError(t, p.Compact(p.ctx, today, keep, func(string, int64) {}))
	return false
}

// drawn fills a store with rows of any age, in any state.
func (p past) drawn(t *rapid.T) {
	ago := rapid.IntRange(0, 1000)
	for i := range rapid.IntRange(0, 30).Draw(t, "rows") {
		key := fmt.Sprint(i)
		p.hears(key, ago.Draw(t, "heard"), rapid.IntRange(0, 9).Draw(t, "open") == 0)
		p.says(key, ago.Draw(t, "said"), rapid.SampledFrom([]string{"sent", "sent", "sent", "dropped", "owed"}).Draw(t, "how"))
		component := rapid.SampledFrom([]string{"shop-web", "shop-api"}).Draw(t, "component")
		p.moves(key, "shop", ago.Draw(t, "moved"), map[string]string{component: rapid.SampledFrom([]string{"promoted", "retry"}).Draw(t, "result")})
		p.happens(key, flowclient.EventBuildPassed, "shop", component, ago.Draw(t, "happened"))
		if rapid.IntRange(0, 5).Draw(t, "announced") == 0 {
			p.announced()
		}
	}
}

// needed are the keys that no compaction may remove, told row by row and not as the rule does.
func (p past) needed() map[string][]string {
	find := func(query string, args ...any) []string {
		keys, err := p.texts(p.ctx, query, args...)
		require.NoError(p, err)
		return keys
	}
	needed := map[string][]string{
		"heard": find(`SELECT key FROM heard WHERE finished IS NULL OR at >= ?`, days(30).UnixNano()),
		"outbox": find(`SELECT key FROM outbox WHERE (delivered < rev AND dropped IS NULL) OR put >= ?
			OR put >= (SELECT min(at) FROM heard WHERE finished IS NULL)`, days(30).UnixNano()),
		"events": find(`SELECT key FROM events WHERE at >= ? OR seq > coalesce((SELECT CAST(value AS INTEGER) FROM cursors), 0)`, days(500).UnixNano()),
	}
	for _, component := range []string{"shop-web", "shop-api"} {
		needed["events"] = append(needed["events"], find(`SELECT key FROM events WHERE component = ? ORDER BY at DESC, seq DESC LIMIT 1`, component)...)
		needed["intents"] = append(needed["intents"], find(`SELECT key FROM intents WHERE outcome LIKE ? ORDER BY at DESC, seq DESC LIMIT 1`, `%"`+component+`","result":"promoted"%`)...)
	}
	needed["intents"] = append(needed["intents"], find(`SELECT key FROM intents WHERE at >= ?`, days(500).UnixNano())...)
	return needed
}

func TestNoRowIsJudgedByPassingOverAllOfThem(t *testing.T) {
	s := opened(t, filepath.Join(t.TempDir(), "flow.db"))
	for _, a := range agings {
		args := []any{sql.Named("before", 1), sql.Named("after", 0), sql.Named("last", 9)}
		if a.table == "events" {
			args = append(args, sql.Named("announced", 9))
		}
		steps := planOf(t, s, fmt.Sprintf(`DELETE FROM %s AS r WHERE r.%s > :after AND r.%[2]s <= :last AND r.%s < :before AND %s`, a.table, a.seq, a.at, a.done), args...)
		for _, step := range steps {
			assert.NotRegexp(t, `SCAN (r|n|g|s|q|events|intents|heard|outbox)\b`, step, a.table)
		}
	}
}
