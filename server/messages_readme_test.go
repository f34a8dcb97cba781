package server

import (
	"fmt"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/slack-go/slack"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"platform.dev/platform/bots/markup"
	"platform.dev/platform/commands/commandstest"
	"platform.dev/platform/fixtures/goldenfile"
)

// TestTheCatalogueOfAllMessagesIsWhatIsSaid compares the README beside the
// golden messages with one written anew: it holds a section for each kind of
// message, with what it is for and how each chat shows it.
func TestTheCatalogueOfAllMessagesIsWhatIsSaid(t *testing.T) {
	var b strings.Builder
	b.WriteString("# What the bots and the announcer say\n\n" +
		"Every kind of message, with what it is for and how each chat shows its sample: Zulip's Markdown, Slack's fallback text\n" +
		"and blocks, a terminal of 80 columns, and plain text where that differs. `make golden` writes this file.\n")
	known := map[string]bool{}
	for _, s := range speakers {
		samples := s.samples()
		slices.SortFunc(samples, func(a, b markup.Message) int { return strings.Compare(a.Kind, b.Kind) })
		fmt.Fprintf(&b, "\n## %s\n", s.dir)
		for _, m := range samples {
			known[m.Kind] = true
			assert.NotEmpty(t, purposes[m.Kind], "%s has no line in purposes (messages_purpose_test.go): when is it said, and to whom?", m.Kind)
			catalogued(&b, m)
		}
	}
	for kind := range purposes {
		assert.True(t, known[kind], "purposes has a line for %s, which nobody says", kind)
	}
	goldenfile.Compare(t, filepath.Join("..", "fixtures", "golden", "messages", "README.md"), b.String())
}

// catalogued writes the section of one kind.
func catalogued(b *strings.Builder, m markup.Message) {
	fmt.Fprintf(b, "\n### %s\n\n%s\n", m.Kind, purposes[m.Kind])
	shown := func(chat, text string) {
		fence := "````"
		for strings.Contains(text, fence) {
			fence += "`"
		}
		fmt.Fprintf(b, "\n%s:\n\n%stext\n%s\n%s\n", chat, fence, strings.TrimRight(text, "\n"), fence)
	}
	shown("Zulip", strings.Join(markup.Zulip(m), "\n<<< next message >>>\n"))
	for _, sm := range markup.Slack(m) {
		shown("Slack", sm.Text+"\n--- blocks\n"+outline(sm.Blocks, ""))
	}
	terminal, plain := markup.Terminal(m, commandstest.Width, false), markup.Plain(m)
	shown("Terminal", terminal)
	if plain != terminal {
		shown("Plain", plain)
	}
}

// outline lists blocks of Slack, each with what it says.
func outline(blocks []slack.Block, margin string) string {
	var b strings.Builder
	say := func(what, text string) {
		lines := strings.Split(text, "\n")
		fmt.Fprintf(&b, "%s%-12s %s\n", margin, what, strings.Join(lines, "\n"+margin+strings.Repeat(" ", 13)))
	}
	for _, block := range blocks {
		words := markup.SlackWords([]slack.Block{block})
		switch block := block.(type) {
		case *slack.ContainerBlock:
			say("container", block.Title.Text+" (folded)")
			b.WriteString(outline(block.ChildBlocks.BlockSet, margin+"  "))
		case *slack.TableBlock:
			var rows []string
			cells := strings.Split(words, "\n")
			for i := range block.Rows {
				rows = append(rows, strings.Join(cells[i*len(block.Rows[0]):(i+1)*len(block.Rows[0])], " | "))
			}
			say("table", strings.Join(rows, "\n"))
		case *slack.SectionBlock:
			if len(block.Fields) > 0 {
				var fields []string
				for _, f := range block.Fields {
					fields = append(fields, strings.ReplaceAll(f.Text, "\n", " "))
				}
				say("fields", strings.Join(fields, "\n"))
				continue
			}
			say("section", words)
		default:
			say(string(block.BlockType()), words)
		}
	}
	return b.String()
}

// dotted is how a message's kind is written.
var dotted = regexp.MustCompile(`^[a-z]+(?:\.[a-z-]+)+$`)

// TestNobodyElseMakesMessages looks through the sources for packages that make
// messages and have no catalogue: what they say would be in no golden file.
func TestNobodyElseMakesMessages(t *testing.T) {
	may := map[string]bool{
		"bots/markup": true, // the document
		// The kits record what somebody else says.
		"bots/botstest": true, "commands/commandstest": true,
	}
	for _, s := range speakers {
		may[s.dir] = true
	}
	looked := 0
	err := filepath.WalkDir("..", func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
			return err
		}
		looked++
		file, err := parser.ParseFile(token.NewFileSet(), path, nil, 0)
		if err != nil {
			return err
		}
		dir, err := filepath.Rel("..", filepath.Dir(path))
		if err != nil {
			return err
		}
		if makesMessages(file) && !may[filepath.ToSlash(dir)] {
			t.Errorf("%s makes a message, and %s has no catalogue among the speakers", path, dir)
		}
		return nil
	})
	require.NoError(t, err)
	assert.Greater(t, looked, 300)
}
