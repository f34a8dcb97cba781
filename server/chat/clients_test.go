package chat_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// saw is what a program that uses one of Zulip's own clients prints.
type saw struct {
	Events    []string `json:"events"`
	Content   string   `json:"content"`
	Reactions []string `json:"reactions"`
}

// program runs a program against a new server, with credentials in a file as Zulip's clients read them.
func program(t *testing.T, environment string, argv ...string) saw {
	t.Helper()
	w, address := serveAt(t, filepath.Join(t.TempDir(), "chat.db"), "127.0.0.1:0")
	ann := w.person("Ann")
	rc := filepath.Join(t.TempDir(), "zuliprc")
	require.NoError(t, os.WriteFile(rc, fmt.Appendf(nil, "[api]\nemail=%s\nkey=%s\nsite=http://%s\n", ann.Email, ann.APIKey, address), 0o600))
	cmd := exec.CommandContext(t.Context(), argv[0], argv[1:]...)
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
	assert.Equal(t, saw{Events: []string{"message", "update_message", "reaction"}, Content: "<p>hello <em>again</em></p>", Reactions: []string{"octopus"}}, got)
}

func TestZulipsPythonClient(t *testing.T) {
	dir := os.Getenv("PLATFORM_TEST_ZULIP_PYTHON")
	if dir == "" {
		t.Skip("PLATFORM_TEST_ZULIP_PYTHON names no checkout of python-zulip-api")
	}
	path := filepath.Join(dir, "zulip")
	if more := os.Getenv("PYTHONPATH"); more != "" {
		path += string(os.PathListSeparator) + more
	}
	got := program(t, "PYTHONPATH="+path, "python3", filepath.Join("testdata", "client.py"))
	assert.Equal(t, saw{Events: []string{"message", "message", "update_message", "reaction"}, Content: "<p>hello <em>again</em></p>", Reactions: []string{"octopus"}}, got)
}
