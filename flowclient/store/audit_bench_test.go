package store

import (
	"context"
	"database/sql"
	"fmt"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"platform.dev/platform/flowclient"
)

// longTrail is a file with so many intents, as many decisions, and four times as
// many events, half of which are of no kind that a trail asks for.
func longTrail(b *testing.B, intents int) *Store {
	b.Helper()
	s, err := Open(b.Context(), filepath.Join(b.TempDir(), "flow.db"), nil)
	require.NoError(b, err)
	b.Cleanup(func() { require.NoError(b, s.Close()) })
	kinds := []string{"build.started", "lock.set", "build.passed", "promotion.refused"}
	require.NoError(b, s.file.Update(b.Context(), "fill", func(tx *sql.Tx) error {
		for i := range intents {
			at, project := int64(i)*int64(time.Minute), fmt.Sprint("project-", i%50)
			body := fmt.Sprintf(`{"project":%q,"moves":[{"outcome":{"component":"%s-web"}}]}`, project, project)
			if _, err := tx.Exec(`INSERT INTO intents (id, key, kind, who, at, body) VALUES (?, ?, 'promote', 'auto', ?, ?)`, fmt.Sprint("i", i), fmt.Sprint("i", i), at, []byte(body)); err != nil {
				return err
			}
			decision := fmt.Sprintf(`{"project":%q,"persona":"sre","text":"promote"}`, project)
			if _, err := tx.Exec(`INSERT INTO decisions (key, kind, at, body) VALUES (?, ?, ?, ?)`, fmt.Sprint("d", i), []string{"allowed", "denied"}[i%2], at, []byte(decision)); err != nil {
				return err
			}
			for k, kind := range kinds {
				e := flowclient.Event{Key: fmt.Sprint("e", i, "/", k), Kind: kind, At: time.Unix(0, at), Project: project, Component: project + "-web", Body: []byte(`{"who":"sre"}`)}
				if err := insertEvents(context.Background(), tx, []flowclient.Event{e}); err != nil {
					return err
				}
			}
		}
		return nil
	}))
	return s
}

// BenchmarkAPageOfTheTrail reads pages of a hundred from the middle of the
// trail. x-limit is how many times as long that takes as to read a hundred rows
// whose numbers are known: it must not grow with the file.
func BenchmarkAPageOfTheTrail(b *testing.B) {
	for _, intents := range []int{500, 20_000} {
		s := longTrail(b, intents)
		for _, c := range []struct {
			name  string
			query flowclient.RecordQuery
		}{
			{"everything", flowclient.RecordQuery{}}, {"a project", flowclient.RecordQuery{Project: "project-7"}},
			{"a component", flowclient.RecordQuery{Component: "project-7-web"}}, {"somebody", flowclient.RecordQuery{Who: "sre"}},
		} {
			b.Run(fmt.Sprintf("%s of %d rows", c.name, 6*intents), func(b *testing.B) {
				q := c.query
				q.Intents, q.Events, q.Limit = []string{"promote", "rollback", "commit"}, []string{"lock.set", "promotion.refused", "freeze.set"}, 100
				q.Decisions = []string{"allowed", "denied", "unknown"}
				q.Before = flowclient.RecordMark{At: time.Unix(0, int64(intents)*3/4*int64(time.Minute)), Row: flowclient.RowEvent, Seq: 1}
				var own, limit time.Duration
				for b.Loop() {
					begun := time.Now()
					found, err := s.Records(b.Context(), q)
					own += time.Since(begun)
					require.NoError(b, err)
					require.NotEmpty(b, found)
					places := make([]recordPlace, len(found))
					for i, r := range found {
						at := slices.IndexFunc(recordTables, func(t recordTable) bool { return t.row == r.Mark().Row })
						places[i] = recordPlace{rank: recordTables[at].rank, seq: r.Seq}
					}
					begun = time.Now()
					into := map[recordPlace]flowclient.Record{}
					for _, t := range recordTables {
						require.NoError(b, s.readRecords(b.Context(), t, places, nil, into))
					}
					limit += time.Since(begun)
				}
				b.ReportMetric(float64(own)/float64(limit), "x-limit")
			})
		}
	}
}
