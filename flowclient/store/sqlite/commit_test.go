package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"testing/fstest"
	"testing/synctest"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

var errBroken = errors.New("broken")

// keyed is a schema whose rows may be refused: at once when a text stands
// twice, and not before the commit when a parent is missing.
func keyed() fs.FS {
	return fstest.MapFS{"00001_notes.sql": {Data: []byte("-- +goose Up\n" +
		"CREATE TABLE notes (text TEXT NOT NULL UNIQUE, parent TEXT REFERENCES notes (text) DEFERRABLE INITIALLY DEFERRED);\n")}}
}

// note writes a row of keyed.
func note(text string) func(*sql.Tx) error {
	return func(tx *sql.Tx) error {
		_, err := tx.Exec("INSERT INTO notes (text) VALUES (?)", text)
		return err
	}
}

func openKeyed(t *testing.T, path string, committed Committed) *File {
	t.Helper()
	f, err := Open(t.Context(), "notes", path, keyed(), committed)
	require.NoError(t, err)
	return f
}

// texts lists what is committed.
func texts(t *testing.T, f *File) []string {
	t.Helper()
	rows, err := f.Reader().QueryContext(t.Context(), "SELECT text FROM notes ORDER BY text")
	require.NoError(t, err)
	defer rows.Close()
	found := []string{}
	for rows.Next() {
		var text string
		require.NoError(t, rows.Scan(&text))
		found = append(found, text)
	}
	require.NoError(t, rows.Err())
	return found
}

// grouped runs the writes as one group, in their order, and gives their
// errors; a write that panics or ends its goroutine has errUnended.
func grouped(t *testing.T, f *File, writes ...func(*sql.Tx) error) []error {
	t.Helper()
	errs := make([]error, len(writes))
	var begun, others sync.WaitGroup
	begun.Add(1)
	free := make(chan struct{})
	update := func(i int, fn func(*sql.Tx) error) {
		defer others.Done()
		errs[i] = errUnended
		defer func() { _ = recover() }()
		errs[i] = f.Update(t.Context(), fmt.Sprint("write ", i), fn)
	}
	others.Add(len(writes))
	go update(0, func(tx *sql.Tx) error {
		begun.Done()
		<-free
		return writes[0](tx)
	})
	begun.Wait()
	for i, fn := range writes[1:] {
		go update(i+1, fn)
		synctest.Wait() // it has queued up
	}
	close(free)
	others.Wait()
	return errs
}

func TestWritesAtTheSameTimeShareATransaction(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var mu sync.Mutex
		told := map[string]int{}
		f := openKeyed(t, filepath.Join(t.TempDir(), "notes.db"), func(_, op string) {
			mu.Lock()
			defer mu.Unlock()
			told[op]++
		})
		sees := func(tx *sql.Tx) (inside, outside int) {
			require.NoError(t, tx.QueryRow("SELECT count(*) FROM notes").Scan(&inside))
			return inside, len(texts(t, f))
		}
		errs := grouped(t, f,
			note("first"),
			func(tx *sql.Tx) error {
				require.NoError(t, note("refused")(tx))
				return errBroken
			},
			func(tx *sql.Tx) error { return errors.Join(note("panicked")(tx), panics()) },
			func(tx *sql.Tx) error { return errors.Join(note("ended")(tx), ends()) },
			note("first"), // stands already
			func(tx *sql.Tx) error {
				inside, outside := sees(tx)
				assert.Equal(t, 1, inside, "what others wrote, and not what was undone")
				assert.Equal(t, 0, outside, "nothing is committed yet")
				return note("last")(tx)
			})
		assert.NoError(t, errs[0])
		assert.Same(t, errBroken, errs[1], "as it is")
		assert.Equal(t, errUnended, errs[2])
		assert.Equal(t, errUnended, errs[3])
		assert.ErrorContains(t, errs[4], "UNIQUE constraint failed")
		assert.NoError(t, errs[5])
		assert.Equal(t, []string{"first", "last"}, texts(t, f))
		assert.Equal(t, map[string]int{"write 0": 1, "write 5": 1}, told, "told once of each that was committed")
		require.NoError(t, f.Close())
	})
}

