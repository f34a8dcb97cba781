package markup_test

import (
	"fmt"
	"regexp"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"platform.dev/platform/bots/markup"
)

// numbered makes texts of words that can be found again: each text is some
// numbered words among nasty ones.
type numbered struct {
	t    *rapid.T
	all  []string // in the order of the document
	head []string // names of columns, which may be repeated
}

func (n *numbered) word() string {
	n.all = append(n.all, fmt.Sprintf("w%05d", len(n.all)))
	return n.all[len(n.all)-1]
}

// text is up to words words, every third beside something nasty.
func (n *numbered) text(words int) string {
	var b strings.Builder
	for i := range rapid.IntRange(1, words).Draw(n.t, "words") {
		b.WriteString(n.word() + " ")
		if i%3 == 0 {
			b.WriteString(rapid.SampledFrom([]string{"*", "`", "@**all**", "<", "&", "$$", "[x](y)", "💥", strings.Repeat("*", 300), strings.Repeat("x", 500), "漢字", "> ", "::", "```", strings.Repeat("`", 30)}).Draw(n.t, "nasty") + " ")
		}
	}
	return b.String()
}

func (n *numbered) spans(words int) []markup.Span {
	var out []markup.Span
	for range rapid.IntRange(1, 3).Draw(n.t, "spans") {
		kind := []func(string) markup.Span{markup.T, markup.F, markup.B, markup.C,
			func(s string) markup.Span { return markup.L(s, "https://example.org/") },
			func(s string) markup.Span { return markup.L(s, "no address") },
			func(s string) markup.Span { return markup.M("?", s) },
		}[rapid.IntRange(0, 6).Draw(n.t, "kind")]
		out = append(out, kind(n.text(words)), markup.T(" "))
	}
	return out
}

func (n *numbered) lines() (out []string) {
	for range rapid.IntRange(1, 60).Draw(n.t, "lines") {
		out = append(out, n.text(40))
	}
	return out
}

func (n *numbered) table() markup.Block {
	var header []string
	for i := range rapid.IntRange(1, 4).Draw(n.t, "columns") {
		n.head = append(n.head, fmt.Sprintf("h%05d", len(n.head)))
		header = append(header, n.head[len(n.head)-1]+strings.Repeat(" column", rapid.SampledFrom([]int{0, 0, 0, 500}).Draw(n.t, "wide")*(i%2)))
	}
	words := rapid.SampledFrom([]int{2, 60}).Draw(n.t, "cell")
	var rows [][][]markup.Span
	for range rapid.IntRange(0, 30).Draw(n.t, "rows") {
		var row [][]markup.Span
		for range header {
			row = append(row, n.spans(words))
		}
		rows = append(rows, row)
	}
	return markup.Table(header, rows...)
}

func (n *numbered) block(deep int) markup.Block {
	switch rapid.IntRange(1, 6+min(deep, 1)).Draw(n.t, "block") {
	case 1:
		return markup.Text(n.spans(300)...)
	case 2:
		var items [][]markup.Span
		for range rapid.IntRange(1, 30).Draw(n.t, "items") {
			items = append(items, n.spans(30))
		}
		return markup.List(items...)
	case 3:
		var fields []markup.Field
		words := rapid.SampledFrom([]int{1, 2, 60}).Draw(n.t, "field")
		for range rapid.IntRange(1, 24).Draw(n.t, "fields") {
			name := n.text(min(words, 9))
			fields = append(fields, markup.Named(name, n.spans(words)...))
		}
		return markup.Fields(fields...)
	case 4:
		return n.table()
	case 5:
		return markup.Code("sh", n.lines()...)
	case 6:
		caption := n.spans(20)
		return markup.Log(caption, n.lines())
	default:
		header := n.spans(40)
		var inside []markup.Block
		for range rapid.IntRange(0, 3).Draw(n.t, "inside") {
			inside = append(inside, n.block(deep-1))
		}
		return markup.Spoiler(header, inside...)
	}
}

func (n *numbered) message() markup.Message {
	m := markup.Message{Status: markup.Done, Title: n.spans(30)}
	for range rapid.IntRange(0, 4).Draw(n.t, "blocks") {
		m.Blocks = append(m.Blocks, n.block(5))
	}
	return m
}

// check looks for every word, in order, in what was rendered.
func (n *numbered) check(renderer, said string) {
	n.t.Helper()
	at := 0
	for _, w := range n.all {
		i := strings.Index(said[at:], w)
		if i < 0 {
			n.t.Fatalf("%s: %s is lost or out of order (%d times in all) of %d", renderer, w, strings.Count(said, w), len(n.all))
		}
		at += i + len(w)
	}
	for _, h := range n.head {
		if !strings.Contains(said, h) {
			n.t.Fatalf("%s: column %s is lost", renderer, h)
		}
	}
}

// onward is where a line of code goes on below.
var onward = regexp.MustCompile(`\n *(?:\| )?↪ `)

