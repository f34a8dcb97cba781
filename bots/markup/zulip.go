package markup

import (
	"regexp"
	"strconv"
	"strings"
	"unicode/utf8"
)

// ZulipLimit is the most code points of one Zulip message; the server cuts
// longer ones off without saying so.
const ZulipLimit = 10_000

// emoji are the marks of statuses in chats.
var emoji = map[Status]string{Working: "⏳ ", Done: "✅ ", Refused: "⛔ ", Failed: "❌ ", Notice: "ℹ️ "}

// zulip is the Markdown of Zulip.
var zulip = dialect{
	plain: silent,
	code:  zulipCode,
	bold:  func(rendered string) string { return "**" + rendered + "**" },
	label: func(text string) string { return strings.Join(breakFree(zulipWords(text)), "") },
	link:  func(label, url string) string { return "[" + label + "](" + url + ")" },
	topic: func(stream, topic string) string { return "#**" + stream + ">" + topic + "**" },
	mention: func(user string) string {
		if _, err := strconv.ParseUint(user, 10, 63); err != nil {
			return ""
		}
		return "@**|" + user + "**"
	},
}

// zulipWords renders the words of a link's text.
func zulipWords(text string) []string {
	w := writer{dialect: dialect{plain: silent, code: zulipCode}}
	return w.words(text)
}

// calls finds an at sign that could call somebody: before an asterisk, with or
// without the underscore of a silent mention, or before what is not known yet.
var calls = regexp.MustCompile(`@(_?\*|_?$)`)

// silent keeps every at sign of a text from calling anybody.
func silent(text string) string { return calls.ReplaceAllString(text, "@"+zeroWidth+"$1") }

// zulipCode is a code span between the shortest run of backticks that the text does not contain.
func zulipCode(text string) string {
	text = strings.TrimSpace(text)
	if text == "" {
		return ""
	}
	text = silent(text)
	runs := map[int]bool{}
	for _, run := range backticks.FindAllString(text, -1) {
		runs[len(run)] = true
	}
	n := 1
	for runs[n] {
		n++
	}
	if strings.HasPrefix(text, "`") || strings.HasSuffix(text, "`") {
		text = " " + text + " "
	}
	tick := strings.Repeat("`", n)
	return tick + text + tick
}

// longTicks is where a run of backticks is divided, so that a fence stays short beside the text.
var longTicks = regexp.MustCompile("`{20}")

var backticks = regexp.MustCompile("`+")

// fence is longer than any run of backticks in the lines.
func fence(lines []string) string {
	n := 2
	for _, l := range lines {
		for _, run := range backticks.FindAllString(l, -1) {
			n = max(n, len(run))
		}
	}
	return strings.Repeat("`", n+1)
}

// Zulip renders m as Zulip Markdown: one or more messages, each of at most
// ZulipLimit code points, divided between lines. Nothing is left out; from the
// second part on a line says which part it is. Texts are defused by the rules
// in zulip's own syntax: at signs that would call are followed by U+200B, and
// words that would format, link or become an emoji stand in code spans.
func Zulip(m Message) []string {
	z := &zulipText{}
	title := zulip.line(m.Title)
	title[0] = emoji[m.Status] + title[0]
	z.rows(title...)
	for i, b := range m.Blocks {
		z.block(b, i == 0)
	}
	return pack(z.out, ZulipLimit)
}

// row is one rendered line and the frame that it stands in.
type row struct {
	text string
	in   *frame
}

// frame is what surrounds rows: a fence with its first line and last line, or
// a table's header, repeated where a part begins inside.
type frame struct {
	outer *frame
	open  []string
	close string
}

// zulipText collects the rows of a message.
type zulipText struct {
	out []row
	in  *frame
}

func (z *zulipText) rows(lines ...string) {
	for _, l := range lines {
		z.out = append(z.out, row{l, z.in})
	}
}

// within adds lines inside a frame of their own.
func (z *zulipText) within(f *frame, add func()) {
	f.outer = z.in
	z.in = f
	add()
	z.in = f.outer
}

// block renders one block; first tells that only the title stands before it.
func (z *zulipText) block(b Block, first bool) {
	compact := first && b.Kind != BlockText && b.Kind != BlockTable
	if len(z.out) > 0 && !compact && z.out[len(z.out)-1].text != "" {
		z.rows("")
	}
	switch b.Kind {
	case BlockText:
		z.rows(zulip.line(b.Spans)...)
	case BlockList:
		for _, r := range b.Rows {
			z.item(join(r))
		}
	case BlockFields:
		for _, f := range b.Fields {
			z.item(append(Spans(B(f.Name+":"), T(" ")), f.Value...))
		}
	case BlockTable:
		z.table(b)
	case BlockCode:
		z.fenced(language(b.Lang), b.Lines)
	case BlockLog:
		if len(b.Spans) > 0 {
			z.rows(zulip.line(b.Spans)...)
		}
		z.fenced("text", b.Lines)
	case BlockSpoiler:
		z.spoiler(b)
	}
}

