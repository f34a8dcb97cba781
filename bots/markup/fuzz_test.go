package markup_test

import (
	"strings"
	"testing"
	"unicode/utf8"

	"platform.dev/platform/bots/markup"
)

// hostile are texts that once did something, or that a chat obeys.
var hostile = [][2]string{
	{"@**all**", "@_**|10**"}, {"a@", "*b*"}, {"[a]", "(http://evil.example)"}, {"<!channel>", "<@U123|x>"}, {"/poll x", "/me"}, {"```quote", "```"},
	{"~~~", "spoiler `"}, {":sku", "ll:"}, {"&", "lt;"}, {"#**a", "**"}, {"$$", "$$"}, {"\x1b]0;x\a", "\u202e"}, {"> x", "1. x"}, {"evil.", "com"}, {"_a", "_"}, {"漢💥", "\xff\xfe"}, {"=", "&gt; x"}, {"ᇞ", "ퟅ"},
}

func FuzzZulip(f *testing.F) {
	for _, h := range hostile {
		f.Add(h[0], h[1])
	}
	f.Fuzz(func(t *testing.T, a, b string) {
		for _, part := range markup.Zulip(wordsAlone(a, b)) {
			if utf8.RuneCountInString(part) > markup.ZulipLimit {
				t.Fatalf("%d code points", utf8.RuneCountInString(part))
			}
			checkZulip(t, part, zulipFold, zulipLiteral)
		}
	})
}

func FuzzSlack(f *testing.F) {
	for _, h := range hostile {
		f.Add(h[0], h[1])
	}
	f.Fuzz(func(t *testing.T, a, b string) {
		m := wordsAlone(a, b)
		for _, sm := range markup.Slack(m) {
			checkSlack(t, sm)
		}
		for _, sm := range markup.SlackBasic(m) {
			checkSlack(t, sm, "bold") // the header of what is folded elsewhere
		}
		for _, sm := range markup.SlackText(m) {
			checkSlackText(t, sm, "bold")
		}
	})
}

func FuzzTerminal(f *testing.F) {
	for _, h := range hostile {
		f.Add(h[0], h[1])
	}
	f.Fuzz(func(t *testing.T, a, b string) {
		m := wordsAlone(a, b)
		checkTerminal(t, m)
		for line := range strings.SplitSeq(markup.Terminal(m, 30, false), "\n") {
			if columnsOf(line) > 30 && !strings.Contains(line, "http") {
				t.Fatalf("%d columns: %q", columnsOf(line), line)
			}
		}
	})
}
