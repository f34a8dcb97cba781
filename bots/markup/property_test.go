package markup_test

import (
	"fmt"
	"regexp"
	"strings"
	"testing"
	"unicode"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/slack-go/slack"
	"github.com/stretchr/testify/require"
	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/extension"
	"pgregory.net/rapid"

	"platform.dev/platform/bots/markup"
)

// The oracles: what Zulip and Slack read as a call, without Zulip's condition on
// the character before (which only makes the oracle stricter).
var (
	zulipCalls  = regexp.MustCompile(`@_?\*+[^*]*\*`)
	zulipWidget = regexp.MustCompile(`^/(me|poll|todo)`)
	zulipLinks  = regexp.MustCompile(`\]\(([^)]*)\)`)
	slackCalls  = regexp.MustCompile(`<[!@#]`)
	slackLinks  = regexp.MustCompile(`<([^>|]*)`)
)

// nasty draws text rich in the characters that chats obey.
func nasty() *rapid.Generator[string] {
	piece := rapid.SampledFrom([]string{"@", "**", "*", "_", "`", "```", "~~~", "[", "](", ")", "<", ">", "!", "#", "|", "\n", "\r", " ", "  ", "\x1b", "\x1b[31m", "\x00", "\\",
		"all", "a", "10", "/poll", "/me", "/todo", ":", "skull", "&", "amp;", "$$", "http://evil.example/", "channel", "here", "U123", "\u202e", "é", "💥", ".", "- ", "\xff", "javascript:"})
	return rapid.Custom(func(t *rapid.T) string { return strings.Join(rapid.SliceOfN(piece, 0, 14).Draw(t, "pieces"), "") })
}

// foreignMessages draws messages in which no mention and no link is ours.
func foreignMessages() *rapid.Generator[markup.Message] {
	span := rapid.Custom(func(t *rapid.T) markup.Span {
		text := nasty().Draw(t, "text")
		return []markup.Span{markup.F(text), markup.B(text), markup.C(text), markup.T(text), markup.L(text, text), markup.M("?"+text, text)}[rapid.IntRange(0, 5).Draw(t, "kind")]
	})
	spans := rapid.SliceOfN(span, 0, 5)
	lines := rapid.SliceOfN(nasty(), 0, 5)
	var block func(deep int) *rapid.Generator[markup.Block]
	block = func(deep int) *rapid.Generator[markup.Block] {
		return rapid.Custom(func(t *rapid.T) markup.Block {
			kinds := 6
			if deep > 0 {
				kinds = 7
			}
			switch rapid.IntRange(1, kinds).Draw(t, "block") {
			case 1:
				return markup.Text(spans.Draw(t, "spans")...)
			case 2:
				return markup.List(spans.Draw(t, "a"), spans.Draw(t, "b"))
			case 3:
				return markup.Fields(markup.Named(nasty().Draw(t, "name"), spans.Draw(t, "value")...))
			case 4:
				return markup.Table([]string{nasty().Draw(t, "h1"), nasty().Draw(t, "h2")}, [][]markup.Span{spans.Draw(t, "c1"), spans.Draw(t, "c2")})
			case 5:
				return markup.Code(nasty().Draw(t, "lang"), lines.Draw(t, "lines")...)
			case 6:
				return markup.Log(spans.Draw(t, "caption"), lines.Draw(t, "log"))
			default:
				return markup.Spoiler(spans.Draw(t, "header"), rapid.SliceOfN(block(deep-1), 0, 3).Draw(t, "inside")...)
			}
		})
	}
	return rapid.Custom(func(t *rapid.T) markup.Message {
		return markup.Message{
			Kind:   "x",
			Status: rapid.SampledFrom([]markup.Status{markup.None, markup.Working, markup.Done}).Draw(t, "status"),
			Title:  spans.Draw(t, "title"),
			Blocks: rapid.SliceOfN(block(2), 0, 4).Draw(t, "blocks"),
		}
	})
}

func TestForeignTextNeverActs(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		m := foreignMessages().Draw(t, "message")
		for _, part := range markup.Zulip(m) {
			checkZulip(t, part)
		}
		for _, sm := range markup.Slack(m) {
			checkSlack(t, sm)
		}
		for _, text := range []string{markup.Plain(m), markup.Terminal(m, 40, false), reset(markup.Terminal(m, 60, true))} {
			for _, r := range text {
				if r != '\n' && unicode.IsControl(r) || r == '\u202e' {
					t.Fatalf("control character %U in %q", r, text)
				}
			}
		}
	})
}

// reset removes the terminal renderer's own sequences.
func reset(text string) string {
	return regexp.MustCompile("\x1b\\[[0-9]{1,2}m").ReplaceAllString(text, "")
}

