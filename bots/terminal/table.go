package terminal

import (
	"regexp"
	"strings"
)

// divider is the second line of a table.
var divider = regexp.MustCompile(`^\s*\|?\s*:?-+:?\s*(\|\s*:?-+:?\s*)*\|?\s*$`)

// tableAt is how many lines the table takes that lines begin with; 0 when they begin with none.
func tableAt(lines []string) int {
	if len(lines) < 2 || !strings.Contains(lines[0], "|") || !strings.Contains(lines[1], "|") || !divider.MatchString(lines[1]) {
		return 0
	}
	n := 2
	for n < len(lines) && strings.Contains(lines[n], "|") {
		n++
	}
	return n
}

// cells divides a row. An escaped bar belongs to its cell.
func cells(row string) (out [][]run) {
	row = strings.TrimSpace(row)
	row = strings.TrimSuffix(strings.TrimPrefix(row, "|"), "|")
	const bar = "\x00" // cannot be in a harmless text
	for cell := range strings.SplitSeq(strings.ReplaceAll(row, `\|`, bar), "|") {
		out = append(out, inline(strings.TrimSpace(strings.ReplaceAll(cell, bar, "|"))))
	}
	return out
}

// table renders rows in aligned columns, the header emphasised and underlined. Cells are never broken.
func (p *page) table(lines []string, margin string) {
	rows := [][][]run{cells(lines[0])}
	for i := range rows[0] {
		rows[0][i] = emphasise(rows[0][i], strong)
	}
	for _, l := range lines[2:] {
		rows = append(rows, cells(l))
	}
	widths := make([]int, len(rows[0]))
	for _, row := range rows {
		for i := range min(len(row), len(widths)) {
			widths[i] = max(widths[i], width(row[i]))
		}
	}
	for n, row := range rows {
		p.lines = append(p.lines, p.row(row, widths, margin))
		if n == 0 {
			var under []string
			for _, w := range widths {
				under = append(under, strings.Repeat("─", w))
			}
			p.lines = append(p.lines, margin+strings.Join(under, "  "))
		}
	}
}

// row is one row in columns.
func (p *page) row(row [][]run, widths []int, margin string) string {
	var line strings.Builder
	line.WriteString(margin)
	for i, cell := range row {
		for _, r := range cell {
			line.WriteString(p.paint.in(r.style, r.text))
		}
		if i < len(row)-1 && i < len(widths) {
			line.WriteString(strings.Repeat(" ", widths[i]-width(cell)+2))
		}
	}
	return strings.TrimRight(line.String(), " ")
}

// width is how many columns runs take.
func width(runs []run) (n int) {
	for _, r := range runs {
		n += columns(r.text)
	}
	return n
}