func TestEveryWordOfADocumentIsSaidInOrderWithinTheLimits(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := &numbered{t: t}
		m := n.message()
		limit := rapid.SampledFrom([]int{4000, 10_000, 20_000}).Draw(t, "limit")
		parts := markup.ZulipWithin(m, limit)
		for _, p := range parts {
			if size := utf8.RuneCountInString(p); size > limit {
				t.Fatalf("Zulip: %d code points, where %d are allowed", size, limit)
			}
			checkZulip(t, p, zulipOwn...)
		}
		n.check("Zulip", strings.Join(parts, "\n"))
		for name, messages := range map[string][]markup.SlackMessage{"Slack": markup.Slack(m), "Slack's basic blocks": markup.SlackBasic(m)} {
			said := ""
			for _, sm := range messages {
				checkSlack(t, sm, slackOwn...)
				said += markup.SlackWords(sm.Blocks) + "\n"
			}
			n.check(name, said)
		}
		said := ""
		for _, sm := range markup.SlackText(m) {
			checkSlackText(t, sm, slackOwn...)
			said += sm.Text + "\n"
		}
		n.check("Slack's text alone", said)
		n.check("plain", markup.Plain(m))
		for _, width := range []int{20, 80} {
			said := markup.Terminal(m, width, false)
			for line := range strings.SplitSeq(said, "\n") {
				if columnsOf(line) > width && !strings.Contains(line, "http") {
					t.Fatalf("%d columns of %d: %q", columnsOf(line), width, line)
				}
			}
			n.check(fmt.Sprintf("terminal of %d", width), onward.ReplaceAllString(said, ""))
		}
	})
}

// columnsOf is how many columns a terminal takes for a line of the characters that the tests write.
func columnsOf(line string) int {
	n := 0
	for _, r := range line {
		switch {
		case unicode.Is(unicode.Mn, r) || unicode.Is(unicode.Me, r) || unicode.Is(unicode.Cf, r):
		case r >= 0x1160 && r <= 0x11ff, r >= 0xd7b0 && r <= 0xd7ff, r >= 0xff61 && r <= 0xffdc: // vowels and ends of a syllable; half-width forms
			n++
		case unicode.In(r, unicode.Han, unicode.Hangul, unicode.Hiragana, unicode.Katakana) || r == '💥':
			n += 2
		default:
			n++
		}
	}
	return n
}

func TestAFenceThatIsDividedIsClosedAndOpenedAgain(t *testing.T) {
	var lines []string
	for i := range 1500 {
		lines = append(lines, fmt.Sprintf("line %04d", i))
	}
	m := markup.Message{Title: markup.Spans(markup.T("The build failed")), Blocks: []markup.Block{
		markup.Spoiler(markup.Spans(markup.T("The log")), markup.Text(markup.T("of today")), markup.Log(nil, lines)),
	}}
	parts := markup.Zulip(m)
	require.Greater(t, len(parts), 1)
	for i, p := range parts {
		assert.Equal(t, 2, strings.Count(p, "\n````"), "the spoiler opens and closes in part %d", i)
		assert.Equal(t, 1, strings.Count(p, "````spoiler The log\n"))
		assert.Equal(t, 1, strings.Count(p, "\n```text\n"))
		assert.Equal(t, 1, strings.Count(p, "\n```\n````"))
		assert.Equal(t, i > 0, strings.HasPrefix(p, fmt.Sprintf("(part %d of %d)\n````spoiler The log\n```text\nline ", i+1, len(parts))))
	}
	slack := markup.Slack(m)
	require.Greater(t, len(slack), 1)
	for i, sm := range slack[1:] {
		words := markup.SlackWords(sm.Blocks)
		assert.True(t, strings.HasPrefix(words, fmt.Sprintf("(part %d of %d)\nThe log (%d of ", i+2, len(slack), i+2)), words)
		assert.Equal(t, fmt.Sprintf("(part %d of %d) The build failed", i+2, len(slack)), sm.Text)
		assert.Zero(t, strings.Count(words, "```")%2)
	}
}

func TestHugeTextsAreDividedAndKept(t *testing.T) {
	for name, unit := range map[string]string{"words": "word ", "one word": "x", "marks": "*", "backticks": "`", "ampersands": "&", "wide": "💥", "calls": "@*", "brackets": "<"} {
		t.Run(name, func(t *testing.T) {
			text := strings.Repeat(unit, 25_000)
			m := markup.Message{Title: markup.Spans(markup.F(text)), Blocks: []markup.Block{
				markup.Text(markup.B(text)), markup.List(markup.Spans(markup.C(text))), markup.Table([]string{"a"}, [][]markup.Span{markup.Spans(markup.F(text))}),
				markup.Text(markup.L(text, "https://example.org/")), markup.Spoiler(markup.Spans(markup.F(text)), markup.Log(nil, []string{text})),
			}}
			zulip := 0
			for _, part := range markup.Zulip(m) {
				require.LessOrEqual(t, utf8.RuneCountInString(part), markup.ZulipLimit)
				zulip += utf8.RuneCountInString(part)
			}
			require.Greater(t, zulip, 6*25_000)
			n := 0
			for _, sm := range markup.Slack(m) {
				require.Empty(t, readSlack(sm).faults)
				n += len(markup.SlackWords(sm.Blocks))
			}
			require.Greater(t, n, 6*25_000)
		})
	}
}
