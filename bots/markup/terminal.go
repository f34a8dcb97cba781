package markup

import (
	"strings"
)

// signs are the marks of statuses in plain text.
var signs = map[Status]string{Working: "… ", Done: "✓ ", Refused: "⊘ ", Failed: "✗ ", Notice: "i "}

// style is how a terminal shows something: the sequence before it, "" for as it is.
type style string

// The styles; every one ends with reset.
const (
	strong style = "\x1b[1m"
	mono   style = "\x1b[36m"
	faint  style = "\x1b[2m"
	green  style = "\x1b[32m"
	yellow style = "\x1b[33m"
	red    style = "\x1b[31m"
	reset        = "\x1b[0m"
)

// signStyles colours the marks.
var signStyles = map[Status]style{Working: yellow, Done: green, Refused: yellow, Failed: red, Notice: faint}

// Plain renders m as text without any form: for logs, mail and screen readers.
func Plain(m Message) string { return Terminal(m, 0, false) }

// minWidth is the narrowest terminal that is written for.
const minWidth = 20

// Terminal renders m for a terminal of the given width in columns (0: lines
// are never broken; below 20 it is taken as 20), with colours when asked. No
// line is wider, except for one that holds an address alone, which is to be
// opened or copied whole; a line of code goes on below behind "↪". Control and
// escape characters of texts are shown as pictures, so that a message never
// steers the terminal. The text ends without a line break.
func Terminal(m Message, width int, colour bool) string {
	if width > 0 {
		width = max(width, minWidth)
	}
	t := &terminal{width: width, colour: colour}
	title := append([]word{}, t.words(m.Title)...)
	if sign := signs[m.Status]; sign != "" {
		title = append([]word{{text: strings.TrimSpace(sign), style: signStyles[m.Status]}}, title...)
	}
	t.wrap(title, "", "  ")
	for _, b := range m.Blocks {
		t.block(b, "")
	}
	return strings.TrimRight(strings.Join(t.out, "\n"), "\n ")
}

// terminal collects lines.
type terminal struct {
	width  int
	colour bool
	out    []string
}

// word is what is not broken over lines.
type word struct {
	text  string
	style style
	glued bool // to the word before, without a space
	whole bool // an address, which is never divided
}

// words renders a line as words.
func (t *terminal) words(spans []Span) []word {
	var out []word
	spaced := true
	for _, s := range spans {
		text, look := visible(s.Text), style("")
		switch s.Kind {
		case SpanBold:
			look = strong
		case SpanCode:
			look = mono
		case SpanTopic:
			text, look = visible(place(s)), strong
		case SpanMention:
			text, look = "@"+text, strong
		case SpanLink:
			if address, ok := safeURL(s.URL); ok && text != s.URL {
				out, spaced = appendWords(out, text, "", spaced)
				out = append(out, word{text: "<" + address + ">", style: faint, whole: true})
				continue
			}
		}
		out, spaced = appendWords(out, text, look, spaced)
	}
	return out
}

// appendWords adds the words of a text; spaced tells whether a space came before, and is returned for the next.
func appendWords(out []word, text string, look style, spaced bool) ([]word, bool) {
	if text == "" {
		return out, spaced
	}
	glued := !spaced && !strings.HasPrefix(text, " ")
	for i, w := range strings.Fields(text) {
		address := strings.HasPrefix(w, "http://") || strings.HasPrefix(w, "https://")
		out = append(out, word{text: w, style: look, glued: i == 0 && glued && len(out) > 0, whole: address})
	}
	return out, strings.HasSuffix(text, " ")
}

// paint shows a text in a style.
func (t *terminal) paint(text string, look style) string {
	if !t.colour || look == "" || text == "" {
		return text
	}
	return string(look) + text + reset
}

// maxIndent is how far spoilers in spoilers are indented.
const maxIndent = 6

