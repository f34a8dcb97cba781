package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"platform.dev/platform/fixtures/goldenfile"
)

// between is the text of a file between two marks.
func between(t *testing.T, path, begin, end string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("..", "..", path))
	require.NoError(t, err)
	_, rest, ok := strings.Cut(string(text), begin)
	require.True(t, ok, "%s has no %q", path, begin)
	inside, _, ok := strings.Cut(rest, end)
	require.True(t, ok, "%s has no %q", path, end)
	return strings.TrimSpace(inside)
}

func TestTheREADMEShowsTheCommandThatIsTested(t *testing.T) {
	code := between(t, "commands/hello_test.go", "// README begin", "// README end")
	shown := between(t, "README.md", "<!-- hello begin -->", "<!-- hello end -->")
	want := "```go\n" + code + "\n```"
	if goldenfile.Update() {
		replace(t, "README.md", "<!-- hello begin -->", "<!-- hello end -->", want)
		return
	}
	assert.Equal(t, want, shown, "run this test with -update")
}

func TestTheREADMENamesEveryRoom(t *testing.T) {
	out, err := exec.CommandContext(t.Context(), "go", "list", module+"...").Output()
	require.NoError(t, err)
	table := between(t, "README.md", "## Rooms", "Who may import whom")
	for _, p := range strings.Fields(string(out)) {
		room := strings.TrimPrefix(p, module)
		named := strings.Contains(table, "`"+room+"`") || strings.Contains(table, "`"+room+"/`")
		for parent := filepath.Dir(room); !named && parent != "."; parent = filepath.Dir(parent) {
			// A package below a room that is no room of its own is the parent's business.
			named = strings.Count(room, "/") > 1 && strings.Contains(table, "`"+parent+"`")
		}
		switch room {
		case "commands/platform", "commands/walkthrough", "commands/all":
			named = strings.Contains(table, "`"+filepath.Base(room)+"`")
		}
		assert.True(t, named, "the Rooms table does not name %s", room)
	}
}

// replace writes text between two marks of a file.
func replace(t *testing.T, path, begin, end, text string) {
	t.Helper()
	path = filepath.Join("..", "..", path)
	whole, err := os.ReadFile(path)
	require.NoError(t, err)
	head, rest, _ := strings.Cut(string(whole), begin)
	_, tail, _ := strings.Cut(rest, end)
	require.NoError(t, os.WriteFile(path, []byte(head+begin+"\n"+text+"\n"+end+tail), 0o644))
}
