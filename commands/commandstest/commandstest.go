// Package commandstest is the golden kit for commands, anyone's: it runs a
// Command as a bot would, records what it answers, and compares each message
// in all four renderings (Zulip, Slack, terminal, plain) with golden files.
// Run the test with -update to rewrite them.
//
// It knows nothing of any particular command, bot or chat.
package commandstest

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"platform.dev/platform/bots/markup"
	"platform.dev/platform/fixtures/goldenfile"
)

// Update tells whether the test was run with -update.
func Update() bool { return goldenfile.Update() }

// Width is the terminal width of golden files, in columns.
const Width = 80

// between stands between the parts of a message that a chat takes in several.
const between = "\n<<< next message >>>\n"

// Renderings gives a message in each rendering, by the ending of its golden file.
func Renderings(m markup.Message) (map[string]string, error) {
	var slack bytes.Buffer
	enc := json.NewEncoder(&slack)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	if err := enc.Encode(markup.Slack(m)); err != nil {
		return nil, err
	}
	return map[string]string{
		"zulip.md":     strings.Join(markup.Zulip(m), between) + "\n",
		"slack.json":   slack.String(),
		"terminal.txt": markup.Terminal(m, Width, true) + "\n",
		"plain.txt":    markup.Plain(m) + "\n",
	}, nil
}

var fileName = regexp.MustCompile(`^[a-z0-9]+([.-][a-z0-9]+)*$`)

// Golden compares a message in every rendering with dir/name.{zulip.md,slack.json,terminal.txt,plain.txt}.
func Golden(t testing.TB, dir, name string, m markup.Message) {
	t.Helper()
	if !fileName.MatchString(name) {
		t.Fatalf("golden %q: a name is lower-case words joined by dots and dashes", name)
	}
	all, err := Renderings(m)
	if err != nil {
		t.Fatalf("render %s: %v", name, err)
	}
	for ending, got := range all {
		goldenfile.Compare(t, filepath.Join(dir, name+"."+ending), got)
	}
}

// Catalogue compares one sample of each message kind with its golden files in
// dir; the file's name is the message's Kind. A kind may stand in it once.
func Catalogue(t *testing.T, dir string, samples []markup.Message) {
	t.Helper()
	seen := map[string]bool{}
	for _, m := range samples {
		if seen[m.Kind] {
			t.Errorf("the message kind %q is in the catalogue twice", m.Kind)
		}
		seen[m.Kind] = true
		t.Run(m.Kind, func(t *testing.T) { Golden(t, dir, m.Kind, m) })
	}
}

// Complete checks that every golden file in dir has a producer among samples,
// which must be the catalogues of every package that writes to dir. With
// -update, files without one are removed.
func Complete(t testing.TB, dir string, samples []markup.Message) {
	t.Helper()
	known := map[string]bool{"README.md": true}
	for _, m := range samples {
		all, err := Renderings(m)
		if err != nil {
			t.Fatal(err)
		}
		for ending := range all {
			known[m.Kind+"."+ending] = true
		}
	}
	files, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range files {
		switch {
		case known[f.Name()]:
		case Update():
			if err := os.Remove(filepath.Join(dir, f.Name())); err != nil {
				t.Error(err)
			}
		default:
			t.Errorf("%s: no message makes this golden file", filepath.Join(dir, f.Name()))
		}
	}
}
