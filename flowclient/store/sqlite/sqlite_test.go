package sqlite

import (
	"database/sql"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"testing"
	"testing/fstest"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// notes is a schema of one table.
func notes() fs.FS {
	return fstest.MapFS{"00001_notes.sql": {Data: []byte("-- +goose Up\nCREATE TABLE notes (text TEXT NOT NULL);\n")}}
}

func add(text string) func(*sql.Tx) error {
	return func(tx *sql.Tx) error {
		_, err := tx.Exec("INSERT INTO notes VALUES (?)", text)
		return err
	}
}

func count(t *testing.T, f *File) (n int) {
	t.Helper()
	require.NoError(t, f.Reader().QueryRowContext(t.Context(), "SELECT count(*) FROM notes").Scan(&n))
	return n
}

func TestAFileKeepsWhatWasCommittedAndNothingElse(t *testing.T) {
	// The name holds what would end a path in a data source name.
	path := filepath.Join(t.TempDir(), "a #?%.db")
	var told []string
	f, err := Open(t.Context(), "notes", path, notes(), func(file, op string) { told = append(told, file+" "+op) })
	require.NoError(t, err)
	require.NoError(t, f.Update(t.Context(), "add", add("one")))
	broken := errors.New("broken")
	err = f.Update(t.Context(), "add", func(tx *sql.Tx) error { return errors.Join(add("two")(tx), broken) })
	require.ErrorIs(t, err, broken)
	assert.Equal(t, 1, count(t, f))
	assert.Equal(t, []string{"notes add"}, told, "told of commits alone")
	require.NoError(t, f.Close())

	f, err = Open(t.Context(), "notes", path, notes(), nil)
	require.NoError(t, err)
	assert.Equal(t, 1, count(t, f), "after opening it again")
	require.NoError(t, f.Close())
}

func TestTheFilesAreTheOwnersAlone(t *testing.T) {
	dir := t.TempDir()
	f, err := Open(t.Context(), "notes", filepath.Join(dir, "notes.db"), notes(), nil)
	require.NoError(t, err)
	require.NoError(t, f.Update(t.Context(), "add", add("one")))
	entries, err := os.ReadDir(dir)
	require.NoError(t, err)
	require.GreaterOrEqual(t, len(entries), 2, "the log stands beside the file")
	for _, e := range entries {
		info, err := e.Info()
		require.NoError(t, err)
		assert.Equal(t, fs.FileMode(0o600), info.Mode().Perm(), e.Name())
	}
	require.NoError(t, f.Close())
}
