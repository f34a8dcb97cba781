package markup_test

import (
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"github.com/slack-go/slack"
	"github.com/stretchr/testify/require"
	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/extension"
	"pgregory.net/rapid"

	"platform.dev/platform/bots/markup"
)

// nasty draws text rich in the characters that chats obey.
func nasty() *rapid.Generator[string] {
	piece := rapid.SampledFrom([]string{"@", "**", "*", "_", "`", "```", "~~~", "~", "[", "](", ")", "<", ">", "!", "#", "|", "\n", "\r", " ", "  ", "\x1b", "\x1b[31m", "\x00", "\\",
		"all", "a", "10", "/poll", "/me", "/todo", ":", "skull", "+1", "&", "amp;", "$$", "http://evil.example/", "www.", "evil.org", "channel", "here", "U123", "time:", "\u202e", "é", "漢", "💥", ".", "- ", "\xff", "javascript:", "quote", "spoiler", "math"})
	return rapid.Custom(func(t *rapid.T) string { return strings.Join(rapid.SliceOfN(piece, 0, 14).Draw(t, "pieces"), "") })
}

// foreignMessages draws messages in which no mention is ours; bold, links and lists may be.
func foreignMessages() *rapid.Generator[markup.Message] {
	span := rapid.Custom(func(t *rapid.T) markup.Span {
		text := nasty().Draw(t, "text")
		return []markup.Span{markup.F(text), markup.B(text), markup.C(text), markup.T(text), markup.L(text, text), markup.L(text, "https://example.org/"+text), markup.M("?"+text, text), markup.P(text, text)}[rapid.IntRange(0, 7).Draw(t, "kind")]
	})
	spans := rapid.SliceOfN(span, 0, 5)
	lines := rapid.SliceOfN(nasty(), 0, 5)
	var block func(deep int) *rapid.Generator[markup.Block]
	block = func(deep int) *rapid.Generator[markup.Block] {
		return rapid.Custom(func(t *rapid.T) markup.Block {
			kinds := 7
			if deep > 0 {
				kinds = 8
			}
			switch rapid.IntRange(1, kinds).Draw(t, "block") {
			case 1:
				return markup.Text(spans.Draw(t, "spans")...)
			case 2:
				return markup.List(spans.Draw(t, "a"), spans.Draw(t, "b"))
			case 3:
				return markup.Fields(markup.Named(nasty().Draw(t, "name"), spans.Draw(t, "value")...), markup.Named(nasty().Draw(t, "name"), spans.Draw(t, "value")...))
			case 4:
				return markup.Table([]string{nasty().Draw(t, "h1"), nasty().Draw(t, "h2")}, [][]markup.Span{spans.Draw(t, "c1"), spans.Draw(t, "c2")})
			case 5:
				return markup.Code(nasty().Draw(t, "lang"), lines.Draw(t, "lines")...)
			case 6:
				return markup.Log(spans.Draw(t, "caption"), lines.Draw(t, "log"))
			case 7:
				return markup.Actions(markup.Button{Text: nasty().Draw(t, "button"), Value: nasty().Draw(t, "value"), Style: markup.ButtonStyle(nasty().Draw(t, "style"))})
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
			Blocks: rapid.SliceOfN(block(4), 0, 4).Draw(t, "blocks"),
		}
	})
}

// What a document has of its own in Zulip and in Slack, when its words are foreign.
var (
	zulipOwn = []string{"bold", "link", "channel link", "item", "table", zulipFold, zulipLiteral}
	slackOwn = []string{"bold", "link"}
)

// faulter is what a check tells: a test's or a property's T.
type faulter interface {
	Helper()
	Fatalf(format string, args ...any)
}

func checkZulip(t faulter, part string, own ...string) {
	t.Helper()
	if !utf8.ValidString(part) || strings.TrimSpace(part) == "" {
		t.Fatalf("not a message that Zulip takes: %q", part)
	}
	for _, a := range zulipActs(part) {
		if !slices.Contains(own, a.what) {
			t.Fatalf("%s: %q in %q", a.what, a.text, part)
		}
	}
}

func checkSlack(t faulter, m markup.SlackMessage, own ...string) {
	t.Helper()
	r := readSlack(m)
	for _, fault := range r.faults {
		t.Fatalf("%s", fault)
	}
	for _, a := range r.acts {
		if !slices.Contains(own, a.what) {
			t.Fatalf("%s: %q in %q", a.what, a.text, markup.SlackWords(m.Blocks))
		}
	}
	wire, err := json.Marshal(m.Blocks)
	if err != nil {
		t.Fatalf("%v", err)
	}
	if plain := strings.NewReplacer(`\u003c`, "<", `\u003e`, ">", `\u0026`, "&").Replace(string(wire)); len(m.Blocks) > 1 && len(plain) > 13_000 {
		t.Fatalf("%d bytes of blocks", len(plain))
	}
}

// checkSlackText checks a message of text alone, in which Slack looks for addresses of its own accord.
func checkSlackText(t faulter, m markup.SlackMessage, own ...string) {
	t.Helper()
	if len(m.Blocks) > 0 || strings.TrimSpace(m.Text) == "" || len(m.Text) > 12_000 {
		t.Fatalf("%d blocks, and a text of %d bytes", len(m.Blocks), len(m.Text))
	}
	r := &slackReading{}
	r.mrkdwn(slack.NewTextBlockObject("mrkdwn", m.Text, false, true), 12_000)
	for _, fault := range r.faults {
		t.Fatalf("%s", fault)
	}
	for _, a := range r.acts {
		if !slices.Contains(own, a.what) {
			t.Fatalf("%s: %q in %q", a.what, a.text, m.Text)
		}
	}
}

// checkTerminal minds characters that steer a terminal, beside the renderer's own colours.
func checkTerminal(t faulter, m markup.Message) {
	t.Helper()
	colours := regexp.MustCompile("\x1b\\[[0-9]{1,2}m")
	for _, text := range []string{markup.Plain(m), markup.Terminal(m, 40, false), colours.ReplaceAllString(markup.Terminal(m, 60, true), "")} {
		for _, r := range text {
			if r != '\n' && unicode.IsControl(r) || r == '\u202e' {
				t.Fatalf("control character %U in %q", r, text)
			}
		}
	}
}

func TestForeignTextNeverActs(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		m := foreignMessages().Draw(t, "message")
		for _, part := range markup.Zulip(m) {
			checkZulip(t, part, zulipOwn...)
		}
		for _, sm := range append(markup.Slack(m), markup.SlackBasic(m)...) {
			checkSlack(t, sm, slackOwn...)
		}
		for _, sm := range markup.SlackText(m) {
			checkSlackText(t, sm, slackOwn...)
		}
		checkTerminal(t, m)
	})
}

