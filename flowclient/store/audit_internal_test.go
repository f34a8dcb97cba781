package store

import (
	"context"
	"database/sql"
	"fmt"
	"io/fs"
	"path/filepath"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"platform.dev/platform/flowclient"
	"platform.dev/platform/flowclient/store/sqlite"
)

func opened(t *testing.T, path string) *Store {
	t.Helper()
	s, err := Open(t.Context(), path, nil)
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, s.Close()) })
	return s
}

// planOf is how the file would answer a statement.
func planOf(t *testing.T, s *Store, query string, args ...any) (steps []string) {
	t.Helper()
	rows, err := s.file.Reader().QueryContext(t.Context(), `EXPLAIN QUERY PLAN `+query, args...)
	require.NoError(t, err)
	defer rows.Close()
	for rows.Next() {
		var id, parent, unused int
		var step string
		require.NoError(t, rows.Scan(&id, &parent, &unused, &step))
		steps = append(steps, step)
	}
	require.NoError(t, rows.Err())
	require.NotEmpty(t, steps)
	return steps
}

func TestNoRowIsLookedForByPassingOverAllOfThem(t *testing.T) {
	s := opened(t, filepath.Join(t.TempDir(), "flow.db"))
	both := flowclient.RecordQuery{Intents: []string{"promote", "commit"}, Events: []string{"lock.set", "promotion.refused"}, Decisions: []string{"allowed", "denied"}, Limit: 10,
		Before: flowclient.RecordMark{At: time.Unix(7, 0), Row: flowclient.RowEvent, Seq: 7}}
	for _, c := range []struct {
		name          string
		narrow        func(q *flowclient.RecordQuery)
		event, intent string // the index that finds rows of each; those of decisions are named alike
	}{
		{"everything", func(*flowclient.RecordQuery) {}, "INDEX events_kind (kind=? AND ", "INDEX intents_kind (kind=? AND "},
		{"a project", func(q *flowclient.RecordQuery) { q.Project = "shop" }, "INDEX events_project_kind (project=? AND kind=? AND ", "INDEX intents_project_kind (project=? AND kind=? AND "},
		{"somebody", func(q *flowclient.RecordQuery) { q.Who = "sre" }, "INDEX events_who (who=? AND kind=? AND ", "INDEX intents_who (who=? AND kind=? AND "},
		{"a component", func(q *flowclient.RecordQuery) { q.Component = "shop-web" }, "SEARCH c USING PRIMARY KEY (component=? AND kind=? AND ", "SEARCH c USING PRIMARY KEY (component=? AND kind=? AND "},
		{"a project's somebody", func(q *flowclient.RecordQuery) { q.Project, q.Who = "shop", "sre" }, "(", "("},
		{"all of it", func(q *flowclient.RecordQuery) { q.Project, q.Who, q.Component = "shop", "sre", "shop-web" }, "(component=? AND kind=? AND ", "(component=? AND kind=? AND "},
	} {
		t.Run(c.name, func(t *testing.T) {
			q := both
			c.narrow(&q)
			query, args := findRecords(q)
			steps := planOf(t, s, query, args...)
			searches := 0
			for _, step := range steps {
				assert.NotRegexp(t, `SCAN (r|c|events|intents|subjects)\b`, step)
				if strings.HasPrefix(step, "SEARCH ") {
					searches++
				}
			}
			assert.GreaterOrEqual(t, searches, 6, "each kind by itself: %s", strings.Join(steps, "\n"))
			assert.Contains(t, strings.Join(steps, "\n"), c.event)
			assert.Contains(t, strings.Join(steps, "\n"), c.intent)
			assert.Contains(t, strings.Join(steps, "\n"), strings.Replace(c.intent, "intents_", "decisions_", 1))
			for _, kind := range []struct {
				recordTable
				name string
			}{{recordTables[0], "denied"}, {recordTables[1], "promote"}, {recordTables[2], "lock.set"}} {
				query, args := findKind(kind.recordTable, q, kind.name)
				assert.NotContains(t, strings.Join(planOf(t, s, query, args...), "\n"), "TEMP B-TREE", "rows of a kind come in order from the index")
			}
		})
	}
	steps := planOf(t, s, `SELECT seq FROM events `+happened(3), "shop", "a", "b", "c", 1, 2, 3)
	assert.Contains(t, steps[0], "events_project_kind (project=? AND kind=? AND at>? AND at<?)")
}