// item is one entry of a bulleted list.
func (z *zulipText) item(spans []Span) {
	for i, l := range zulip.line(spans) {
		if i > 0 {
			l = "  " + l
		} else {
			l = "* " + l
		}
		z.rows(l)
	}
}

// join puts the cells of a list's row into one line.
func join(cells [][]Span) []Span {
	var out []Span
	for i, c := range cells {
		if i > 0 {
			out = append(out, T(" · "))
		}
		out = append(out, c...)
	}
	return out
}

// table is a table, or, where a row is too wide for one line, a list of its cells.
func (z *zulipText) table(b Block) {
	head := make([]string, len(b.Header))
	rule := make([]string, len(b.Header))
	for i, h := range b.Header {
		head[i] = cell(Spans(T(h)))
		rule[i] = "---"
	}
	var lines []string
	for _, r := range b.Rows {
		cells := make([]string, len(b.Header))
		for i := range cells {
			if i < len(r) {
				cells[i] = cell(r[i])
			}
		}
		line := "| " + strings.Join(cells, " | ") + " |"
		if utf8.RuneCountInString(line) > lineBudget || len(r) > len(cells) {
			z.list(b)
			return
		}
		lines = append(lines, line)
	}
	open := []string{"| " + strings.Join(head, " | ") + " |", "| " + strings.Join(rule, " | ") + " |"}
	if len(lines) == 0 {
		z.rows(open...)
		return
	}
	z.within(&frame{open: open}, func() { z.rows(lines...) })
}

// cell renders spans for a table, where a bar would end the cell.
func cell(spans []Span) string {
	barless := make([]Span, len(spans))
	for i, s := range spans {
		s.Text = strings.ReplaceAll(s.Text, "|", "∣")
		barless[i] = s
	}
	return strings.Join(zulip.atoms(barless), "")
}

// list shows a table as a list: each row's first cell, and the others by name.
func (z *zulipText) list(b Block) {
	for _, spans := range records(b) {
		z.item(spans)
	}
}

// records makes each row of a table one line that names its cells.
func records(b Block) [][]Span {
	var out [][]Span
	for _, r := range b.Rows {
		var spans []Span
		for i, c := range r {
			switch {
			case i == 0:
			case i < len(b.Header):
				spans = append(spans, T(" · "+b.Header[i]+" "))
			default:
				spans = append(spans, T(" · "))
			}
			if len(c) == 0 {
				c = Spans(T("–"))
			}
			spans = append(spans, c...)
		}
		out = append(out, spans)
	}
	return out
}

// fenced shows lines literally.
func (z *zulipText) fenced(lang string, lines []string) {
	shown := literal(lines)
	for i, l := range shown {
		shown[i] = silent(longTicks.ReplaceAllString(l, "$0"+zeroWidth))
	}
	f := fence(shown)
	z.within(&frame{open: []string{f + lang}, close: f}, func() { z.rows(shown...) })
}

var langName = regexp.MustCompile(`^[a-z0-9+-]{1,20}$`)

// language is a name for a fence; Zulip obeys some names instead of colouring by them.
func language(name string) string {
	switch name {
	case "quote", "quoted", "spoiler", "math", "tex", "latex":
		return "text"
	}
	if !langName.MatchString(name) {
		return "text"
	}
	return name
}

// maxHeader is the most code points of a spoiler's header; the rest of a longer one is the first line inside.
const maxHeader = 120

func (z *zulipText) spoiler(b Block) {
	inside := &zulipText{}
	heads := cut(strings.TrimSpace(flat(b.Spans)), maxHeader)
	for _, rest := range heads[1:] {
		inside.rows(zulip.line(Spans(F(rest)))...)
	}
	for i, block := range b.Blocks {
		inside.block(block, i == 0)
	}
	if len(inside.out) == 0 {
		inside.rows("")
	}
	var all []string
	for _, r := range inside.out {
		all = append(all, r.text)
		for f := r.in; f != nil; f = f.outer {
			all = append(all, append(f.open, f.close)...)
		}
	}
	f := fence(all)
	z.within(&frame{open: []string{f + "spoiler " + header(heads[0])}, close: f}, func() {
		for _, r := range inside.out {
			z.out = append(z.out, row{r.text, nest(r.in, z.in)})
		}
	})
}

// nest puts the outermost frame of a chain into another.
func nest(chain, outer *frame) *frame {
	if chain == nil {
		return outer
	}
	for f := chain; ; f = f.outer {
		if f.outer == outer {
			return chain
		}
		if f.outer == nil {
			f.outer = outer
			return chain
		}
	}
}

// header writes a text where a backtick or a tilde would void the fence: those
// become look-alikes, and other characters that format are kept apart.
func header(text string) string {
	words := strings.Fields(text)
	for i, w := range words {
		if !formats.MatchString(w) && !begins.MatchString(w) {
			continue
		}
		var b strings.Builder
		for _, r := range strings.NewReplacer("`", "ˋ", "~", "∼", "*", "∗").Replace(w) {
			b.WriteRune(r)
			if strings.ContainsRune(".:/<&$[]#@_\\!", r) {
				b.WriteString(zeroWidth)
			}
		}
		words[i] = b.String()
	}
	return silent(strings.Join(words, " "))
}