// block renders one block under an indentation.
func (t *terminal) block(b Block, indent string) {
	switch b.Kind {
	case BlockText:
		t.gap()
		t.wrap(t.words(b.Spans), indent, indent)
	case BlockList:
		for _, r := range b.Rows {
			t.wrap(t.words(join(r)), indent+"- ", indent+"  ")
		}
	case BlockFields:
		t.fields(b.Fields, indent)
	case BlockTable:
		t.gap()
		t.table(b, indent)
	case BlockCode:
		t.lines(b.Lines, indent+"    ")
	case BlockLog:
		t.gap()
		if len(b.Spans) > 0 {
			t.wrap(t.words(b.Spans), indent, indent)
		}
		t.lines(b.Lines, indent+"  | ")
	case BlockSpoiler:
		t.gap()
		t.wrap(t.words(Spans(B(flat(b.Spans)))), indent+"> ", indent+"> ")
		if len(indent) < maxIndent {
			indent += "  "
		}
		for _, inner := range b.Blocks {
			t.block(inner, indent)
		}
	}
}

// gap is an empty line before what would run into the lines above.
func (t *terminal) gap() {
	if n := len(t.out); n > 1 && t.out[n-1] != "" {
		t.out = append(t.out, "")
	}
}

// goesOn stands before what did not fit on the line of code above.
const goesOn = "↪ "

// lines shows literal lines behind a margin.
func (t *terminal) lines(lines []string, margin string) {
	for _, l := range literal(lines) {
		pieces := []string{l}
		if room := t.width - across(margin); t.width > 0 && across(l) > room {
			pieces = cutAcross(l, room-across(goesOn))
		}
		for i, piece := range pieces {
			before := margin
			if i > 0 {
				before += goesOn
			}
			t.out = append(t.out, strings.TrimRight(t.paint(before, faint)+piece, " "))
		}
	}
}

// fields aligns values behind their names, where the names leave room for values.
func (t *terminal) fields(fields []Field, indent string) {
	longest := 0
	for _, f := range fields {
		longest = max(longest, across(visible(f.Name)))
	}
	for _, f := range fields {
		if t.width > 0 && longest > t.width/3 {
			t.wrap(t.words(append(Spans(T(f.Name+": ")), f.Value...)), indent+"  ", indent+"    ")
			continue
		}
		name := visible(f.Name)
		pad := strings.Repeat(" ", longest-across(name)+1)
		t.wrap(t.words(f.Value), indent+"  "+name+":"+pad, indent+"  "+strings.Repeat(" ", longest+2))
	}
}

// table aligns columns; where they do not fit the width each row becomes one line that names its cells.
func (t *terminal) table(b Block, indent string) {
	rows := [][][]word{nil}
	for _, h := range b.Header {
		rows[0] = append(rows[0], []word{{text: visible(h), style: strong}})
	}
	for _, r := range b.Rows {
		cells := make([][]word, len(r))
		for i, c := range r {
			cells[i] = t.words(c)
		}
		rows = append(rows, cells)
	}
	widths, total := columns(rows, len(b.Header))
	if t.width > 0 && across(indent)+total > t.width {
		for _, spans := range records(b) {
			t.wrap(t.words(spans), indent+"- ", indent+"  ")
		}
		return
	}
	for _, r := range rows {
		line := indent
		for i, c := range r {
			for j, w := range c {
				if j > 0 && !w.glued {
					line += " "
				}
				line += t.paint(w.text, w.style)
			}
			if i < len(r)-1 && i < len(widths) {
				line += strings.Repeat(" ", widths[i]-abreast(c)+2)
			}
		}
		t.out = append(t.out, strings.TrimRight(line, " "))
	}
}

// columns measures a table: each column, and all with two spaces between.
func columns(rows [][][]word, n int) (widths []int, total int) {
	widths = make([]int, n)
	for _, r := range rows {
		for i, c := range r {
			if i < n {
				widths[i] = max(widths[i], abreast(c))
			}
		}
	}
	for _, w := range widths {
		total += w + 2
	}
	return widths, total - 2
}

// abreast is how many columns words take in one line.
func abreast(words []word) int {
	n := 0
	for i, w := range words {
		if i > 0 && !w.glued {
			n++
		}
		n += across(w.text)
	}
	return n
}
