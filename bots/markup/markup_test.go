package markup_test

import (
	"encoding/json"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/slack-go/slack"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"platform.dev/platform/bots/markup"
	"platform.dev/platform/fixtures/goldenfile"
)

// goldens is where this package's golden files live.
const goldens = "../../fixtures/golden/markup"

func golden(t *testing.T, name, got string) {
	t.Helper()
	path := filepath.Join(goldens, name)
	goldenfile.Compare(t, path, got)
}

func slackJSON(t *testing.T, m markup.Message) string {
	t.Helper()
	var b strings.Builder
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	require.NoError(t, enc.Encode(markup.Slack(m)))
	return b.String()
}

// samples show every span and block, once well-behaved and once hostile.
func samples() []markup.Message {
	hostile := []string{
		"@**all** @_**Ada Admin** @*admins* @all", "<!channel> <@U123> <https://evil.example|click>",
		"[click](javascript:alert(1)) ![x](http://evil.example/x.png)", "# not a heading", "/poll no?", ":skull: &amp; $$x$$ ~~gone~~",
		"`code` ``more`` \\", "line one\nline two\r\n/me waves", "\x1b[31mred\x1b[0m \x07bell \u202egnp.exe", "1. one", "> quoted", "main.go my_file _x_",
	}
	lines := append([]string{"ok", "\tindented\twith tabs", "```", "````spoiler x", "~~~"}, hostile...)
	var items [][]markup.Span
	var fields []markup.Field
	var rows [][][]markup.Span
	for i, h := range hostile {
		items = append(items, markup.Spans(markup.F(h)))
		fields = append(fields, markup.Named(fmt.Sprintf("field %d", i), markup.F(h)))
		rows = append(rows, [][]markup.Span{markup.Spans(markup.C(h)), markup.Spans(markup.B(h + " | bar")), markup.Spans(markup.L(h, "https://example.org/a?b=(c)&d=|"))})
	}
	return []markup.Message{
		{
			Kind: "plain-words", Status: markup.Done,
			Title: markup.Spans(markup.T("Promoted "), markup.B("shop"), markup.T(" to production, asked by "), markup.M("10", "Ada Admin")),
			Blocks: []markup.Block{
				markup.Fields(markup.Named("release", markup.C("shop-web-1a2b3c4d")), markup.Named("commit", markup.L("1a2b3c4", "http://127.0.0.1:3001/platform/shop/commit/1a2b3c4"), markup.T(": "), markup.F("Fix the heading"))),
				markup.Text(markup.T("It answers at "), markup.L("the shop", "http://production-shop.apps.platform.localhost:19080/shop-web-http"), markup.T(".")),
				markup.Table([]string{"component", "staging", "production"},
					[][]markup.Span{markup.Spans(markup.C("shop-web")), markup.Spans(markup.T("ready")), markup.Spans(markup.C("1a2b3c4"))},
					[][]markup.Span{markup.Spans(markup.C("shop-api")), markup.Spans(markup.T("3 min ago")), nil}),
				markup.List(markup.Spans(markup.T("first")), markup.Spans(markup.T("second"))),
				markup.Code("sh", "git push origin main", "echo done"),
				markup.Spoiler(markup.Spans(markup.T("Log of "), markup.C("test")), markup.Log(markup.Spans(markup.T("last 2 lines of "), markup.C("test")), []string{"checking index.html", "ok"})),
				markup.Log(markup.Spans(markup.T("last line of "), markup.C("build")), []string{"ok"}),
				markup.Actions(markup.Button{Text: "Promote", Value: "plan-1 yes", Style: markup.Primary}, markup.Button{Text: "Force it", Value: "plan-1 force", Style: markup.Danger}, markup.Button{Text: "Leave it", Value: "plan-1 no"}),
			},
		},
		{
			Kind: "hostile-words", Status: markup.Failed, Title: markup.Spans(markup.F(hostile[0]), markup.T(" "), markup.L("x](http://evil.example)", "ftp://no"), markup.M("not a number", "Mallory *")),
			Blocks: []markup.Block{
				markup.List(items...), markup.Fields(fields...), markup.Table([]string{"code", "bold", "link"}, rows...), markup.Code("spoiler", lines...),
				markup.Spoiler(markup.Spans(markup.F("`~ @**all** [a](http://b.example) "), markup.C(":skull:")), markup.Log(markup.Spans(markup.F("@**all**")), lines)),
				markup.Actions(markup.Button{Text: hostile[0], Value: hostile[1], Style: "loud"}, markup.Button{Text: "unpressable", Value: strings.Repeat("x", 101)}, markup.Button{Value: "wordless"}, markup.Button{Text: "valueless"}),
			},
		},
	}
}

