package commandstest

import (
	"context"
	"log/slog"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"platform.dev/platform/commands"
	"platform.dev/platform/commands/exec"
)

// External makes the command of a program, an executable platform-<verb>, as the
// product does: its description is read and checked, and Run runs the program
// itself. The test fails when the product would leave it out.
func External(t testing.TB, path string, change ...func(*exec.Config)) commands.Command {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return Program(t, filepath.Base(path), string(text), change...)
}

// Program is External for a program whose text the test has.
func Program(t testing.TB, name, text string, change ...func(*exec.Config)) commands.Command {
	t.Helper()
	cfg := exec.Config{Ledger: NewLedger(), Log: slog.New(slog.NewTextHandler(t.Output(), nil))}
	for _, f := range change {
		f(&cfg)
	}
	c, err := exec.Load(t.Context(), cfg, WriteProgram(t, t.TempDir(), name, text))
	if err != nil {
		t.Fatalf("%s is left out: %v", name, err)
	}
	return c
}

// WriteProgram writes a program into a directory of the test's own, which nobody
// else may write to from then on, and returns its path.
func WriteProgram(t testing.TB, dir, name, text string) string {
	t.Helper()
	path := filepath.Join(dir, name)
	if err := os.WriteFile(path, []byte(text), 0o700); err != nil {
		t.Fatal(err)
	}
	for _, mine := range []string{path, dir} {
		if err := os.Chmod(mine, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	return path
}

// Ledger is an exec.Ledger in memory.
type Ledger struct {
	mu   sync.Mutex
	runs map[string][]byte
}

var _ exec.Ledger = (*Ledger)(nil)

// NewLedger makes an empty ledger.
func NewLedger() *Ledger { return &Ledger{runs: map[string][]byte{}} }

// BeginProgram records that a run begins; it is fresh once per key.
func (l *Ledger) BeginProgram(_ context.Context, key string, _ time.Time) (answer []byte, fresh bool, err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	answer, known := l.runs[key]
	if !known {
		l.runs[key] = nil
	}
	return answer, !known, nil
}

// EndProgram keeps the first answer of a run.
func (l *Ledger) EndProgram(_ context.Context, key string, answer []byte, _ time.Time) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.runs[key] == nil {
		l.runs[key] = answer
	}
	return nil
}
