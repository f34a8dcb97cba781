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

// table renders rows in aligned columns, the header emphasised and underlined.
// Cells hold words alone: where their links lead is listed below. Columns that
// are too wide together are broken between words.
func (p *page) table(lines []string, margin string) {
	rows := [][][]run{cells(lines[0])}
	for i := range rows[0] {
		rows[0][i] = emphasise(rows[0][i], strong)
	}
	for _, l := range lines[2:] {
		rows = append(rows, cells(l))
	}
	to := lead(rows)
	widths := make([]int, len(rows[0]))
	for _, row := range rows {
		for i := range min(len(row), len(widths)) {
			widths[i] = max(widths[i], width(row[i]))
		}
	}
	if p.width > 0 {
		narrow(widths, p.width-columns(margin))
	}
	for n, row := range rows {
		p.row(row, widths, margin)
		if n == 0 {
			var under []string
			for _, w := range widths {
				under = append(under, strings.Repeat("─", w))
			}
			p.lines = append(p.lines, margin+strings.Join(under, columnGap))
		}
	}
	if len(to) > 0 {
		p.lines = append(p.lines, "")
		p.references(to, margin+"  ")
	}
}

// lead takes the addresses out of a table's cells. Where the same words lead
// to different places, the row's first cell, or else the column's header, tells them apart.
func lead(rows [][][]run) []reference {
	type found struct {
		reference
		row, column string
	}
	var all []found
	for _, row := range rows {
		for i := range row {
			said, to := apart(row[i])
			row[i] = said
			for _, r := range to {
				f := found{reference: r, row: flat(row[0])}
				if i < len(rows[0]) {
					f.column = flat(rows[0][i])
				}
				all = append(all, f)
			}
		}
	}
	out := make([]reference, len(all))
	for i, f := range all {
		out[i] = f.reference
		for _, other := range all {
			switch {
			case other.words != f.words || other.address == f.address:
			case other.row != f.row:
				out[i].words = f.row + " " + f.words
			case other.column != f.column:
				out[i].words = f.column + " " + f.words
			}
		}
	}
	return out
}

// columnGap stands between columns; below narrowestColumn none is narrowed.
const (
	columnGap       = "  "
	narrowestColumn = 8
)

// narrow takes columns off the widest until all fit, or none can give more.
func narrow(widths []int, room int) {
	total := (len(widths) - 1) * len(columnGap)
	for _, w := range widths {
		total += w
	}
	for ; total > room; total-- {
		widest := 0
		for i, w := range widths {
			if w > widths[widest] {
				widest = i
			}
		}
		if widths[widest] <= narrowestColumn {
			return
		}
		widths[widest]--
	}
}

// row is one row in columns, of as many lines as its cells need.
func (p *page) row(row [][]run, widths []int, margin string) {
	row = row[:min(len(row), len(widths))]
	folded := make([][][]word, len(row))
	height := 1
	for i, cell := range row {
		folded[i] = broken(pieces(words(cell), widths[i]), widths[i], widths[i])
		height = max(height, len(folded[i]))
	}
	for n := range height {
		var line strings.Builder
		line.WriteString(margin)
		for i := range row {
			var cell []word
			if n < len(folded[i]) {
				cell = folded[i][n]
			}
			line.WriteString(p.say(cell))
			line.WriteString(strings.Repeat(" ", max(widths[i]-long(cell), 0)) + columnGap)
		}
		p.lines = append(p.lines, strings.TrimRight(line.String(), " "))
	}
}

// pieces cuts words that are longer than a column.
func pieces(all []word, limit int) (out []word) {
	for _, w := range all {
		if w.width <= limit {
			out = append(out, w)
			continue
		}
		for _, r := range w.pieces {
			for _, piece := range cut(r.text, limit) {
				out = append(out, word{pieces: []run{{text: piece, style: r.style}}, width: columns(piece)})
			}
		}
	}
	return out
}

// long is how many columns a line of words takes.
func long(line []word) (n int) {
	for i, w := range line {
		if i > 0 {
			n++
		}
		n += w.width
	}
	return n
}

// width is how many columns runs take.
func width(runs []run) (n int) {
	for _, r := range runs {
		n += columns(r.text)
	}
	return n
}