func TestEverySpanAndBlockInEveryRendering(t *testing.T) {
	for _, m := range samples() {
		t.Run(m.Kind, func(t *testing.T) {
			golden(t, m.Kind+".zulip.md", strings.Join(markup.Zulip(m), "\n<<< next message >>>\n")+"\n")
			golden(t, m.Kind+".slack.json", slackJSON(t, m))
			golden(t, m.Kind+".slack-basic.txt", basicWords(m)+"\n")
			golden(t, m.Kind+".slack-text.txt", textAlone(m)+"\n")
			golden(t, m.Kind+".terminal.txt", markup.Terminal(m, 80, true)+"\n")
			golden(t, m.Kind+".plain.txt", markup.Plain(m)+"\n")
		})
	}
}

// basicWords is what a workspace that refuses the newer blocks is sent, one line for each block.
func basicWords(m markup.Message) string {
	var lines []string
	for _, sm := range markup.SlackBasic(m) {
		for _, b := range sm.Blocks {
			lines = append(lines, string(b.BlockType())+": "+markup.SlackWords([]slack.Block{b}))
		}
	}
	return strings.Join(lines, "\n")
}

// textAlone is what a workspace that refuses all blocks is sent.
func textAlone(m markup.Message) string {
	var parts []string
	for _, sm := range markup.SlackText(m) {
		parts = append(parts, sm.Text)
	}
	return strings.Join(parts, "\n<<< next message >>>\n")
}

func TestButtonsAreShownInSlackAlone(t *testing.T) {
	m := samples()[0]
	m.Blocks = append([]markup.Block{markup.Actions(markup.Button{Text: "first", Value: "1"})}, m.Blocks...)
	without := m
	without.Blocks = slices.DeleteFunc(slices.Clone(m.Blocks), func(b markup.Block) bool { return b.Kind == markup.BlockActions })
	assert.Equal(t, markup.Zulip(without), markup.Zulip(m))
	assert.Equal(t, markup.Plain(without), markup.Plain(m))
	assert.Equal(t, markup.Terminal(without, 60, true), markup.Terminal(m, 60, true))
	assert.NotEqual(t, markup.Slack(without), markup.Slack(m))
}

func TestAButtonThatCannotBePressedIsLeftOut(t *testing.T) {
	words := func(buttons ...markup.Button) string {
		m := markup.Message{Title: markup.Spans(markup.T("Go on?")), Blocks: []markup.Block{markup.Actions(buttons...)}}
		said := ""
		for _, sm := range markup.Slack(m) {
			assert.Empty(t, readSlack(sm).faults)
			said += markup.SlackWords(sm.Blocks)
		}
		return said
	}
	assert.Equal(t, "Go on?\n[yes]", words(markup.Button{Text: "yes", Value: "1"}, markup.Button{Text: "no"}, markup.Button{Value: "2"},
		markup.Button{Text: " \n", Value: "3"}, markup.Button{Text: "long", Value: strings.Repeat("x", 101)}, markup.Button{Text: "torn", Value: "\xff"}))
	assert.Equal(t, "Go on?", words(markup.Button{Text: "no"}))
	assert.Equal(t, "Go on?\n["+strings.Repeat("y", 37)+"…]", words(markup.Button{Text: strings.Repeat("y", 76), Value: "1"}))
	many := make([]markup.Button, 60)
	for i := range many {
		many[i] = markup.Button{Text: fmt.Sprintf("b%02d", i), Value: fmt.Sprint(i)}
	}
	shown := words(many...)
	for _, b := range many {
		assert.Equal(t, 1, strings.Count(shown, "["+b.Text+"]"))
	}
}