// wordsAlone is a message of foreign words that has no form of its own but code and a fold.
func wordsAlone(a, b string) markup.Message {
	return markup.Message{
		Title: markup.Spans(markup.F(a), markup.F(b), markup.M("?", b), markup.C(a)),
		Blocks: []markup.Block{
			markup.Text(markup.F(b), markup.T(" "), markup.F(a)), markup.Text(markup.T(a), markup.L(b, "javascript:"+a+b)),
			markup.Log(markup.Spans(markup.F(b)), []string{a, b}),
			markup.Spoiler(markup.Spans(markup.F(a)), markup.Text(markup.F(b)), markup.Code(a, b), markup.Text(markup.T("end"))),
			markup.Actions(markup.Button{Text: a, Value: b}),
		},
	}
}

func TestForeignWordsHaveNoFormAtAll(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		m := wordsAlone(nasty().Draw(t, "a"), nasty().Draw(t, "b"))
		for _, part := range markup.Zulip(m) {
			checkZulip(t, part, zulipFold, zulipLiteral)
		}
		for _, sm := range markup.Slack(m) {
			checkSlack(t, sm)
		}
		for _, sm := range markup.SlackBasic(m) {
			checkSlack(t, sm, "bold") // the header of what is folded elsewhere
		}
	})
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

// The oracles are worth something only if they see what the chats obey.
func TestTheOraclesSeeWhatTheChatsObey(t *testing.T) {
	for text, want := range map[string]string{
		"@**all**": "mention", "hi @_**Ada|10**": "mention", "@**|10**": "mention", "@*admins*": "group mention", "#**shop>builds**": "channel link",
		"![x](http://e.example/x.png)": "image", "[x](http://e.example)": "link", "see https://e.example": "address", "evil.com": "address", "www.x": "address",
		":skull:": "emoji", ":+1:": "emoji", "$$x$$": "formula", "~~x~~": "struck", "a **b**": "bold", "*b*": "slanted", "_b_": "slanted", "# x": "heading", "> x": "quote",
		"1. x": "item", "- x": "item", "---": "rule", "| x": "table", "    x": "code", "/me x": "widget", "/poll x": "widget", "```quote\nx\n```": "fenced quote",
		"```\nx": "unclosed", "`x": "half a code span", "&amp;": "entity", `\*`: "escape", "```spoiler @**all**\nx\n```": "mention", "````spoiler x\n@**all**\n````": "mention", "<time:2026-11-20>": "time",
	} {
		require.True(t, slices.ContainsFunc(zulipActs(text), func(a act) bool { return a.what == want }), "%q: %v", text, zulipActs(text))
	}
	for _, text := range []string{"`@**all**`", "```\n@**all** :skull:\n```", "@\u200b**all", "09:00-17:00", "a_b_c", "plain words (here), 3 of 4"} {
		require.False(t, slices.ContainsFunc(zulipActs(text), func(a act) bool { return a.what != zulipLiteral && a.what != "bold" }), "%q: %v", text, zulipActs(text))
	}
	for text, want := range map[string]string{
		"<!channel>": "call", "<@U123>": "call", "`<#C1>`": "call", "@here": "call", "<https://e.example|x>": "link", "*b*": "bold", "_b_": "slanted", "~b~": "struck",
		":skull:": "emoji", "&gt; x": "quote", "`x": "half a code span",
	} {
		r := &slackReading{}
		r.entities(text, false)
		rest := &slackReading{}
		rest.block(slackSectionOf(text), false)
		require.True(t, slices.ContainsFunc(append(r.acts, rest.acts...), func(a act) bool { return a.what == want }), fmt.Sprintf("%q: %v", text, rest.acts))
	}
}
