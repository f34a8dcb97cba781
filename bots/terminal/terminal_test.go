package terminal_test

import (
	"flag"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"unicode"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"platform.dev/platform/bots/markup"
	"platform.dev/platform/bots/terminal"
)

var update = flag.Bool("update", false, "rewrite the golden files")

func TestMarkdownAtATerminal(t *testing.T) {
	for _, c := range []struct{ name, content, want string }{
		{"words", "hello there", "hello there"},
		{"code and bold", "run `make test` **now**", "run make test now"},
		{"code with backticks", "a `` `b` `` c", "a `b` c"},
		{"backticks that nothing closes", "a `` b ` c", "a `` b ` c"},
		{"code is literal", "`**not bold** @**x**`", "**not bold** @**x**"},
		{"italic and struck", "*so* ~~not so~~", "so not so"},
		{"stars that are none", "2 * 3 * 4", "2 * 3 * 4"},
		{"a link", "see [the build](http://127.0.0.1:10081/runs/shop-1).", "see the build <http://127.0.0.1:10081/runs/shop-1>."},
		{"a link that shows its address", "[http://x/](http://x/)", "http://x/"},
		{"a bare address keeps its stars", "http://x/a*b*c_d", "http://x/a*b*c_d"},
		{"a mention", "@**Dev Developer** look", "@Dev Developer look"},
		{"a mention with an id", "@**Dev Developer|10** look", "@Dev Developer look"},
		{"a mention by id", "@**|10** look", "@user 10 look"},
		{"a silent mention", "@_**Dev Developer|10** said", "@Dev Developer said"},
		{"a group", "@*sres* look", "@sres look"},
		{"a channel and a topic", "#**shop>builds** and #**shop**", "#shop > builds and #shop"},
		{"a heading", "## What now", "What now"},
		{"lists", "* one\n- two\n  * three\n1. four", "• one\n• two\n  • three\n1. four"},
		{"a quotation", "> words", "│ words"},
		{"code of several lines", "```go\nfunc x() {\n\treturn\n}\n```\nafter", "    func x() {\n        return\n    }\nafter"},
		{"a fence that nothing closes", "```\na", "    a"},
		{"a longer fence", "````\n```\nx\n```\n````", "    ```\n    x\n    ```"},
		{"a spoiler", "```spoiler The *log*\nline\n\n```` \nx\n````\n```\nafter", "▾ The log\n  line\n\n      x\nafter"},
		{"a spoiler without a header", "```spoiler\nx\n```", "▾ Spoiler\n  x"},
		{"a spoiler's header with a backtick is none", "```spoiler `x`\ny", "```spoiler x\ny"},
		{"a quotation of several lines", "```quote\na\n```", "│ a"},
		{"a table", "| name | state |\n|---|:-:|\n| shop-web | **ready** |\n| a\\|b | `x` |", "name      state\n────────  ─────\nshop-web  ready\na|b       x"},
		{"a bar is no table", "a | b", "a | b"},
		{"empty lines are one", "\n\na\n\n\n\nb\n\n", "a\n\nb"},
		{"nothing", "", ""},
		{"an escape sequence is a picture of itself", "\x1b[31mred\x1b[0m \x1b]0;title\x07", "␛[31mred␛[0m ␛]0;title␇"},
		{"an eight-bit control sequence", "a\u009b31mb", "a\ufffd31mb"},
		{"a carriage return hides nothing", "good\rbad", "good␍bad"},
		{"text that would be reordered", "a\u202eb", "a\ufffdb"},
		{"bytes that are no text", "a\xffb", "a\ufffdb"},
		{"what takes no room", "@\u200b**all**", "@all"},
	} {
		t.Run(c.name, func(t *testing.T) { assert.Equal(t, c.want, terminal.Render(c.content, 0, false)) })
	}
}

func TestAPersonByIDIsNamedWhereTheNameIsKnown(t *testing.T) {
	v := terminal.View{Name: func(id string) (string, bool) { return "Dev \x1b[2JDeveloper", id == "10" }}
	assert.Equal(t, "@Dev ␛[2JDeveloper and @user 11 and @Dev ␛[2JDeveloper", v.Render("@**|10** and @**|11** and @_**|10**"))
}

func TestLinesAreBrokenAtTheWidth(t *testing.T) {
	assert.Equal(t, "* is not a list but\nthis is:\n• one two three four\n  five\nhttps://example.org/a/very/long/address\n你好你好你好你好你好\n你好",
		terminal.Render("\\* is not a list but this is:\n* one two three four five\nhttps://example.org/a/very/long/address\n你好你好你好你好你好 你好", 20, false)[1:])
	assert.Equal(t, terminal.Render("some words here and there", 20, false), terminal.Render("some words here and there", 3, false), "a width that no terminal has")
}

// sample is a message with everything, in the words of our own renderer.
func sample() string {
	return strings.Join(markup.Zulip(markup.Message{
		Kind: "test", Status: markup.Failed,
		Title: markup.Spans(markup.T("Build "), markup.C("shop-web-7"), markup.T(" of "), markup.B("shop"), markup.T(" failed in "), markup.B("test"), markup.T(" "), markup.M("10", "Dev Developer")),
		Blocks: []markup.Block{
			markup.Text(markup.T("The commit says "), markup.F("fix *all* the @**things** \x1b[2J"), markup.T(", and there is a line long enough to be broken at the width of the terminal.")),
			markup.Fields(markup.Named("commit", markup.C("4f2a91c")), markup.Named("page", markup.L("build page", "http://127.0.0.1:10081/runs/shop-web-7"))),
			markup.List(markup.Spans(markup.T("one")), markup.Spans(markup.T("two"))),
			markup.Table([]string{"component", "staging", "production"},
				[][]markup.Span{markup.Spans(markup.C("shop-web")), markup.Spans(markup.T("4f2a91c")), markup.Spans(markup.T("none"))}),
			markup.Spoiler(markup.Spans(markup.T("last lines of "), markup.C("test")), markup.Log(markup.Spans(markup.T("40 of 52 lines")), []string{"$ sh ci/test.sh", "\x1b[31mFAIL\x1b[0m: heading", "```", "exit 1"})),
		},
	}), "\n")
}

func TestAWholeMessage(t *testing.T) {
	for name, text := range map[string]string{
		"sample.60.txt":     terminal.Render(sample(), 60, false),
		"sample.colour.txt": terminal.Render(sample(), 80, true),
	} {
		path := filepath.Join("..", "..", "fixtures", "golden", "terminal", name)
		if *update {
			require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o755))
			require.NoError(t, os.WriteFile(path, []byte(text), 0o644))
		}
		want, err := os.ReadFile(path)
		require.NoError(t, err, "run the tests with -update")
		assert.Equal(t, string(want), text, name)
	}
}

// ours are the only sequences that may reach a terminal.
var ours = regexp.MustCompile("\x1b\\[[01239]6?m")

func TestNothingButOurColoursSteersTheTerminal(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		content := rapid.OneOf(
			rapid.String(),
			rapid.StringOf(rapid.SampledFrom([]rune("\x1b\x07\r\n\t [](){}<>`~*_@#|-:>.1aä你\u202e\u009b\u200bhttps/"))),
		).Draw(t, "content")
		width := rapid.IntRange(0, 100).Draw(t, "width")
		for _, colour := range []bool{false, true} {
			out := terminal.Render(content, width, colour)
			if colour {
				out = ours.ReplaceAllString(out, "")
			}
			for _, r := range out {
				if r != '\n' && unicode.IsControl(r) {
					t.Fatalf("%q has %q", out, r)
				}
			}
		}
	})
}