func TestATitleOfWordsThatHeadsSomethingIsAHeaderInSlack(t *testing.T) {
	text := markup.Text(markup.T("below"))
	for _, c := range []struct {
		name  string
		title []markup.Span
		below []markup.Block
		want  slack.MessageBlockType
	}{
		{"words over a text", markup.Spans(markup.T("Promoted "), markup.B("shop")), []markup.Block{text}, slack.MBTHeader},
		{"words alone", markup.Spans(markup.T("Promoted "), markup.B("shop")), nil, slack.MBTSection},
		{"a link", markup.Spans(markup.L("1a2b3c4", "https://example.org/")), []markup.Block{text}, slack.MBTSection},
		{"a person", markup.Spans(markup.M("U123", "Ada")), []markup.Block{text}, slack.MBTSection},
		{"a topic", markup.Spans(markup.P("shop", "builds")), []markup.Block{text}, slack.MBTSection},
		{"the name of an emoji", markup.Spans(markup.F("Fix :skull:")), []markup.Block{text}, slack.MBTSection},
		{"an entity", markup.Spans(markup.F("Fix <b>")), []markup.Block{text}, slack.MBTSection},
		{"too many words", markup.Spans(markup.T(strings.Repeat("word ", 40))), []markup.Block{text}, slack.MBTSection},
	} {
		t.Run(c.name, func(t *testing.T) {
			got := markup.Slack(markup.Message{Status: markup.Done, Title: c.title, Blocks: c.below})
			assert.Equal(t, c.want, got[0].Blocks[0].BlockType())
		})
	}
}

func TestATableTooLargeForSlackIsAList(t *testing.T) {
	table := func(rows, columns int) markup.Block {
		header := make([]string, columns)
		all := make([][][]markup.Span, rows)
		for i := range header {
			header[i] = fmt.Sprint("h", i)
		}
		for i := range all {
			for range columns {
				all[i] = append(all[i], markup.Spans(markup.T("x")))
			}
		}
		return markup.Table(header, all...)
	}
	kinds := func(blocks ...markup.Block) (out []slack.MessageBlockType) {
		for _, sm := range markup.Slack(markup.Message{Title: markup.Spans(markup.T("t")), Blocks: blocks}) {
			for _, b := range sm.Blocks[1:] {
				out = append(out, b.BlockType())
			}
		}
		return out
	}
	assert.Equal(t, []slack.MessageBlockType{slack.MBTTable}, kinds(table(30, 4)))
	assert.Equal(t, []slack.MessageBlockType{slack.MBTTable, slack.MBTSection}, kinds(table(3, 4), table(3, 4)), "Slack takes one table in a message")
	assert.Equal(t, []slack.MessageBlockType{slack.MBTSection}, kinds(table(1, 21)))
	assert.NotContains(t, kinds(table(100, 1)), slack.MBTTable)
	assert.NotContains(t, kinds(table(99, 20)), slack.MBTTable)
}

func TestAPersonIsNamedAndNotCalledInATableOfZulip(t *testing.T) {
	m := markup.Message{Title: markup.Spans(markup.T("t")), Blocks: []markup.Block{markup.Table([]string{"who"}, [][]markup.Span{markup.Spans(markup.M("10", "Ada"))})}}
	assert.Equal(t, "t\n\n| who |\n| --- |\n| Ada |", markup.Zulip(m)[0], "the bar of a mention by id would end the cell")
}

func TestAMessageSurvivesJSON(t *testing.T) {
	for _, m := range samples() {
		m.Title = append(m.Title, markup.T("ok"))
		b, err := json.Marshal(m)
		require.NoError(t, err)
		var back markup.Message
		require.NoError(t, json.Unmarshal(b, &back))
		assert.Equal(t, strings.ToValidUTF8(markup.Plain(m), "\ufffd"), markup.Plain(back))
	}
}

func TestAddressesThatAreNotLinks(t *testing.T) {
	for _, address := range []string{"", "javascript:alert(1)", "ftp://a.example/", "//a.example", "https://", "https://user:secret@a.example/", "http://a.example/" + strings.Repeat("x", 3000), "data:text/html,x"} {
		m := markup.Message{Title: markup.Spans(markup.L("words", address))}
		assert.Equal(t, []string{"words"}, markup.Zulip(m), address)
		assert.Equal(t, "words", markup.Plain(m), address)
		assert.NotContains(t, slackJSON(t, m), "<", address)
	}
}

