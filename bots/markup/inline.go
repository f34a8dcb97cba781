package markup

import (
	"net/url"
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

// begins finds what starts a list, a quote, a heading, a rule, a table or a
// widget (/me, /poll, /todo) when it is the first word of a line.
var begins = regexp.MustCompile(`^(?:[-+]$|[-=]{2,}|>|#+$|/|\||\d+[.)]$)`)

// atoms renders a line as pieces; the line may be broken before any piece that begins with a space.
func (d dialect) atoms(spans []Span) []string {
	w := &writer{dialect: d, start: true}
	var run strings.Builder // neighbouring texts are read together, as a chat would
	flush := func() {
		w.add(w.words(run.String()))
		run.Reset()
	}
	for _, s := range spans {
		if s.Kind == SpanText || s.Kind == SpanForeign {
			run.WriteString(s.Text)
			continue
		}
		flush()
		w.add(w.formed(s))
	}
	flush()
	return w.out
}

// line renders a line, broken where it exceeds the budget.
func (d dialect) line(spans []Span) []string {
	return breakLine(d.atoms(spans), lineBudget)
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

// words renders a text: each run of words that would format becomes one code span.
func (w *writer) words(text string) []string {
	text = visible(text)
	var out, coded []string
	lead := "" // the space before the run of coded words
	flush := func() {
		if len(coded) > 0 {
			for i, piece := range cut(strings.Join(coded, " "), 400) {
				if i > 0 {
					lead = ""
				}
				out = append(out, lead+w.code(piece))
			}
			coded = nil
		}
	}
	space := ""
	first := w.start
	for i, word := range strings.Split(text, " ") {
		if i > 0 {
			space = " "
		}
		if word == "" { // several spaces are one
			continue
		}
		if formats.MatchString(word) || (first && begins.MatchString(word)) {
			if len(coded) == 0 {
				lead = space
			}
			coded = append(coded, word)
		} else {
			flush()
			for j, piece := range cut(word, 400) {
				if j > 0 {
					space = ""
				}
				out = append(out, space+w.plain(piece))
			}
		}
		first = false
	}
	flush()
	if strings.HasSuffix(text, " ") {
		out = append(out, " ")
	}
	return out
}

// formed renders a span that has a form of its own.
func (w *writer) formed(s Span) []string {
	switch s.Kind {
	case SpanCode:
		var out []string
		for _, piece := range cut(visible(s.Text), 400) {
			if piece != "" {
				out = append(out, w.code(piece))
			}
		}
		return out
	case SpanBold:
		var out []string
		for _, piece := range cut(visible(s.Text), 300) {
			inner := strings.Join(breakFree(w.words(piece)), "")
			trimmed := strings.TrimSpace(inner)
			if trimmed == "" {
				out = append(out, inner)
				continue
			}
			before, after, _ := strings.Cut(inner, trimmed)
			out = append(out, before+w.bold(trimmed)+after)
		}
		return out
	case SpanLink:
		address, ok := safeURL(s.URL)
		text := strings.TrimSpace(visible(s.Text))
		if !ok {
			return w.words(text)
		}
		if text == "" {
			text = s.URL
		}
		label, rest := text, ""
		if pieces := cut(text, maxLabel); len(pieces) > 1 {
			label, rest = pieces[0], text[len(pieces[0]):]
		}
		return append([]string{w.link(w.label(label), address)}, w.words(rest)...)
	case SpanMention:
		if m := w.mention(s.User); m != "" {
			if n := len(w.out); n > 0 && !strings.HasSuffix(w.out[n-1], " ") && !strings.HasSuffix(w.out[n-1], "(") {
				m = " " + m // a chat reads a mention only after a space or a bracket
			}
			return []string{m}
		}
		return w.words(s.Text)
	}
	if s.Kind == SpanTopic {
		if w.topic != nil && plainName.MatchString(s.Stream) && plainName.MatchString(s.Text) {
			return []string{w.topic(s.Stream, s.Text)}
		}
		return []string{w.code(visible(place(s)))}
	}
	return w.words(s.Text)
}

// plainName is a stream's or topic's name without a character that ends or changes a link.
var plainName = regexp.MustCompile(`^[\pL\pN][\pL\pN ._-]{0,59}$`)

// place writes a topic for chats that have no links to topics.
func place(s Span) string { return "#" + s.Stream + " > " + s.Text }

// breakFree keeps two neighbouring code spans of one text apart.
func breakFree(atoms []string) []string {
	for i := 1; i < len(atoms); i++ {
		if touches(atoms[i-1], atoms[i]) {
			atoms[i] = zeroWidth + atoms[i]
		}
	}
	return atoms
}

// The longest address shown as a link, in bytes as the longest of the dialects
// writes it, and the most code points of its text; a longer text goes on beside the link.
const (
	maxURL   = 1500
	maxLabel = 100
)

// safeURL checks that an address is http or https with a host, and writes it
// so that no chat's link syntax can end early in it.
func safeURL(address string) (string, bool) {
	u, err := url.Parse(address)
	if err != nil || (u.Scheme != "http" && u.Scheme != "https") || u.Host == "" || u.User != nil {
		return "", false
	}
	var b strings.Builder
	for _, c := range []byte(u.String()) {
		if c <= ' ' || c >= 0x7f || strings.IndexByte("()<>|*`\\\"'^{}@~$", c) >= 0 {
			const hex = "0123456789ABCDEF"
			b.WriteByte('%')
			b.WriteByte(hex[c>>4])
			b.WriteByte(hex[c&15])
			continue
		}
		b.WriteByte(c)
	}
	written := b.String()
	return written, len(written)+4*strings.Count(written, "&") <= maxURL
}
