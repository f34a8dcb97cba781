package bots

import (
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"

	"platform.dev/platform/bots/markup"
)

// What is sent without being recorded is one message, whatever it is made of:
// of several, a part could be lost with whoever sends them.
func TestAnAnswerThatIsNotRecordedIsOneMessage(t *testing.T) {
	rows := func(n int) (rows [][][]markup.Span) {
		for range n {
			rows = append(rows, [][]markup.Span{markup.Spans(markup.T("x")), markup.Spans(markup.T("y"))})
		}
		return rows
	}
	shapes := map[string]markup.Block{
		"links":     markup.Text(markup.L("x", "https://example.com/"+strings.Repeat("a", 200))),
		"words":     markup.Text(markup.F(strings.Repeat("<&>", 30))),
		"lines":     markup.Code("", strings.Split(strings.Repeat("&\n", 30), "\n")...),
		"a list":    markup.List(slices.Repeat([][]markup.Span{markup.Spans(markup.F("it*em"))}, 12)...),
		"a table":   markup.Table([]string{"a", "b"}, rows(12)...),
		"a spoiler": markup.Spoiler(markup.Spans(markup.T("log")), markup.Code("", strings.Split(strings.Repeat("x\n", 30), "\n")...)),
	}
	recorded := 0
	for name, block := range shapes {
		m := markup.Message{Kind: "test.shape", Status: markup.Done, Title: markup.Spans(markup.T("shape"))}
		for n := 1; n <= 60; n++ {
			m.Blocks = append(m.Blocks, block)
			if !isBrief(m) {
				recorded++
				continue
			}
			for chat, parts := range map[string]int{
				"slack": len(markup.Slack(m)), "slack, plainer": len(markup.SlackBasic(m)), "slack, plain": len(markup.SlackText(m)), "zulip": len(markup.Zulip(m)),
			} {
				assert.Equal(t, 1, parts, "%s %d times in %s", name, n, chat)
			}
		}
	}
	assert.Positive(t, recorded, "some are too long")
}