func checkZulip(t *rapid.T, part string) {
	if !utf8.ValidString(part) || utf8.RuneCountInString(part) > markup.ZulipLimit || strings.TrimSpace(part) == "" {
		t.Fatalf("not a message that Zulip takes whole: %q", part)
	}
	if call := zulipCalls.FindString(regexp.MustCompile(`@\*\*\|\d+\*\*`).ReplaceAllString(part, "")); call != "" {
		t.Fatalf("calls somebody: %q in %q", call, part)
	}
	type fence struct {
		run   string
		inert bool // what is inside a spoiler is read, what is inside code is not
	}
	var open []fence
	for line := range strings.SplitSeq(part, "\n") {
		run := line[:len(line)-len(strings.TrimLeft(line, "`"))]
		inert := len(open) > 0 && open[len(open)-1].inert
		switch {
		case len(open) > 0 && line == open[len(open)-1].run:
			open = open[:len(open)-1]
		case !inert && len(run) >= 3 && !strings.Contains(line[len(run):], "`"):
			open = append(open, fence{run, !strings.HasPrefix(line[len(run):], "spoiler ")})
		case !inert:
			checkZulipLine(t, line)
		}
	}
	if len(open) > 0 {
		t.Fatalf("a fence is left open: %q", part)
	}
}

var zulipSpan = regexp.MustCompile("^`+")

// checkZulipLine reads a line as Zulip does: code spans first, then links and emphasis.
func checkZulipLine(t *rapid.T, line string) {
	if zulipWidget.MatchString(line) {
		t.Fatalf("starts a widget: %q", line)
	}
	bare := ""
	for i := 0; i < len(line); {
		tick := zulipSpan.FindString(line[i:])
		if tick == "" {
			bare += line[i : i+1]
			i++
			continue
		}
		end := -1
		for j := i + len(tick); j < len(line); {
			run := zulipSpan.FindString(line[j:])
			if len(run) == len(tick) {
				end = j + len(run)
				break
			}
			j += max(1, len(run))
		}
		if end < 0 {
			t.Fatalf("a code span is left open: %q", line)
		}
		bare += "\x00"
		i = end
	}
	for _, link := range zulipLinks.FindAllStringSubmatch(bare, -1) {
		if !strings.HasPrefix(link[1], "http://") && !strings.HasPrefix(link[1], "https://") {
			t.Fatalf("links to %q: %q", link[1], line)
		}
	}
	outside := zulipLinks.ReplaceAllString(bare, "")
	if strings.Contains(outside, "://") || strings.Contains(outside, "$$") || strings.Contains(outside, "~~") || strings.Contains(outside, "](") {
		t.Fatalf("formats or links: %q of %q", outside, line)
	}
}

// TestAnotherMarkdownReaderSeesNoFormEither reads what Zulip is sent with an
// independent reader of the same family, links of bare addresses included.
func TestAnotherMarkdownReaderSeesNoFormEither(t *testing.T) {
	reader := goldmark.New(goldmark.WithExtensions(extension.GFM))
	forms := regexp.MustCompile(`<(?:a|em|strong|del|img|h[1-6]|ul|ol|blockquote|hr|table|pre|script)\b`)
	rapid.Check(t, func(t *rapid.T) {
		text := strings.Join(rapid.SliceOfN(nasty(), 1, 6).Draw(t, "texts"), rapid.SampledFrom([]string{" ", "", "a"}).Draw(t, "between"))
		m := markup.Message{Title: markup.Spans(markup.F(text)), Blocks: []markup.Block{markup.Text(markup.F(text), markup.T(" "), markup.C(text))}}
		for _, part := range markup.Zulip(m) {
			var html strings.Builder
			if err := reader.Convert([]byte(part), &html); err != nil {
				t.Fatal(err)
			}
			if form := forms.FindString(html.String()); form != "" {
				t.Fatalf("%s of %q: %s", form, part, html.String())
			}
		}
	})
}

func checkSlack(t *rapid.T, m markup.SlackMessage) {
	if len(m.Text) > 4000 || len(m.Blocks) > 50 || m.Text == "" || len(m.Blocks) == 0 {
		t.Fatalf("beyond Slack's limits: %d bytes, %d blocks", len(m.Text), len(m.Blocks))
	}
	texts := []string{m.Text}
	for _, b := range m.Blocks {
		section := b.(*slack.SectionBlock)
		if !section.Text.Verbatim {
			t.Fatalf("a section that Slack would read on its own")
		}
		if n := len(utf16.Encode([]rune(section.Text.Text))); n == 0 || n > 3000 {
			t.Fatalf("a section of %d", n)
		}
		texts = append(texts, section.Text.Text)
	}
	for _, text := range texts {
		if call := slackCalls.FindString(text); call != "" {
			t.Fatalf("calls somebody: %q in %q", call, text)
		}
		for _, link := range slackLinks.FindAllStringSubmatch(text, -1) {
			if !strings.HasPrefix(link[1], "http://") && !strings.HasPrefix(link[1], "https://") {
				t.Fatalf("links to %q: %q", link[1], text)
			}
		}
	}
}

