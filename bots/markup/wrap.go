package markup

import "strings"

// wrap writes words as lines: the first begins with first, the others with
// rest. A word wider than a line is divided, and so are words that are glued.
func (t *terminal) wrap(words []word, first, rest string) {
	l := &line{t: t, rest: rest}
	l.begin(first)
	for i, w := range words {
		if !w.glued && !l.empty {
			n := across(w.text)
			for j := i + 1; j < len(words) && words[j].glued; j++ {
				n += across(words[j].text)
			}
			if !l.fits(1 + n) {
				l.end()
			} else {
				l.put(word{text: " "}, 1)
			}
		}
		stays := w.glued && i > 0 && words[i-1].whole && across(w.text) <= 2 // a full stop stays with its address
		pieces := []string{w.text}
		if t.width > 0 && !w.whole && !stays {
			pieces = cutAcross(w.text, max(2, t.width-across(rest)))
		}
		for _, piece := range pieces {
			n := across(piece)
			if !l.empty && !stays && !l.fits(n) {
				l.end()
			}
			l.put(word{text: piece, style: w.style}, n)
		}
	}
	l.end()
}

// line is a line being written.
type line struct {
	t     *terminal
	rest  string // what the next line begins with
	text  strings.Builder
	used  int  // columns
	empty bool // no word yet
}

func (l *line) begin(with string) {
	l.text.Reset()
	l.text.WriteString(with)
	l.used, l.empty = across(with), true
}

// fits tells whether n columns more are within the terminal's width.
func (l *line) fits(n int) bool { return l.t.width == 0 || l.used+n <= l.t.width }

func (l *line) put(w word, n int) {
	l.text.WriteString(l.t.paint(w.text, w.style))
	l.used += n
	l.empty = false
}

// end puts the line out and begins the next.
func (l *line) end() {
	l.t.out = append(l.t.out, strings.TrimRight(l.text.String(), " "))
	l.begin(l.rest)
}
