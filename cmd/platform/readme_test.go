package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/alecthomas/kong"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"platform.dev/platform/commands/all"
	"platform.dev/platform/fixtures/goldenfile"
	"platform.dev/platform/flowclient"
	"platform.dev/platform/flowclient/window"
	"platform.dev/platform/server"
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

// TestTheREADMETellsWhatCanBeAsked keeps the README's table of commands what
// they say of themselves, with the groups that the policy lets ask for each.
func TestTheREADMETellsWhatCanBeAsked(t *testing.T) {
	registry, err := all.New(all.Deps{Flow: struct{ flowclient.Flow }{}, Now: time.Now, Fetch: func(context.Context, string) (int, []byte, error) { return 0, nil, nil }})
	require.NoError(t, err)
	line, err := kong.New(&cli{}, kong.Name("platform"))
	require.NoError(t, err)
	typed := map[string]bool{}
	for _, c := range line.Model.Children {
		typed[c.Name] = true
	}
	policy := server.Grants()
	rows := []string{"| ask | what it does | who may | `platform` |", "|---|---|---|---|"}
	for _, bot := range registry.Bots() {
		for _, c := range registry.Commands(bot) {
			who, also := "everybody known", ""
			if c.Action != "" {
				who = strings.Join(policy.Holders(c.Action), ", ")
			}
			if bot == "platform" && typed[c.Verb] {
				also = "`" + c.Verb + "`"
			}
			usage := strings.ReplaceAll("`@"+bot+" "+c.Usage()+"`", "|", `\|`)
			rows = append(rows, fmt.Sprintf("| %s | %s | %s | %s |", usage, c.Summary, who, also))
		}
	}
	want := strings.Join(rows, "\n")
	if goldenfile.Update() {
		replace(t, "README.md", "<!-- commands begin -->", "<!-- commands end -->", want)
		return
	}
	assert.Equal(t, want, between(t, "README.md", "<!-- commands begin -->", "<!-- commands end -->"), "run this test with -update")
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

// The example is a project's manifest as a repository may hold it: every annotation of it is one that is read.
func TestTheREADMENamesTheAnnotationsOfPromotion(t *testing.T) {
	shown := between(t, "README.md", "## Promotion", "## Capacity")
	for _, name := range []string{flowclient.AnnotationPromotion, flowclient.AnnotationSoak, flowclient.AnnotationPromotionCheck, flowclient.AnnotationProductionWindow} {
		assert.Contains(t, shown, "    "+name+": ")
	}
	_, text, _ := strings.Cut(shown, flowclient.AnnotationProductionWindow+": ")
	text, _, _ = strings.Cut(text, " #")
	_, err := window.Parse(strings.TrimSpace(text))
	assert.NoError(t, err)
}
