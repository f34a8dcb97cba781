package terminal

import "strings"

// fence is the beginning of a fenced block.
type fence struct {
	marks string // "```", or more, or tildes
	kind  string // "spoiler", "quote", a language, or empty
	rest  string // a spoiler's header
}

// opening reads a line that opens a fence. As in Zulip, marks in the words
// after backticks void it.
func opening(line string) (fence, bool) {
	text := strings.TrimSpace(line)
	for _, mark := range []string{"`", "~"} {
		marks := text[:len(text)-len(strings.TrimLeft(text, mark))]
		if len(marks) < 3 {
			continue
		}
		words := strings.TrimSpace(text[len(marks):])
		if strings.ContainsAny(words, "`~") {
			return fence{}, false
		}
		kind, rest, _ := strings.Cut(words, " ")
		return fence{marks: marks, kind: strings.ToLower(kind), rest: strings.TrimSpace(rest)}, true
	}
	return fence{}, false
}

// end is the index of the line that closes the fence: one with its marks alone.
// A fence that nothing closes reaches to the end.
func (f fence) end(lines []string, from int) int {
	for i := from; i < len(lines); i++ {
		if strings.TrimSpace(lines[i]) == f.marks {
			return i
		}
	}
	return len(lines)
}

// codeMargin stands before each line of code.
const codeMargin = "  "

// fenced renders the inside of a fence.
func (p *page) fenced(f fence, inside []string, margin string) {
	switch f.kind {
	case "spoiler":
		header := f.rest
		if header == "" {
			header = "Spoiler"
		}
		p.wrap(emphasise(inline(header), strong), margin+"▾ ", margin+"  ")
		p.blocks(inside, margin+"  ")
	case "quote":
		p.blocks(inside, margin+"│ ")
	default:
		for _, l := range inside {
			p.code(l, margin+codeMargin)
		}
	}
}

// goesOn stands before what did not fit on the line of code above.
const goesOn = "↪ "

// code writes one line of code; where it is longer than the page is wide, it goes on below.
func (p *page) code(line, margin string) {
	first := line
	if p.width > 0 {
		first = cut(line, p.room(margin))[0]
	}
	p.lines = append(p.lines, margin+p.paint.in(mono, first))
	if rest := line[len(first):]; rest != "" {
		for _, piece := range cut(rest, p.room(margin+goesOn)) {
			p.lines = append(p.lines, margin+p.paint.in(faint, goesOn)+p.paint.in(mono, piece))
		}
	}
}
