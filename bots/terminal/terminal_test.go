package terminal_test

import (
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"unicode"

	"github.com/stretchr/testify/assert"
	"pgregory.net/rapid"

	"platform.dev/platform/bots/markup"
	"platform.dev/platform/bots/terminal"
	"platform.dev/platform/fixtures/goldenfile"
)

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
		{"code of several lines", "```go\nfunc x() {\n\treturn\n}\n```\nafter", "  func x() {\n      return\n  }\nafter"},
		{"a fence that nothing closes", "```\na", "  a"},
		{"a longer fence", "````\n```\nx\n```\n````", "  ```\n  x\n  ```"},
		{"a spoiler", "```spoiler The *log*\nline\n\n```` \nx\n````\n```\nafter", "▾ The log\n  line\n\n    x\nafter"},
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

// The addresses of a walkthrough are longer than most terminals are wide.
func TestAddressesStandOnLinesOfTheirOwnWhereTheyDoNotFit(t *testing.T) {
	const page, commit = "http://127.0.0.1:42065/platform/static-1", "http://127.0.0.1:42065/platform/static-1/commit/f7d1c9d761e4"
	for _, c := range []struct {
		name, content, want string
		width               int
	}{
		{"one that fits stays in its line", "* page: [open](http://h/)", "• page: open <http://h/>", 40},
		{"one that does not goes below", "* commit: [f7d1c9d](" + commit + ")", "• commit: f7d1c9d\n  " + commit, 40},
		{"what comes behind it closes up", "* [a](" + commit + "): passed", "• a: passed\n  " + commit, 40},
		{"several are named", "see [the page](" + page + "), [f7d1c9d](" + commit + ")", "see the page, f7d1c9d\nthe page  " + page + "\nf7d1c9d   " + commit, 72},
		{"and named above where that is too long", "see [the page](" + page + "), [f7d1c9d](" + commit + ")", "see the page, f7d1c9d\nthe page\n  " + page + "\nf7d1c9d\n  " + commit, 60},
		{"the same twice is listed once", "[a](" + page + ") [a](" + page + ")", "a a\n" + page, 40},
		{"without a width nothing moves", "[a](" + page + ") b", "a <" + page + "> b", 0},
		{"those of a table stand below it, whatever the width", "| where | commit |\n|---|---|\n| [staging](" + page + ") | `f7d1c9d` |", "where    commit\n───────  ───────\nstaging  f7d1c9d\n\n  " + page, 0},
		{"rows tell the same words apart", "| where | state |\n|---|---|\n| staging | [ready](http://s/) |\n| production | [ready](http://p/) |",
			"where       state\n──────────  ─────\nstaging     ready\nproduction  ready\n\n  staging ready     http://s/\n  production ready  http://p/", 0},
		{"columns tell the same words apart", "| name | staging | production |\n|---|---|---|\n| web | [up](http://s/) | [up](http://p/) |",
			"name  staging  production\n────  ───────  ──────────\nweb   up       up\n\n  staging up     http://s/\n  production up  http://p/", 0},
	} {
		t.Run(c.name, func(t *testing.T) { assert.Equal(t, c.want, terminal.Render(c.content, c.width, false)) })
	}
}

func TestTablesAndCodeKeepWithinTheWidth(t *testing.T) {
	assert.Equal(t, "name      words\n────────  ──────────────────\nshop-web  one two three four\n          five six\nb         short",
		terminal.Render("| name | words |\n|---|---|\n| shop-web | one two three four five six |\n| b | short |", 28, false), "the widest column gives way")
	assert.Equal(t, "name      digest\n────────  ──────────\nshop-web  0123456789\n          abcdef",
		terminal.Render("| name | digest |\n|---|---|\n| shop-web | 0123456789abcdef |", 20, false), "a long word is cut")
	assert.Equal(t, "  0123456789abcdefgh\n  0123456789abcdefgh\n  ↪ ij",
		terminal.Render("```\n0123456789abcdefgh\n0123456789abcdefghij\n```", 20, false), "a long line of code goes on")
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
		goldenfile.Compare(t, path, text)
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
