package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"os/exec"
	"path"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

const module = "platform.dev/platform/"

// rule says which of our packages a room may import. A pattern ending in /...
// means the package and everything below it.
type rule struct {
	room string   // package or pattern; the first that matches applies
	may  []string // our packages it may import; "*" is everything but server and cmd
}

// rules are the Rooms of the design, one line each.
var rules = []rule{
	{"bots/markup", nil},
	{"flowclient/window", nil},
	{"flowclient", []string{"flowclient/window"}},
	{"flowclient/wire", []string{"flowclient"}},
	{"flowclient/store/sqlite", nil},
	{"flowclient/gitea/gitcmd", nil},
	{"flowclient/gitea", []string{"flowclient", "flowclient/gitea/gitcmd"}},
	{"flowclient/outgoing", nil},
	{"flowclient/flowtest", []string{"flowclient", "flowclient/window"}},
	{"flowclient/...", []string{"flowclient", "flowclient/outgoing", "flowclient/wire", "flowclient/store/sqlite"}},
	{"commands", []string{"bots/markup"}},
	{"commands/commandstest", []string{"bots/markup", "commands", "commands/exec", "fixtures/goldenfile"}},
	{"commands/exec", []string{"bots/markup", "commands"}},
	{"commands/all", []string{"bots/markup", "commands", "commands/platform", "commands/walkthrough", "flowclient"}},
	{"commands/...", []string{"bots/markup", "commands", "flowclient"}},
	{"bots", []string{"bots/markup", "commands"}},
	{"bots/...", []string{"bots", "bots/markup", "commands"}},
	{"announcer", []string{"flowclient", "bots/markup"}},
	{"fixtures", nil},
	{"fixtures/goldenfile", nil},
	{"server/web", nil},
	{"server", []string{"*", "server/..."}},
	{"server/...", []string{"flowclient", "flowclient/wire", "flowclient/store", "flowclient/store/sqlite", "flowclient/openchoreo", "flowclient/gitea", "flowclient/gitea/gitcmd", "server/web"}},
	{"cmd/...", []string{"*", "server/..."}},
}

// testsMay are packages that any room's tests may import besides: the shipped test kits and the templates.
var testsMay = []string{"flowclient/flowtest", "commands/commandstest", "bots/botstest", "fixtures", "fixtures/goldenfile"}

type listed struct {
	ImportPath                         string
	Imports, TestImports, XTestImports []string
}

func TestEachRoomImportsOnlyWhatTheDesignAllows(t *testing.T) {
	out, err := exec.CommandContext(t.Context(), "go", "list", "-json=ImportPath,Imports,TestImports,XTestImports", module+"...").Output()
	require.NoError(t, err)
	rooms := 0
	for dec := json.NewDecoder(bytes.NewReader(out)); ; rooms++ {
		var p listed
		if err := dec.Decode(&p); errors.Is(err, io.EOF) {
			break
		} else {
			require.NoError(t, err)
		}
		room := strings.TrimPrefix(p.ImportPath, module)
		i := slices.IndexFunc(rules, func(r rule) bool { return matches(r.room, room) })
		if !within(t, room, i) {
			continue
		}
		check(t, room, p.Imports, rules[i].may)
		check(t, room+" (tests)", append(p.TestImports, p.XTestImports...), append(append([]string{room}, testsMay...), rules[i].may...))
	}
	require.Greater(t, rooms, 25, "every room was looked at")
}

func within(t *testing.T, room string, i int) bool {
	if i < 0 {
		t.Errorf("%s is in no room of the design", room)
	}
	return i >= 0
}

func check(t *testing.T, room string, imports, may []string) {
	for _, imp := range imports {
		ours, ok := strings.CutPrefix(imp, module)
		if !ok {
			continue
		}
		if !slices.ContainsFunc(may, func(pattern string) bool { return matches(pattern, ours) }) {
			t.Errorf("%s imports %s", room, ours)
		}
	}
}

func matches(pattern, name string) bool {
	if pattern == "*" {
		return !strings.HasPrefix(name, "cmd/")
	}
	if tree, ok := strings.CutSuffix(pattern, "/..."); ok {
		return name == tree || strings.HasPrefix(name, tree+"/")
	}
	return path.Clean(pattern) == name
}