func TestTheTrailIsOnlyEverAddedTo(t *testing.T) {
	s := opened(t, filepath.Join(t.TempDir(), "flow.db"))
	at := time.Unix(7, 0)
	in, _, err := s.Begin(t.Context(), flowclient.Intent{Key: "k", Kind: "promote", Who: "sre", At: at, Body: []byte(`{"project":"shop"}`)})
	require.NoError(t, err)
	require.NoError(t, s.Note(t.Context(), flowclient.Event{Key: "e", Kind: "lock.set", At: at, Project: "shop", Body: []byte(`{}`)}))
	change := func(statement string) error {
		return s.file.Update(t.Context(), "test", func(tx *sql.Tx) error {
			_, err := tx.ExecContext(t.Context(), statement)
			return err
		})
	}
	require.ErrorContains(t, change(`UPDATE intents SET who = 'somebody else'`), "only the outcome is added")
	require.NoError(t, s.Settle(t.Context(), in.ID, flowclient.Settlement{Outcome: []byte(`{}`), At: at}))
	require.ErrorContains(t, change(`UPDATE intents SET outcome = CAST(1 AS BLOB)`), "only the outcome is added")
	require.ErrorContains(t, change(`UPDATE intents SET settled = NULL`), "only the outcome is added")
	require.ErrorContains(t, change(`DELETE FROM intents`), "never deleted while they are kept")
	require.ErrorContains(t, change(`UPDATE events SET at = 0`), "never changed")
	require.ErrorContains(t, change(`DELETE FROM events`), "never deleted while they are kept")
	require.NoError(t, s.Decided(t.Context(), flowclient.Decision{Key: "k", Kind: "denied", At: at}))
	require.ErrorContains(t, change(`UPDATE decisions SET at = 0`), "never changed")
	require.ErrorContains(t, change(`DELETE FROM decisions`), "never deleted while they are kept")
}

// fileOf makes a file with the migrations before the one named.
func fileOf(t *testing.T, path, before string) *Store {
	t.Helper()
	older := fstest.MapFS{}
	require.NoError(t, fs.WalkDir(migrations, "migrations", func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || filepath.Base(name) >= before {
			return err
		}
		content, err := migrations.ReadFile(name)
		older[filepath.Base(name)] = &fstest.MapFile{Data: content}
		return err
	}))
	file, err := sqlite.Open(t.Context(), "flow", path, older, nil)
	require.NoError(t, err)
	return &Store{file: file}
}

func TestDecisionsOfBeforeTheyWereInTheTrailAreFoundThere(t *testing.T) {
	path := filepath.Join(t.TempDir(), "flow.db")
	before := fileOf(t, path, "00013")
	for _, d := range []flowclient.Decision{{Key: "a", Kind: "denied", Persona: "sre", ChatID: "zulip:9", Project: "shop"}, {Key: "b", Kind: "unknown", ChatID: "zulip:66"}} {
		d.At = time.Unix(7, 0).UTC()
		require.NoError(t, before.Decided(t.Context(), d))
	}
	require.NoError(t, before.Close())
	s := opened(t, path)
	for _, c := range []struct {
		query flowclient.RecordQuery
		want  []string
	}{
		{flowclient.RecordQuery{}, []string{"b", "a"}}, {flowclient.RecordQuery{Project: "shop"}, []string{"a"}}, {flowclient.RecordQuery{Who: "sre"}, []string{"a"}},
		{flowclient.RecordQuery{Who: "zulip:66"}, []string{"b"}}, {flowclient.RecordQuery{Who: "zulip:9"}, nil}, {flowclient.RecordQuery{Component: "shop-web"}, nil},
	} {
		c.query.Decisions, c.query.Limit = []string{"denied", "unknown"}, 10
		found, err := s.Records(t.Context(), c.query)
		require.NoError(t, err)
		var keys []string
		for _, r := range found {
			keys = append(keys, r.Decision.Key)
		}
		assert.Equal(t, c.want, keys, "%+v", c.query)
	}
}

func TestAFileOfBeforeTheTrailIsIndexedWhenItIsOpened(t *testing.T) {
	path := filepath.Join(t.TempDir(), "flow.db")
	before := fileOf(t, path, "00006")
	plan := []byte(`{"project":"shop","moves":[{"outcome":{"component":"shop-web"}},{"outcome":{"component":"shop-api"}}]}`)
	_, _, err := before.Begin(t.Context(), flowclient.Intent{Key: "k", Kind: "promote", Who: "sre", At: time.Unix(7, 0), Body: plan})
	require.NoError(t, err)
	require.NoError(t, before.file.Update(t.Context(), "note", func(tx *sql.Tx) error { // as it was recorded then
		_, err := tx.ExecContext(t.Context(), `INSERT INTO events (key, kind, at, project, component, walkthrough, body)
			VALUES ('e', 'lock.set', ?, 'shop', 'shop-web', FALSE, ?)`, time.Unix(8, 0).UnixNano(), []byte(`{"who":"sre"}`))
		return err
	}))
	require.NoError(t, before.Close())

	s := opened(t, path)
	for component, want := range map[string]int{"shop-web": 2, "shop-api": 1, "blog-web": 0} {
		found, err := s.Records(t.Context(), flowclient.RecordQuery{Intents: []string{"promote"}, Events: []string{"lock.set"}, Component: component, Who: "sre", Limit: 10})
		require.NoError(t, err)
		assert.Len(t, found, want, component)
	}
}

