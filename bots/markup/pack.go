package markup

import (
	"fmt"
	"strings"
	"unicode/utf8"
)

// partLine is room for the line that numbers a part.
const partLine = 40

// nothing is said for a message without words; no chat takes an empty one.
const nothing = "(nothing to say)"

// pack divides rows into parts of at most limit code points, each complete in
// itself: the frames open at a border are closed before it and opened after it.
func pack(rows []row, limit int) []string {
	p := &packer{limit: limit - partLine}
	for _, r := range rows {
		p.add(r)
	}
	p.flush()
	if len(p.parts) == 0 {
		return []string{nothing}
	}
	if len(p.parts) > 1 {
		for i := range p.parts[1:] {
			p.parts[i+1] = fmt.Sprintf("(part %d of %d)\n%s", i+2, len(p.parts), p.parts[i+1])
		}
	}
	return p.parts
}

// packer fills one part after the other.
type packer struct {
	limit int
	parts []string
	lines []string
	size  int
	rows  int    // rows in the part, frames not counted
	open  *frame // the innermost frame open now
}

func (p *packer) add(r row) {
	if p.rows > 0 && p.size+p.moving(r.in)+length(r.text)+closing(r.in) > p.limit {
		p.flush()
	}
	if r.text == "" && p.rows == 0 && r.in == nil {
		return // no part begins with an empty line
	}
	p.move(r.in)
	p.line(r.text)
	p.rows++
}

func (p *packer) line(text string) {
	p.lines = append(p.lines, text)
	p.size += length(text)
}

// move closes the frames that do not surround to, and opens those that do.
func (p *packer) move(to *frame) {
	for p.open != nil && !surrounds(p.open, to) {
		if p.open.close != "" {
			p.line(p.open.close)
		}
		p.open = p.open.outer
	}
	var path []*frame
	for f := to; f != p.open; f = f.outer {
		path = append(path, f)
	}
	for i := len(path) - 1; i >= 0; i-- {
		for _, l := range path[i].open {
			p.line(l)
		}
	}
	p.open = to
}

// moving is what move(to) would add.
func (p *packer) moving(to *frame) int {
	n := 0
	at := p.open
	for at != nil && !surrounds(at, to) {
		n += length(at.close)
		at = at.outer
	}
	for f := to; f != at; f = f.outer {
		for _, l := range f.open {
			n += length(l)
		}
	}
	return n
}

// flush ends the part.
func (p *packer) flush() {
	p.move(nil)
	if text := strings.TrimRight(strings.Join(p.lines, "\n"), "\n "); text != "" {
		p.parts = append(p.parts, text)
	}
	p.lines, p.size, p.rows = nil, 0, 0
}

// surrounds tells whether f is inner or stands around it.
func surrounds(f, inner *frame) bool {
	for at := inner; at != nil; at = at.outer {
		if at == f {
			return true
		}
	}
	return false
}

// closing is what it takes to close a frame and those around it.
func closing(f *frame) int {
	n := 0
	for ; f != nil; f = f.outer {
		n += length(f.close)
	}
	return n
}

// length is a line's code points with its line break.
func length(line string) int { return utf8.RuneCountInString(line) + 1 }
