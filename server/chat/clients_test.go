package chat_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// saw is what a program that uses one of Zulip's own clients prints.
type saw struct {
	Events    []string `json:"events"` // of a queue that it asked itself, up to a moment
	Heard     []string `json:"heard"`  // what the client's own loop heard, from beginning to end
	Content   string   `json:"content"`
	Reactions []string `json:"reactions"`
	Direct    []string `json:"direct"`
	Topics    []string `json:"topics"`
}

// common is what every client sees.
func common(topics ...string) saw {
	return saw{
		Events:  []string{"message", "message", "update_message", "reaction"},
		Heard:   []string{"message", "message", "update_message", "reaction add", "reaction remove", "delete_message"},
		Content: "<p>hello <em>again</em></p>", Reactions: []string{"octopus"}, Direct: []string{"a *note* to myself"}, Topics: topics,
	}
}

// program runs a program against a new server, with credentials in a file as Zulip's clients read them.
func program(t *testing.T, environment string, argv ...string) saw {
	t.Helper()
	w, address := serveAt(t, filepath.Join(t.TempDir(), "chat.db"), "127.0.0.1:0")
	ann := w.person("Ann")
	rc := filepath.Join(t.TempDir(), "zuliprc")
	require.NoError(t, os.WriteFile(rc, fmt.Appendf(nil, "[api]\nemail=%s\nkey=%s\nsite=http://%s\n", ann.Email, ann.APIKey, address), 0o600))
	ctx, stop := context.WithTimeout(t.Context(), time.Minute)
	defer stop()
	cmd := exec.CommandContext(ctx, argv[0], argv[1:]...)
	cmd.Env = append(os.Environ(), "ZULIPRC="+rc, "PYTHONDONTWRITEBYTECODE=1", environment)
	var out, problem bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &problem
	require.NoError(t, cmd.Run(), "%s", problem.String())
	var seen saw
	require.NoError(t, json.Unmarshal(out.Bytes(), &seen), "%s", out.String())
	return seen
}

func TestZulipsJavaScriptClient(t *testing.T) {
	if os.Getenv("PLATFORM_TEST_ZULIP_JS") == "" {
		t.Skip("PLATFORM_TEST_ZULIP_JS names no directory into which npm has installed zulip-js")
	}
	got := program(t, "", "node", filepath.Join("testdata", "client.js"))
	assert.Equal(t, common("greetings"), got)
}

func TestZulipsPythonClient(t *testing.T) {
	dir := os.Getenv("PLATFORM_TEST_ZULIP_PYTHON")
	if dir == "" {
		t.Skip("PLATFORM_TEST_ZULIP_PYTHON names no directory of modules with zulip in it (pip install --target), nor a checkout of python-zulip-api")
	}
	path := modules(t, dir)
	if more := os.Getenv("PYTHONPATH"); more != "" {
		path += string(os.PathListSeparator) + more
	}
	got := program(t, "PYTHONPATH="+path, "python3", filepath.Join("testdata", "client.py"))
	want := common("greetings", "farewells")
	want.Heard = []string{"message", "message", "update_message", "reaction add", "reaction remove", "update_message", "delete_message"}
	assert.Equal(t, want, got)
}

// modules is the directory that python finds the package zulip in: dir itself
// where modules were installed there, or the one that a checkout has it in.
func modules(t *testing.T, dir string) string {
	t.Helper()
	for _, at := range []string{dir, filepath.Join(dir, "zulip")} {
		if _, err := os.Stat(filepath.Join(at, "zulip", "__init__.py")); err == nil {
			return at
		}
	}
	require.FailNow(t, "PLATFORM_TEST_ZULIP_PYTHON: neither "+dir+" nor a checkout in it has the package zulip")
	return ""
}
