package markup

import (
	"regexp"
	"strings"
)

// dialect is how one chat writes the pieces of a line. Texts come as visible
// left them; what a dialect returns is never looked at again.
type dialect struct {
	plain   func(word string) string          // words without any character that formats
	code    func(text string) string          // shown literally
	bold    func(rendered string) string      // around plain and code
	label   func(text string) string          // the text of a link
	link    func(label, url string) string    // url is checked and safe in parentheses and angle brackets
	mention func(user string) string          // empty when the chat cannot mention that user
	topic   func(stream, topic string) string // nil when the chat has no such links; names are plain words
}

// formats finds what some chat would format, link or turn into a picture
// within a word: such a word is shown in a code span, where nothing is obeyed.
// Neither Zulip nor Slack knows a backslash escape.
var formats = regexp.MustCompile("[*`~\\[\\]<\\\\]|\\$\\$|@_" + // emphasis, code, links, TeX, silent mentions
	`|^_|_$|[^\pL\pN]_|_[^\pL\pN]` + // emphasis by underscore, which is none inside a word
	`|://|(?i:www\.|mailto:)|[\pL\pN]\.\pL{2,}` + // addresses, with and without a scheme
	`|:(?:[\w+-]*[A-Za-z_][\w+-]*|\+1|-1|100|1234):|&#?\w+;`) // emoji (not the time 09:00-17:00), entities

// forms tells whether a chat would format, link or turn something within a word. Most words have none of the marks.
func forms(word string) bool {
	return strings.ContainsAny(word, "*`~[]<\\$_:.&") && formats.MatchString(word)
}

// begins finds what starts a list, a quote, a heading, a rule, a table or a
// widget (/me, /poll, /todo) when it is the first word of a line. (A quote's
// mark is looked for as Slack gets it, too.)
var begins = regexp.MustCompile(`^(?:[-+=]$|[-=]{2,}|>|&gt;|#+$|/|\||\d+[.)]$)`)

// atoms renders a line as pieces; the line may be broken before any piece that begins with a space.
func (d dialect) atoms(spans []Span) []string {
	w := &writer{dialect: d, start: true}
	var run strings.Builder // neighbouring texts are read together, as a chat would
	flush := func() {
		w.add(w.words(run.String()))
		run.Reset()
	}
	for _, s := range spans {
		text, address, formed := d.worded(s)
		if !formed {
			run.WriteString(text)
			continue
		}
		flush()
		w.add(w.formed(s, address))
		run.WriteString(text)
	}
	flush()
	return w.out
}

// worded tells whether a span has a form of its own in this dialect. If not,
// text is all of it; if so, text is the words that stand behind the form, and
// address a link's, as it is written.
func (d dialect) worded(s Span) (text, address string, formed bool) {
	switch s.Kind {
	case SpanCode, SpanBold, SpanTopic:
		return "", "", true
	case SpanMention:
		if d.mention(s.User) != "" {
			return "", "", true
		}
	case SpanLink:
		if address, ok := safeURL(s.URL); ok {
			_, rest := labelled(s.Text)
			return rest, address, true
		}
	}
	return s.Text, "", false
}

// line renders a line, broken where it exceeds the budget.
func (d dialect) line(spans []Span) []string { return d.lines(spans, lineBudget) }

// lines is line with another budget.
func (d dialect) lines(spans []Span, budget int) []string {
	return breakLine(d.atoms(spans), budget)
}

// breakLine joins atoms into lines of at most budget UTF-16 units, which are
// never fewer than code points.
func breakLine(atoms []string, budget int) []string {
	var lines []string
	var b strings.Builder
	size := 0
	for _, a := range atoms {
		n := units(a)
		if size > 0 && size+n > budget {
			lines = append(lines, strings.TrimSpace(b.String()))
			b.Reset()
			size = 0
			if word, _, _ := strings.Cut(strings.TrimLeft(a, " "), " "); begins.MatchString(word) {
				a = zeroWidth + strings.TrimLeft(a, " ")
			}
		}
		b.WriteString(a)
		size += n
	}
	if rest := strings.TrimSpace(b.String()); rest != "" || len(lines) == 0 {
		lines = append(lines, rest)
	}
	return lines
}