func TestPagesOfRecordsAreWhatAWholeReadingGives(t *testing.T) {
	dir, files := t.TempDir(), 0
	rapid.Check(t, func(rt *rapid.T) {
		files++
		ctx := context.Background()
		s, err := Open(ctx, filepath.Join(dir, fmt.Sprintf("%d.db", files)), nil)
		require.NoError(rt, err)
		defer func() { require.NoError(rt, s.Close()) }()
		names := rapid.SampledFrom([]string{"", "a", "b"})
		kinds := rapid.SampledFrom([]string{"one", "two", "three"})
		type row struct {
			kind, project, component, who string
			table                         flowclient.Row
			key                           string
			at                            int64
		}
		intentKind := map[string]string{"one": "promote", "two": "rollback", "three": "commit"}
		var all []row // in the order in which they come at one instant
		var decided, events, intents []row
		for i := range rapid.IntRange(0, 30).Draw(rt, "rows") {
			r := row{kind: kinds.Draw(rt, "kind"), project: names.Draw(rt, "project"), component: names.Draw(rt, "component"), who: names.Draw(rt, "who"),
				table: rapid.SampledFrom([]flowclient.Row{flowclient.RowDecision, flowclient.RowIntent, flowclient.RowEvent}).Draw(rt, "table"), key: fmt.Sprint(i), at: int64(rapid.IntRange(1, 6).Draw(rt, "at"))}
			at := time.Unix(0, r.at)
			if r.table == flowclient.RowDecision {
				require.NoError(rt, s.Decided(ctx, flowclient.Decision{Key: r.key, Kind: "decided " + r.kind, At: at, Project: r.project, Persona: r.who}))
				r.component = ""
				decided = append(decided, r)
				continue
			}
			if r.table == flowclient.RowIntent {
				body := fmt.Sprintf(`{"project":%q,"moves":[{"outcome":{"component":%q}}]}`, r.project, r.component)
				_, _, err := s.Begin(ctx, flowclient.Intent{Key: r.key, Kind: intentKind[r.kind], Who: r.who, At: at, Body: []byte(body)})
				require.NoError(rt, err)
				intents = append(intents, r)
				continue
			}
			require.NoError(rt, s.Note(ctx, flowclient.Event{Key: r.key, Kind: r.kind, At: at, Project: r.project, Component: r.component, Body: fmt.Appendf(nil, `{"who":%q}`, r.who)}))
			events = append(events, r)
		}
		for at := int64(6); at >= 1; at-- {
			for _, table := range [][]row{events, intents, decided} {
				for i := len(table) - 1; i >= 0; i-- {
					if table[i].at == at {
						all = append(all, table[i])
					}
				}
			}
		}
		q := flowclient.RecordQuery{Events: []string{"one", "three"}, Intents: []string{"promote", "rollback"}, Decisions: []string{"decided one", "decided three"}, Limit: rapid.IntRange(1, 7).Draw(rt, "limit"),
			Project: names.Draw(rt, "of project"), Component: names.Draw(rt, "of component"), Who: names.Draw(rt, "of who")}
		var want, got []string
		for _, r := range all {
			asked := r.table == flowclient.RowIntent && r.kind != "three" || r.table != flowclient.RowIntent && r.kind != "two"
			if asked && (q.Project == "" || q.Project == r.project) && (q.Component == "" || q.Component == r.component) && (q.Who == "" || q.Who == r.who) {
				want = append(want, r.key)
			}
		}
		for {
			page, err := s.Records(ctx, q)
			require.NoError(rt, err)
			if len(page) == 0 {
				break
			}
			for _, r := range page {
				switch {
				case r.Intent != nil:
					got = append(got, r.Intent.Key)
				case r.Event != nil:
					got = append(got, r.Event.Key)
				default:
					got = append(got, r.Decision.Key)
				}
			}
			q.Before = page[len(page)-1].Mark()
		}
		require.Equal(rt, want, got)
	})
}
