package terminal

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// harmless makes foreign text safe to show: control characters become pictures
// (ESC is ␛), what would reorder the line becomes U+FFFD, and
// what takes no room and hides in words is left out. Line breaks stay; tabs widen.
func harmless(text string) string {
	text = strings.ToValidUTF8(text, "\ufffd")
	text = strings.NewReplacer("\r\n", "\n", "\t", "    ").Replace(text)
	return strings.Map(func(r rune) rune {
		switch {
		case r == '\n':
			return r
		case r == 0x200b || r == 0x2060 || r == 0xfeff || r == 0x00ad:
			return -1
		case r < 0x20:
			return 0x2400 + r
		case r == 0x7f:
			return 0x2421
		case unicode.IsControl(r), r == 0x061c, r == 0x200e, r == 0x200f, r == 0x2028, r == 0x2029,
			r >= 0x202a && r <= 0x202e, r >= 0x2066 && r <= 0x2069, r >= 0xe0000 && r <= 0xe007f:
			return utf8.RuneError
		}
		return r
	}, text)
}

// columns is how many columns of a terminal a text takes.
func columns(text string) (n int) {
	for _, r := range text {
		switch {
		case unicode.In(r, unicode.Mn, unicode.Me) || r == 0x200d || r >= 0xfe00 && r <= 0xfe0f:
		case r >= 0x1100 && wide(r):
			n += 2
		default:
			n++
		}
	}
	return n
}

// wide tells whether a character takes two columns: East Asian and most pictures.
func wide(r rune) bool {
	return r <= 0x115f || r >= 0x2e80 && r <= 0xa4cf || r >= 0xac00 && r <= 0xd7a3 || r >= 0xf900 && r <= 0xfaff ||
		r >= 0xfe30 && r <= 0xfe6f || r >= 0xff00 && r <= 0xff60 || r >= 0xffe0 && r <= 0xffe6 ||
		r >= 0x1f300 && r <= 0x1faff || r >= 0x20000 && r <= 0x3fffd ||
		r == 0x23f3 || r == 0x2705 || r == 0x274c || r == 0x26d4 || r == 0x2757
}

// word is what is not broken over lines: pieces that no space divides.
type word struct {
	pieces []run
	width  int
}

// words divides runs at their spaces.
func words(runs []run) (out []word) {
	open := false // the last word may go on in the next run
	for _, r := range runs {
		for i, part := range strings.Split(r.text, " ") {
			if i > 0 {
				open = false
			}
			if part == "" {
				continue
			}
			if !open {
				out = append(out, word{})
				open = true
			}
			w := &out[len(out)-1]
			w.pieces = append(w.pieces, run{part, r.style})
			w.width += columns(part)
		}
	}
	return out
}

// wrap writes runs as lines within the width: the first begins with first, the others with rest.
// A word longer than a line stands on one of its own.
func (p *page) wrap(runs []run, first, rest string) {
	var line strings.Builder
	line.WriteString(first)
	used, empty := columns(first), true
	for _, w := range words(runs) {
		if !empty && p.width > 0 && used+1+w.width > p.width {
			p.lines = append(p.lines, line.String())
			line.Reset()
			line.WriteString(rest)
			used, empty = columns(rest), true
		}
		if !empty {
			line.WriteByte(' ')
			used++
		}
		for _, piece := range w.pieces {
			line.WriteString(p.paint.in(piece.style, piece.text))
		}
		used += w.width
		empty = false
	}
	p.lines = append(p.lines, strings.TrimRight(line.String(), " "))
}
