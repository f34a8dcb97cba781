package terminal

import (
	"slices"
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
			w.pieces = append(w.pieces, run{text: part, style: r.style})
			w.width += columns(part)
		}
	}
	return out
}

// wrap writes runs as lines within the width: the first begins with first, the others with rest.
// Addresses that would break the line follow on lines of their own, whole, so
// that a terminal can open them.
func (p *page) wrap(runs []run, first, rest string) {
	if said, to := apart(runs); len(to) > 0 && p.width > 0 && columns(first)+width(runs) > p.width {
		p.put(said, first, rest)
		p.references(to, rest)
		return
	}
	p.put(runs, first, rest)
}

// put breaks runs between words. A word longer than a line stands on one of its own.
func (p *page) put(runs []run, first, rest string) {
	margin := first
	for _, line := range broken(words(runs), p.room(first), p.room(rest)) {
		p.lines = append(p.lines, strings.TrimRight(margin+p.say(line), " "))
		margin = rest
	}
}

// room is how many columns are left behind a margin; 0: as many as it takes.
func (p *page) room(margin string) int {
	if p.width == 0 {
		return 0
	}
	return max(p.width-columns(margin), 1)
}

// broken divides words into lines of at most the given columns, where 0 is no limit; at least one line.
func broken(all []word, first, rest int) [][]word {
	lines, used, limit := [][]word{nil}, 0, first
	for _, w := range all {
		last := len(lines) - 1
		if len(lines[last]) > 0 && used+1+w.width > limit && limit > 0 {
			lines, used, limit = append(lines, nil), 0, rest
			last++
		}
		if len(lines[last]) > 0 {
			used++
		}
		lines[last] = append(lines[last], w)
		used += w.width
	}
	return lines
}

// say is words with a space between.
func (p *page) say(line []word) string {
	var text strings.Builder
	for i, w := range line {
		if i > 0 {
			text.WriteByte(' ')
		}
		for _, piece := range w.pieces {
			text.WriteString(p.paint.in(piece.style, piece.text))
		}
	}
	return text.String()
}

// references lists addresses, each once, with the words that lead there when
// there is more than one: before them where every line fits, else above them.
func (p *page) references(to []reference, margin string) {
	longest, reach := 0, 0
	var listed []reference
	for _, r := range to {
		if !slices.Contains(listed, r) {
			listed = append(listed, r)
			longest, reach = max(longest, columns(r.words)), max(reach, columns(r.address))
		}
	}
	beside := p.width == 0 || columns(margin)+longest+len(columnGap)+reach <= p.width
	for _, r := range listed {
		name := margin
		switch {
		case len(listed) == 1:
		case beside:
			name += r.words + strings.Repeat(" ", longest-columns(r.words)) + columnGap
		default:
			p.lines = append(p.lines, margin+r.words)
			name += "  "
		}
		p.lines = append(p.lines, name+p.paint.in(faint, r.address))
	}
}

// cut divides a text into pieces of at most n columns, each of one character at least.
func cut(text string, n int) (pieces []string) {
	start, used := 0, 0
	for i, r := range text {
		w := columns(string(r))
		if i > start && used+w > n {
			pieces, start, used = append(pieces, text[start:i]), i, 0
		}
		used += w
	}
	return append(pieces, text[start:])
}
