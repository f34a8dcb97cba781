package markup_test

import (
	"encoding/json"
	"fmt"
	"path/filepath"
	"strings"
	"testing"

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
			},
		},
		{
			Kind: "hostile-words", Status: markup.Failed, Title: markup.Spans(markup.F(hostile[0]), markup.T(" "), markup.L("x](http://evil.example)", "ftp://no"), markup.M("not a number", "Mallory *")),
			Blocks: []markup.Block{
				markup.List(items...), markup.Fields(fields...), markup.Table([]string{"code", "bold", "link"}, rows...), markup.Code("spoiler", lines...),
				markup.Spoiler(markup.Spans(markup.F("`~ @**all** [a](http://b.example) "), markup.C(":skull:")), markup.Log(markup.Spans(markup.F("@**all**")), lines)),
			},
		},
	}
}

func TestEverySpanAndBlockInEveryRendering(t *testing.T) {
	for _, m := range samples() {
		t.Run(m.Kind, func(t *testing.T) {
			golden(t, m.Kind+".zulip.md", strings.Join(markup.Zulip(m), "\n<<< next message >>>\n")+"\n")
			golden(t, m.Kind+".slack.json", slackJSON(t, m))
			golden(t, m.Kind+".terminal.txt", markup.Terminal(m, 80, true)+"\n")
			golden(t, m.Kind+".plain.txt", markup.Plain(m)+"\n")
		})
	}
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
