package slack_test

import (
	"strings"
	"testing"

	"platform.dev/platform/bots/botstest"
	"platform.dev/platform/bots/markup"
)

// wordy is a message of every kind of block, of words repeated so often that some blocks have no room for them.
func wordy(a, b string, often, wide int) markup.Message {
	a, b = strings.Repeat(a, often), strings.Repeat(b, often%7)
	row, fields, items := make([][]markup.Span, wide), make([]markup.Field, wide), make([][]markup.Span, wide)
	header, rows := make([]string, wide), make([][][]markup.Span, min(often%110, 3_000/(wide*(len(a)+len(b))+1)))
	buttons := make([]markup.Button, wide)
	for i := range wide {
		row[i] = markup.Spans(markup.F(a), markup.C(b), markup.L(b, "https://shop.example/"+b), markup.M("U012AB3CD", a))
		header[i], fields[i], items[i] = a, markup.Named(b, markup.F(a), markup.B(b)), row[i]
		buttons[i] = markup.Button{Text: b, Value: a, Style: markup.Danger}
	}
	for i := range rows {
		rows[i] = row
	}
	return markup.Message{Status: markup.Done, Title: markup.Spans(markup.F(a), markup.P("shop", b)), Blocks: []markup.Block{
		markup.Text(markup.F(a), markup.B(b)), markup.List(items...), markup.Fields(fields...), markup.Table(header, rows...), markup.Table(header, rows...),
		markup.Code("go", a, b), markup.Log(markup.Spans(markup.F(b)), strings.Split(a, " ")),
		markup.Spoiler(markup.Spans(markup.F(a)), markup.Table(header, rows...), markup.Code("", b, a), markup.Fields(fields...), markup.Spoiler(markup.Spans(markup.T(b)), markup.Text(markup.F(a)))),
		markup.Actions(buttons...), markup.Actions(buttons...),
	}}
}

// Whatever a message is made of, a workspace takes every form of it that is meant for it.
func FuzzWhatIsRenderedSlackTakes(f *testing.F) {
	for _, seed := range [][2]string{{"a", "b"}, {"word ", "<!channel>"}, {"漢💥", "é"}, {"\x00", "```"}, {"", " "}, {"\"\\\n", "&amp;"}, {"ab.cd ", "*_*"}} {
		for _, often := range []int{1, 40, 700} {
			for _, wide := range []int{0, 1, 11, 26} {
				f.Add(seed[0], seed[1], often, wide)
			}
		}
	}
	f.Fuzz(func(t *testing.T, a, b string, often, wide int) {
		if often < 0 || often > 4000 || wide < 0 || wide > 30 || (len(a)+len(b))*often*wide > 8<<10 {
			return
		}
		m := wordy(a, b, often, wide)
		for _, form := range []struct {
			name  string
			parts []markup.SlackMessage
			old   bool
		}{{"full", markup.Slack(m), false}, {"basic", markup.SlackBasic(m), true}} {
			for _, part := range form.parts {
				if why := botstest.SlackRefusal(part, form.old); why != "" {
					t.Fatalf("%s: %s", form.name, why)
				}
			}
		}
		for _, part := range markup.SlackText(m) {
			if strings.TrimSpace(part.Text) == "" || len([]rune(part.Text)) > 12_000 || part.Blocks != nil {
				t.Fatalf("text alone: %d bytes, %d blocks", len(part.Text), len(part.Blocks))
			}
		}
	})
}
