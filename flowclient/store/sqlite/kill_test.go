package sqlite

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
)

// childEnv carries the path of the file that a re-executed test binary writes to.
const childEnv = "PLATFORM_TEST_SQLITE_CHILD"

func TestMain(m *testing.M) {
	if path := os.Getenv(childEnv); path != "" {
		fmt.Fprintln(os.Stderr, writeUntilKilled(path))
		os.Exit(1)
	}
	goleak.VerifyTestMain(m)
}

// writers is how many write at the same time.
const writers = 16

// writeUntilKilled writes notes at the same time, and prints each on a line of
// its own after Update has returned.
func writeUntilKilled(path string) error {
	f, err := Open(context.Background(), "notes", path, keyed(), nil)
	if err != nil {
		return err
	}
	errs := make(chan error)
	for who := range writers {
		go func() {
			for n := 0; ; n++ {
				text := fmt.Sprintf("%02d-%06d", who, n)
				if err := f.Update(context.Background(), "note", note(text)); err != nil {
					errs <- err
					return
				}
				if _, err := os.Stdout.WriteString(text + "\n"); err != nil {
					errs <- err
					return
				}
			}
		}()
	}
	return errors.Join(<-errs, f.Close())
}

func TestAKillAmongGroupsLosesNothingThatWasAnswered(t *testing.T) {
	self, err := os.Executable()
	require.NoError(t, err)
	path := filepath.Join(t.TempDir(), "notes.db")
	cmd := exec.CommandContext(t.Context(), self)
	cmd.Env = []string{childEnv + "=" + path}
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())

	var answered []string
	lines := bufio.NewReader(out)
	for {
		line, err := lines.ReadString('\n')
		if errors.Is(err, io.EOF) {
			break
		}
		require.NoError(t, err)
		answered = append(answered, strings.TrimSuffix(line, "\n"))
		if len(answered) == 500 {
			require.NoError(t, cmd.Process.Kill())
		}
	}
	require.ErrorContains(t, cmd.Wait(), "killed")

	f := openKeyed(t, path, nil)
	there := texts(t, f)
	assert.Subset(t, there, answered)
	assert.LessOrEqual(t, len(there), len(answered)+writers, "each writer has one write that was not answered")
	next := map[string]int{}
	for _, text := range there {
		who, n, _ := strings.Cut(text, "-")
		assert.Equal(t, fmt.Sprintf("%06d", next[who]), n, "the notes of a writer have no gap")
		next[who]++
	}
	var integrity string
	require.NoError(t, f.Reader().QueryRowContext(t.Context(), "PRAGMA integrity_check").Scan(&integrity))
	assert.Equal(t, "ok", integrity)
	require.NoError(t, f.Close())
}
