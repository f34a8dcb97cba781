package markup

import (
	"regexp"
	"strconv"
	"strings"
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
func silent(text string) string {
	if !strings.Contains(text, "@") {
		return text
	}
	return calls.ReplaceAllString(text, "@"+zeroWidth+"$1")
}

// zulipCode is a code span between the shortest run of backticks that the text does not contain.
func zulipCode(text string) string {
	text = strings.TrimSpace(text)
	if text == "" {
		return ""
	}
	text = silent(longTicks.ReplaceAllString(text, "$0"+zeroWidth))
	if !strings.Contains(text, "`") {
		return "`" + text + "`"
	}
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

// minZulip is the least limit that ZulipWithin keeps to: a link with its label needs as much.
const minZulip = 4000

// Zulip renders m as Zulip Markdown: one or more messages, each of at most
// ZulipLimit code points, divided between lines. Nothing is left out; from the
// second part on a line says which part it is. Texts are defused by the rules
// in zulip's own syntax: at signs that would call are followed by U+200B, and
// words that would format, link or become an emoji stand in code spans.
func Zulip(m Message) []string { return ZulipWithin(m, ZulipLimit) }

// ZulipWithin renders m for a server whose messages hold limit code points
// (max_message_length of its /register). A limit below 4,000 is taken as 4,000.
func ZulipWithin(m Message, limit int) []string {
	limit = max(limit, minZulip)
	z := &zulipText{budget: min(limit/4, lineBudget)}
	title := z.line(m.Title)
	title[0] = emoji[m.Status] + title[0]
	z.rows(title...)
	z.blocks(m.Blocks, true)
	return pack(z.out, limit)
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
	out    []row
	in     *frame
	budget int // of one row
	deep   int // spoilers around
}

// line renders a line within the budget.
func (z *zulipText) line(spans []Span) []string { return zulip.lines(spans, z.budget) }

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

// blocks renders blocks; first tells that only a title stands before them. Zulip has no buttons.
func (z *zulipText) blocks(all []Block, first bool) {
	for _, b := range all {
		if b.Kind == BlockActions {
			continue
		}
		z.block(b, first)
		first = false
	}
}

// block renders one block; first tells that only the title stands before it.
func (z *zulipText) block(b Block, first bool) {
	compact := first && b.Kind != BlockText && b.Kind != BlockTable
	if len(z.out) > 0 && !compact && z.out[len(z.out)-1].text != "" {
		z.rows("")
	}
	switch b.Kind {
	case BlockText:
		z.rows(z.line(b.Spans)...)
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
			z.rows(z.line(b.Spans)...)
		}
		z.fenced("text", b.Lines)
	case BlockSpoiler:
		z.spoiler(b)
	}
}

// item is one entry of a bulleted list.
func (z *zulipText) item(spans []Span) {
	for i, l := range z.line(spans) {
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

// fenced shows lines literally.
func (z *zulipText) fenced(lang string, lines []string) {
	var shown []string
	for _, l := range literal(lines) {
		for _, piece := range cut(l, z.budget) {
			shown = append(shown, silent(longTicks.ReplaceAllString(piece, "$0"+zeroWidth)))
		}
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