func TestALongMessageLosesNoLine(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var want []string
		label := func() string {
			want = append(want, fmt.Sprintf("line-%d-%s", len(want), strings.Repeat("x", rapid.IntRange(0, 300).Draw(t, "length"))+"-end"))
			return want[len(want)-1]
		}
		m := markup.Message{Title: markup.Spans(markup.T("title"))}
		for range rapid.IntRange(1, 5).Draw(t, "blocks") {
			n := rapid.IntRange(1, 60).Draw(t, "n")
			var lines []string
			var items [][]markup.Span
			var rows [][][]markup.Span
			kind := rapid.IntRange(1, 4).Draw(t, "kind")
			for range n {
				switch kind {
				case 1, 4:
					lines = append(lines, label())
				case 2:
					items = append(items, markup.Spans(markup.F(label())))
				case 3:
					rows = append(rows, [][]markup.Span{markup.Spans(markup.F(label())), markup.Spans(markup.T("y"))})
				}
			}
			m.Blocks = append(m.Blocks, []markup.Block{
				markup.Log(nil, lines), markup.List(items...), markup.Table([]string{"a", "b"}, rows...),
				markup.Spoiler(markup.Spans(markup.T("log")), markup.Code("", lines...)),
			}[kind-1])
		}
		parts := markup.Zulip(m)
		for _, p := range parts {
			checkZulip(t, p)
		}
		all := strings.Join(parts, "\n")
		inSlack := ""
		for _, sm := range markup.Slack(m) {
			checkSlack(t, sm)
			for _, b := range sm.Blocks {
				inSlack += b.(*slack.SectionBlock).Text.Text + "\n"
			}
		}
		terminal := markup.Plain(m)
		for _, w := range want {
			if strings.Count(all, w) != 1 || strings.Count(inSlack, w) != 1 || !strings.Contains(terminal, w) {
				t.Fatalf("%s is lost or doubled", w)
			}
		}
	})
}

func TestHugeTextsAreDividedAndKept(t *testing.T) {
	for name, unit := range map[string]string{"words": "word ", "one word": "x", "marks": "*", "backticks": "`", "ampersands": "&", "wide": "💥", "calls": "@*", "brackets": "<"} {
		t.Run(name, func(t *testing.T) {
			text := strings.Repeat(unit, 25_000)
			m := markup.Message{Title: markup.Spans(markup.F(text)), Blocks: []markup.Block{
				markup.Text(markup.B(text)), markup.List(markup.Spans(markup.C(text))), markup.Table([]string{"a"}, [][]markup.Span{markup.Spans(markup.F(text))}),
				markup.Text(markup.L(text, "https://example.org/")), markup.Spoiler(markup.Spans(markup.F(text)), markup.Log(nil, []string{text})),
			}}
			for _, part := range markup.Zulip(m) {
				require.LessOrEqual(t, utf8.RuneCountInString(part), markup.ZulipLimit)
			}
			n := 0
			for _, sm := range markup.Slack(m) {
				for _, b := range sm.Blocks {
					text := b.(*slack.SectionBlock).Text.Text
					require.LessOrEqual(t, len(utf16.Encode([]rune(text))), 3000)
					n += len(text)
				}
				require.LessOrEqual(t, len(sm.Text), 4000)
			}
			require.Greater(t, n, 6*25_000)
		})
	}
}

func FuzzZulipNeverCalls(f *testing.F) {
	f.Add("@**all**", "@_**|10**")
	f.Add("a@", "*b*")
	f.Fuzz(func(t *testing.T, a, b string) {
		m := markup.Message{Title: markup.Spans(markup.F(a), markup.B(b), markup.L(b, a), markup.C(a)), Blocks: []markup.Block{
			markup.Log(markup.Spans(markup.F(b)), []string{a, b}), markup.Spoiler(markup.Spans(markup.F(a)), markup.Text(markup.F(b)), markup.Code(a, b))}}
		for _, part := range markup.Zulip(m) {
			if call := zulipCalls.FindString(part); call != "" {
				t.Fatalf("calls somebody: %q in %q", call, part)
			}
			if zulipWidget.MatchString(part) {
				t.Fatalf("starts a widget: %q", part)
			}
		}
		for _, sm := range markup.Slack(m) {
			for _, block := range sm.Blocks {
				if call := slackCalls.FindString(block.(*slack.SectionBlock).Text.Text); call != "" {
					t.Fatalf("calls somebody: %q", call)
				}
			}
		}
	})
}