func TestMentionsAreOursAlone(t *testing.T) {
	m := markup.Message{Title: markup.Spans(markup.M("10", "Ada"), markup.T(", look:"), markup.M("12", "Bo"))}
	assert.Equal(t, []string{"@**|10**, look: @**|12**"}, markup.Zulip(m))
	assert.Contains(t, slackJSON(t, markup.Message{Title: markup.Spans(markup.M("U0AB12", "Ada"))}), `"<@U0AB12>"`)
	assert.Equal(t, "@Ada, look:@Bo", markup.Plain(m))
	spoof := markup.Message{Title: markup.Spans(markup.M("1**x", "Ada"))}
	assert.Equal(t, []string{"Ada"}, markup.Zulip(spoof), "an id that is no number is never written as one")
}

func TestATopicIsALinkWhereTheChatHasThem(t *testing.T) {
	m := markup.Message{Title: markup.Spans(markup.T("see "), markup.P("walkthroughs", "static-1 2026-11-20"))}
	assert.Equal(t, []string{"see #**walkthroughs>static-1 2026-11-20**"}, markup.Zulip(m))
	assert.Equal(t, "see #walkthroughs > static-1 2026-11-20", markup.Plain(m))
	spoof := markup.Message{Title: markup.Spans(markup.P("a**@**all", "x"))}
	assert.Equal(t, []string{"`#a**@\u200b**all > x`"}, markup.Zulip(spoof))
}

func TestTextsAreReadTogether(t *testing.T) {
	assert.Equal(t, []string{"`[a](http://evil.example)`"}, markup.Zulip(markup.Message{Title: markup.Spans(markup.F("[a]"), markup.F("(http://evil.example)"))}))
	assert.Equal(t, []string{"a@\u200b**all**"}, markup.Zulip(markup.Message{Title: markup.Spans(markup.F("a@"), markup.B("all"))}))
}

func TestALinkWithoutAddressAndAPersonNotMentionedAreReadWithTheirNeighbours(t *testing.T) {
	for _, second := range []markup.Span{markup.F("ll:"), markup.L("ll:", "javascript:x"), markup.M("nobody", "ll:")} {
		m := markup.Message{Title: markup.Spans(markup.F(":sku"), second)}
		assert.Equal(t, []string{"`:skull:`"}, markup.Zulip(m))
		assert.Equal(t, "`:skull:`", markup.SlackWords(markup.Slack(m)[0].Blocks))
	}
	long := strings.Repeat("x", 100)
	assert.Equal(t, []string{"[" + long + "](https://example.org)`:skull:`"},
		markup.Zulip(markup.Message{Title: markup.Spans(markup.L(long+":sku", "https://example.org"), markup.F("ll:"))}), "what goes on behind a link, too")
}

func TestALineThatIsBrokenBeginsNoQuoteInSlack(t *testing.T) {
	m := markup.Message{Title: markup.Spans(markup.T("t")), Blocks: []markup.Block{markup.Text(markup.T(strings.Repeat("word ", 479)), markup.F("abcd > x"))}}
	assert.Contains(t, markup.SlackWords(markup.Slack(m)[0].Blocks), "\n\u200b&gt; x")
}

func TestOnlyTheWordsThatWouldFormatStandInCode(t *testing.T) {
	m := markup.Message{Title: markup.Spans(markup.F("Fix *bold* in README.md at 12:30 -> done"))}
	assert.Equal(t, []string{"Fix `*bold*` in `README.md` at 12:30 -> done"}, markup.Zulip(m))
}

func TestLinesBreakAtTheTerminalsWidth(t *testing.T) {
	m := markup.Message{Title: markup.Spans(markup.T(strings.Repeat("word ", 30)))}
	for line := range strings.SplitSeq(markup.Terminal(m, 40, false), "\n") {
		assert.LessOrEqual(t, len(line), 40)
	}
	assert.NotContains(t, markup.Plain(m), "\n")
}
