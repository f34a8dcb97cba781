package exec_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"platform.dev/platform/commands"
	"platform.dev/platform/commands/exec"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// described is a good description, changed: a nil takes a field away.
func described(t testing.TB, change map[string]any) string {
	t.Helper()
	d := map[string]any{
		"version": 1, "bot": "platform", "verb": "report", "summary": "write a report", "examples": []string{"report shop"}, "effect": "read",
		"args": []any{
			map[string]any{"name": "project", "help": "The project.", "required": true},
			map[string]any{"name": "days", "help": "How many days back.", "kind": "int", "flag": true, "default": "7"},
			map[string]any{"name": "form", "help": "How long it is.", "kind": "enum", "values": []string{"short", "long"}, "flag": true},
			map[string]any{"name": "loud", "help": "Say it to everybody.", "kind": "bool"},
		},
	}
	maps.Copy(d, change)
	maps.DeleteFunc(d, func(_ string, v any) bool { return v == nil })
	text, err := json.Marshal(d)
	require.NoError(t, err)
	return string(text)
}

// program is a shell program with a description, changed, and a body.
func program(t testing.TB, body string, change map[string]any) string {
	t.Helper()
	return fmt.Sprintf("#!/bin/sh\nif [ \"$1\" = --describe ]; then cat <<'END'\n%s\nEND\nexit; fi\n%s\n", described(t, change), body)
}

// answer is a line that answers with a title.
func answer(title string) string {
	return `printf '%s\n' '{"message":{"status":"done","title":[{"kind":"text","text":"` + title + `"}]}}'`
}

// sending is the description of a write.
var sending = map[string]any{"effect": "write", "action": "report:send"}

// with are both changes.
func with(a, b map[string]any) map[string]any {
	all := maps.Clone(a)
	maps.Copy(all, b)
	return all
}

// beside are commands that a bot has of its own.
func beside(t testing.TB) []commands.Command {
	t.Helper()
	d := func(verb string, effect commands.Effect, action string) commands.Command {
		return commands.Command{Bot: "platform", Verb: verb, Summary: verb, Examples: []string{verb}, Effect: effect, Action: action}
	}
	return []commands.Command{d("status", commands.Read, ""), d("promote", commands.Write, "component:promote")}
}

// gate is a pipe that programs hold open: it tells when the last of them is gone.
type gate struct {
	path string
	file *os.File
}

// newGate makes a gate; a program takes hold of it with "exec 9>" and its path.
func newGate(t *testing.T) *gate {
	t.Helper()
	path := filepath.Join(t.TempDir(), "gate")
	require.NoError(t, syscall.Mkfifo(path, 0o600))
	f, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK, 0) // so that nobody who takes hold waits for us
	require.NoError(t, err)
	t.Cleanup(func() { _ = f.Close() })
	return &gate{path: path, file: f}
}

// gone returns once nobody holds the gate; whoever took hold said so by a word.
func (g *gate) gone(t *testing.T) {
	t.Helper()
	word := make([]byte, 16)
	held := false
	for {
		n, err := g.file.Read(word)
		held = held || n > 0
		if err != nil || n == 0 {
			break
		}
	}
	require.True(t, held, "nobody ever held the gate")
}

// lines are the lines of a file; none when it is not there.
func lines(t *testing.T, path string) []string {
	t.Helper()
	text, err := os.ReadFile(path)
	if os.IsNotExist(err) {
		return nil
	}
	require.NoError(t, err)
	return strings.Fields(string(text))
}

// quick is a configuration for tests in which programs are made to end.
func quick(cfg *exec.Config) { cfg.Grace = 200_000_000 }