func panics() error { panic("a fault") }

func ends() error {
	runtime.Goexit()
	return nil
}

func TestOneWhoLeadsAndFailsTakesNobodyAlong(t *testing.T) {
	for name, fails := range map[string]func(*sql.Tx) error{
		"error": func(tx *sql.Tx) error { return errors.Join(note("failed")(tx), errBroken) },
		"panic": func(tx *sql.Tx) error { return errors.Join(note("failed")(tx), panics()) },
		"end":   func(tx *sql.Tx) error { return errors.Join(note("failed")(tx), ends()) },
		"rolled back by SQLite": func(tx *sql.Tx) error {
			require.NoError(t, note("failed")(tx))
			_, err := tx.Exec("INSERT OR ROLLBACK INTO notes (text) VALUES ('failed')")
			return err
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				f := openKeyed(t, filepath.Join(t.TempDir(), "notes.db"), nil)
				errs := grouped(t, f, fails, note("a"), note("b"))
				assert.Error(t, errs[0])
				assert.Equal(t, []error{nil, nil}, errs[1:])
				assert.Equal(t, []string{"a", "b"}, texts(t, f))
				require.NoError(t, f.Close())
			})
		})
	}
}

func TestACommitThatFailsFailsForAll(t *testing.T) {
	orphan := func(tx *sql.Tx) error {
		_, err := tx.Exec("INSERT INTO notes (text, parent) VALUES ('orphan', 'nobody')")
		return err
	}
	for _, tc := range []struct {
		name   string
		writes []func(*sql.Tx) error
	}{
		{"because of the leader", []func(*sql.Tx) error{orphan, note("first"), note("last")}},
		{"because of a follower", []func(*sql.Tx) error{note("first"), orphan, note("last")}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				f := openKeyed(t, filepath.Join(t.TempDir(), "notes.db"), func(string, string) { t.Error("nothing is committed") })
				for i, err := range grouped(t, f, tc.writes...) {
					assert.ErrorContains(t, err, fmt.Sprintf("write %d: commit: constraint failed: FOREIGN KEY", i))
				}
				assert.Empty(t, texts(t, f))
				f.committed = nil
				require.NoError(t, f.Update(t.Context(), "next", note("next")), "the file is as good as before")
				assert.Equal(t, []string{"next"}, texts(t, f))
				require.NoError(t, f.Close())
			})
		})
	}
}

func TestThoseAfterARollbackBySQLiteAreTheNextGroup(t *testing.T) {
	undone := func(tx *sql.Tx) error {
		require.NoError(t, note("undone")(tx))
		_, _ = tx.Exec("INSERT OR ROLLBACK INTO notes (text) VALUES ('undone')") // an error that is taken for none
		return nil
	}
	for _, tc := range []struct {
		name   string
		writes []func(*sql.Tx) error
		fail   int // as many, the first ones
	}{
		{"a leader's", []func(*sql.Tx) error{undone, note("a"), note("b")}, 1},
		{"a follower's", []func(*sql.Tx) error{note("first"), note("second"), undone, note("a"), note("b")}, 3},
	} {
		t.Run(tc.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				f := openKeyed(t, filepath.Join(t.TempDir(), "notes.db"), nil)
				for i, err := range grouped(t, f, tc.writes...) {
					if i < tc.fail {
						assert.ErrorIs(t, err, errUndone, i)
					} else {
						assert.NoError(t, err, i)
					}
				}
				assert.Equal(t, []string{"a", "b"}, texts(t, f))
				require.NoError(t, f.Close())
			})
		})
	}
}

func TestAGroupIsBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := openKeyed(t, filepath.Join(t.TempDir(), "notes.db"), nil)
		var first atomic.Int64
		var writes []func(*sql.Tx) error
		for i := range 2*maxGroup + 1 {
			writes = append(writes, func(tx *sql.Tx) error {
				if len(texts(t, f)) == 0 {
					first.Add(1)
				}
				return note(fmt.Sprint(i))(tx)
			})
		}
		for _, err := range grouped(t, f, writes...) {
			assert.NoError(t, err)
		}
		assert.EqualValues(t, maxGroup, first.Load(), "those who saw nothing committed")
		assert.Len(t, texts(t, f), len(writes))
		require.NoError(t, f.Close())
	})
}

func TestAWriteWhoseContextEndsBeforeItsTurnIsNotRun(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := openKeyed(t, filepath.Join(t.TempDir(), "notes.db"), nil)
		ctx, cancel := context.WithCancel(t.Context())
		begun, free := make(chan struct{}), make(chan struct{})
		led, followed := make(chan error), make(chan error)
		go func() {
			led <- f.Update(t.Context(), "lead", func(tx *sql.Tx) error {
				close(begun)
				<-free
				return note("first")(tx)
			})
		}()
		<-begun
		never := func(*sql.Tx) error { t.Error("it is run"); return nil }
		go func() { followed <- f.Update(ctx, "follow", never) }()
		synctest.Wait()
		cancel()
		assert.EqualError(t, <-followed, "follow: begin: context canceled")
		close(free)
		assert.NoError(t, <-led)
		assert.EqualError(t, f.Update(ctx, "late", never), "late: begin: context canceled")
		require.NoError(t, f.Close())
	})
}

// TestAContextThatEndsDuringAStatementUndoesNothingOfOthers ends the context of
// a follower while its statement runs: SQLite, made to interrupt it, would roll
// back the leader's row too.
func TestAContextThatEndsDuringAStatementUndoesNothingOfOthers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := openKeyed(t, filepath.Join(t.TempDir(), "notes.db"), nil)
		ctx, cancel := context.WithCancel(t.Context())
		runs := make(chan struct{})
		go func() {
			<-runs
			for range 20 { // the statement has begun, and is far from its end
				texts(t, f)
			}
			cancel()
		}()
		errs := grouped(t, f, note("first"), func(tx *sql.Tx) error {
			close(runs)
			_, err := tx.ExecContext(ctx, `INSERT INTO notes (text)
				WITH RECURSIVE numbers (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM numbers LIMIT 100000) SELECT n FROM numbers`)
			assert.Error(t, ctx.Err(), "it ended meanwhile")
			return err
		})
		assert.Equal(t, []error{nil, nil}, errs, "and the statement is finished")
		assert.Len(t, texts(t, f), 100001)
		require.NoError(t, f.Close())
	})
}

func TestCloseWaitsForTheWriteThatHasBegunAndRefusesOthers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		path := filepath.Join(t.TempDir(), "notes.db")
		f := openKeyed(t, path, nil)
		begun, free := make(chan struct{}), make(chan struct{})
		led, waited, closed := make(chan error), make(chan error), make(chan error)
		go func() {
			led <- f.Update(t.Context(), "lead", func(tx *sql.Tx) error {
				close(begun)
				<-free
				return note("first")(tx)
			})
		}()
		<-begun
		go func() { waited <- f.Update(t.Context(), "wait", note("second")) }()
		synctest.Wait()
		go func() { closed <- f.Close() }()
		assert.EqualError(t, <-waited, "wait: begin: the file is closed")
		close(free)
		assert.NoError(t, <-led)
		require.NoError(t, <-closed)
		assert.EqualError(t, f.Update(t.Context(), "late", note("third")), "late: begin: the file is closed")
		require.NoError(t, f.Close(), "twice is once")
		f = openKeyed(t, path, nil)
		assert.Equal(t, []string{"first"}, texts(t, f))
		require.NoError(t, f.Close())
	})
}

