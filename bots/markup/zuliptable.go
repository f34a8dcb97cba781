package markup

import (
	"strings"
	"unicode/utf8"
)

// table is a table, or, where a row is too wide for one line, a list of its cells.
func (z *zulipText) table(b Block) {
	head := make([]string, len(b.Header))
	rule := make([]string, len(b.Header))
	for i, h := range b.Header {
		head[i] = cell(Spans(T(h)))
		rule[i] = "---"
	}
	open := []string{"| " + strings.Join(head, " | ") + " |", "| " + strings.Join(rule, " | ") + " |"}
	if wide := utf8.RuneCountInString(open[0]+open[1]) > z.budget; wide || len(head) == 0 {
		z.list(b)
		return
	}
	var lines []string
	for _, r := range b.Rows {
		cells := make([]string, len(b.Header))
		for i := range cells {
			if i < len(r) {
				cells[i] = cell(r[i])
			}
		}
		line := "| " + strings.Join(cells, " | ") + " |"
		if utf8.RuneCountInString(line) > z.budget || len(r) > len(cells) {
			z.list(b)
			return
		}
		lines = append(lines, line)
	}
	if len(lines) == 0 {
		z.rows(open...)
		return
	}
	z.within(&frame{open: open}, func() { z.rows(lines...) })
}

// cell renders spans for a table, where a bar would end the cell. A mention by
// id has a bar in it, so that a person is named there and not called.
func cell(spans []Span) string {
	in := zulip
	in.mention = func(string) string { return "" }
	barless := make([]Span, len(spans))
	for i, s := range spans {
		s.Text, s.Stream = strings.ReplaceAll(s.Text, "|", "∣"), strings.ReplaceAll(s.Stream, "|", "∣")
		barless[i] = s
	}
	return strings.Join(in.atoms(barless), "")
}

// list shows a table as a list: each row's first cell, and the others by name.
func (z *zulipText) list(b Block) {
	for _, spans := range records(b) {
		z.item(spans)
	}
}

// records makes each row of a table one line that names its cells; a table without rows is its header.
func records(b Block) [][]Span {
	var out [][]Span
	if len(b.Rows) == 0 && len(b.Header) > 0 {
		return append(out, Spans(T(strings.Join(b.Header, " · "))))
	}
	for _, r := range b.Rows {
		var spans []Span
		for i, c := range r {
			if i > 0 {
				spans = append(spans, T(" · "))
			}
			if i < len(b.Header) && b.Header[i] != "" {
				spans = append(spans, T(b.Header[i]+" "))
			}
			if len(c) == 0 {
				c = Spans(T("–"))
			}
			spans = append(spans, c...)
		}
		out = append(out, spans)
	}
	return out
}
