package bots

import (
	"fmt"
	"slices"
	"strings"

	"platform.dev/platform/bots/markup"
)

// How much of what changed between two plans one message tells.
const (
	changesShown = 12
	changeSpans  = 24 // of one row
)

// planRow is one line of a plan: what it is about, and what is said of it.
type planRow struct {
	about string // the same in both plans for what is to be compared; unique in its plan
	spans []markup.Span
}

// changesBetween tells in words how a plan differs from what was shown of it
// before, a row each: what is said otherwise, what came to it, what is gone. Rows
// beyond changesShown are counted. Empty when both read the same.
func changesBetween(before, now markup.Message) (rows [][]markup.Span) {
	was, is := planRows(before), planRows(now)
	at := func(rows []planRow, about string) int {
		return slices.IndexFunc(rows, func(r planRow) bool { return r.about == about })
	}
	for _, r := range is {
		i := at(was, r.about)
		switch {
		case i < 0:
			rows = append(rows, append(markup.Spans(markup.T("new: ")), r.spans...))
		case !slices.Equal(was[i].spans, r.spans):
			rows = append(rows, changedRow(was[i].spans, r.spans))
		}
	}
	for _, r := range was {
		if at(is, r.about) < 0 {
			rows = append(rows, append(markup.Spans(markup.T("no longer: ")), r.spans...))
		}
	}
	if beyond := len(rows) - changesShown; beyond > 0 {
		rows = append(rows[:changesShown], markup.Spans(markup.T("and "+count(beyond, "change")+" more")))
	}
	return rows
}

// changedRow is a row as it is now, with the part that it said otherwise before:
// "shop-web: 4f2a91c → 5e6f7a8 (was 9f8e7d6)".
func changedRow(was, is []markup.Span) []markup.Span {
	lead := 0
	for lead < len(was) && lead < len(is) && was[lead] == is[lead] {
		lead++
	}
	tail := 0
	for tail < len(was)-lead && tail < len(is)-lead && was[len(was)-1-tail] == is[len(is)-1-tail] {
		tail++
	}
	row := slices.Clone(is)
	if gone := was[lead : len(was)-tail]; len(gone) > 0 {
		return append(append(append(row, markup.T(" (was ")), gone...), markup.T(")"))
	}
	return append(row, markup.T(" (was said without "), markup.F(strings.TrimLeft(words(is[lead:len(is)-tail]), ", ")), markup.T(")"))
}

// words is what spans say, without their forms.
func words(spans []markup.Span) string {
	var b strings.Builder
	for _, s := range spans {
		b.WriteString(s.Text)
	}
	return b.String()
}

// planRows are the lines of a plan: its items, fields and table rows by what
// they begin with, its sentences by where they stand.
func planRows(m markup.Message) []planRow {
	c := &planLines{seen: map[string]int{}}
	c.add("title", m.Title)
	c.blocks(m.Blocks)
	return c.rows
}

// planLines collects the lines of a plan.
type planLines struct {
	rows []planRow
	seen map[string]int // how many rows are about the same
}

// add appends a line; the second line about the same is another.
func (c *planLines) add(about string, spans []markup.Span) {
	c.seen[about]++
	shown := make([]markup.Span, 0, min(len(spans), changeSpans+1))
	for _, s := range spans {
		if len(shown) == changeSpans {
			shown = append(shown, markup.T(" …"))
			break
		}
		s.Text = short(s.Text)
		shown = append(shown, s)
	}
	c.rows = append(c.rows, planRow{about: fmt.Sprintf("%s/%d", about, c.seen[about]), spans: shown})
}

func (c *planLines) blocks(blocks []markup.Block) {
	for _, b := range blocks {
		switch b.Kind {
		case markup.BlockText:
			c.add("text", b.Spans)
		case markup.BlockList:
			for _, item := range b.Rows {
				for _, line := range item {
					c.add("item "+subject(line), line)
				}
			}
		case markup.BlockFields:
			for _, f := range b.Fields {
				c.add("field "+f.Name, append(markup.Spans(markup.T(f.Name+": ")), f.Value...))
			}
		case markup.BlockTable:
			for _, row := range b.Rows {
				c.row(b.Header, row)
			}
		case markup.BlockCode, markup.BlockLog:
			for _, line := range b.Lines {
				c.add("line "+line, markup.Spans(markup.C(line)))
			}
		case markup.BlockSpoiler:
			c.add("text", b.Spans)
			c.blocks(b.Blocks)
		case markup.BlockActions:
		}
	}
}

// row is a row of a table as a line: the first cell, then the others by their column.
func (c *planLines) row(header []string, cells [][]markup.Span) {
	if len(cells) == 0 {
		return
	}
	line := slices.Clone(cells[0])
	for i, cell := range cells[1:] {
		name := ", "
		if i+1 < len(header) {
			name += header[i+1] + " "
		}
		line = append(append(line, markup.T(name)), cell...)
	}
	c.add("row "+words(cells[0]), line)
}

// subject is what an item of a list is about: the name that it begins with, else all of it.
func subject(line []markup.Span) string {
	if len(line) > 1 && line[0].Kind != markup.SpanText {
		return line[0].Text
	}
	return words(line)
}