func TestStatementsBeyondThoseThatAreKeptRunToo(t *testing.T) {
	f := openKeyed(t, filepath.Join(t.TempDir(), "notes.db"), nil)
	const more = maxPrepared + 50
	for _, time := range []string{"first", "second"} { // when some are known
		require.NoError(t, f.Update(t.Context(), "notes", func(tx *sql.Tx) error {
			for n := range more {
				if _, err := tx.Exec(fmt.Sprintf("INSERT INTO notes (text) VALUES (? || '-%d')", n), time); err != nil {
					return err
				}
			}
			return nil
		}))
	}
	assert.Len(t, texts(t, f), 2*more)
	require.NoError(t, f.Update(t.Context(), "schema", func(tx *sql.Tx) error {
		_, err := tx.Exec("ALTER TABLE notes ADD COLUMN more TEXT")
		return err
	}))
	require.NoError(t, f.Update(t.Context(), "known", func(tx *sql.Tx) error {
		_, err := tx.Exec("INSERT INTO notes (text) VALUES (? || '-0')", "after")
		return err
	}))
	assert.Contains(t, texts(t, f), "after-0")
	require.NoError(t, f.Close())
}

// TestEveryWriteStandsByItsAnswer lets goroutines write at the same time, some
// of them in vain: what was answered with success is there once after the file
// was opened anew, and nothing else is.
func TestEveryWriteStandsByItsAnswer(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		path := filepath.Join(t.TempDir(), "notes.db")
		var told atomic.Int64
		f := openKeyed(t, path, func(string, string) { told.Add(1) })
		plans := rapid.SliceOfN(rapid.SliceOfN(rapid.SampledFrom(fates), 1, 8), 1, 24).Draw(rt, "fates of the writes of each goroutine")
		stands := make([][]string, len(plans))
		var all sync.WaitGroup
		for who, plan := range plans {
			all.Go(func() {
				for n, fate := range plan {
					text := fmt.Sprintf("%02d-%02d", who, n)
					if fate.update(t.Context(), f, text) == nil {
						stands[who] = append(stands[who], text)
					} else if fate.name == "stands" {
						rt.Errorf("%s is refused", text)
					}
				}
			})
		}
		all.Wait()
		require.NoError(rt, f.Close())
		f = openKeyed(t, path, nil)
		answered := slices.Concat(stands...)
		if answered == nil {
			answered = []string{}
		}
		assert.Equal(rt, answered, texts(t, f))
		assert.EqualValues(rt, len(answered), told.Load(), "told of")
		require.NoError(rt, f.Close())
	})
}

// fate is what becomes of a write.
type fate struct {
	name   string
	update func(ctx context.Context, f *File, text string) error
}

// String is how a failing property names it.
func (f fate) String() string { return f.name }

// fates are what may become of a write that others write beside.
var fates = []fate{
	{"stands", func(ctx context.Context, f *File, text string) error { return f.Update(ctx, "note", note(text)) }},
	{"fails", func(ctx context.Context, f *File, text string) error {
		return f.Update(ctx, "note", func(tx *sql.Tx) error { return errors.Join(note(text)(tx), errBroken) })
	}},
	{"is refused by the schema", func(ctx context.Context, f *File, text string) error {
		return f.Update(ctx, "note", func(tx *sql.Tx) error { return errors.Join(note(text)(tx), note(text)(tx)) })
	}},
	{"panics", func(ctx context.Context, f *File, text string) (err error) {
		defer func() { err = fmt.Errorf("%v", recover()) }()
		return f.Update(ctx, "note", func(tx *sql.Tx) error { return errors.Join(note(text)(tx), panics()) })
	}},
	{"is cut off at some time", func(ctx context.Context, f *File, text string) error {
		ctx, cancel := context.WithCancel(ctx)
		go cancel()
		return f.Update(ctx, "note", func(tx *sql.Tx) error {
			_, err := tx.ExecContext(ctx, "INSERT INTO notes (text) VALUES (?)", text)
			return err
		})
	}},
}