// writer collects the atoms of one line.
type writer struct {
	dialect
	out   []string
	start bool // nothing is written yet
}

// add appends atoms, keeping apart two marks that would be read as one.
func (w *writer) add(atoms []string) {
	for _, a := range atoms {
		if a == "" {
			continue
		}
		if n := len(w.out); n > 0 && touches(w.out[n-1], a) {
			a = zeroWidth + a
		}
		w.out = append(w.out, a)
		w.start = false
	}
}

// What before and after are two marks that may mean something new together, such as "!" before "[".
const (
	marksBefore = "`*_~!@$:&#[<\\"
	marksAfter  = "`*_~[<@$&#"
)

func touches(before, after string) bool {
	return before != "" && after != "" && strings.IndexByte(marksBefore, before[len(before)-1]) >= 0 && strings.IndexByte(marksAfter, after[0]) >= 0
}

// words renders a text: each run of words that would format becomes one code
// span, without the punctuation around it.
func (w *writer) words(text string) []string {
	text = visible(text)
	var out, coded []string
	lead := "" // the space before the run of coded words, and what opens it
	flush := func(end string) {
		if len(coded) > 0 {
			out = append(out, w.coded(strings.Join(coded, " "), lead)...)
			out[len(out)-1] += end
			coded = nil
		}
	}
	space := ""
	first := w.start
	begun := false
	for word := range strings.SplitSeq(text, " ") {
		if begun {
			space = " "
		}
		begun = true
		if word == "" { // several spaces are one
			continue
		}
		if codes(word, first) {
			open, core, end := bare(word, first)
			if open != "" {
				flush("")
			}
			if len(coded) == 0 {
				lead = space + open
			}
			if coded = append(coded, core); end != "" {
				flush(end)
			}
		} else {
			flush("")
			if len(word) <= 400 { // and so of no more code points
				out = append(out, space+w.plain(word))
			} else {
				for j, piece := range cut(word, 400) {
					if j > 0 {
						space = ""
					}
					out = append(out, space+w.plain(piece))
				}
			}
		}
		first = false
	}
	flush("")
	if strings.HasSuffix(text, " ") {
		out = append(out, " ")
	}
	return out
}

// codes tells whether a word is shown in a code span; first, that a line begins with it.
func codes(word string, first bool) bool { return forms(word) || (first && begins.MatchString(word)) }

// bare takes from such a word a bracket that opens before it and the punctuation
// that ends it, where what is left is shown in a code span all the same.
func bare(word string, first bool) (open, core, end string) {
	core = word
	if rest, bracket := strings.CutPrefix(core, "("); bracket && codes(rest, first) {
		open, core = "(", rest
	}
	for {
		last := len(core) - 1
		mark := core[last:]
		closes := mark == ")" && strings.Count(core, ")") > strings.Count(core, "(")
		if !closes && !strings.Contains(".,;:!?", mark) || !codes(core[:last], first) {
			return open, core, end
		}
		core, end = core[:last], mark+end
	}
}

// coded renders a text as code spans, each after the space that stood before it; the first after lead.
func (w *writer) coded(text, lead string) []string {
	var out []string
	for _, piece := range cut(text, 400) {
		if shown := w.code(piece); shown != "" {
			out = append(out, lead+shown)
		}
		lead = ""
		if strings.HasSuffix(piece, " ") {
			lead = " "
		}
	}
	return out
}

// breakFree keeps two neighbouring code spans of one text apart.
func breakFree(atoms []string) []string {
	for i := 1; i < len(atoms); i++ {
		if touches(atoms[i-1], atoms[i]) {
			atoms[i] = zeroWidth + atoms[i]
		}
	}
	return atoms
}
