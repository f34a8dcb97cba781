package exec

import (
	"fmt"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"

	"platform.dev/platform/bots/markup"
)

// The bounds of a message of a program, beside those of its line.
const (
	maxBlocks = 50   // those within spoilers included
	maxSpans  = 200  // of one line
	maxText   = 4000 // code points of one span, name or line
	maxItems  = 200  // rows, items or fields of a block
	maxCells  = 10   // of a row
	maxLines  = 1000 // of code or output
)

var (
	kindName = regexp.MustCompile(`^[a-z0-9]+(-[a-z0-9]+)*$`)
	language = regexp.MustCompile(`^[A-Za-z0-9+#_-]{0,20}$`)
)

// statuses are those that a message may have.
var statuses = []markup.Status{markup.None, markup.Working, markup.Done, markup.Refused, markup.Failed, markup.Notice}

// tame makes a program's message one of ours: every text foreign, no mention, no
// link into the chat, no button, and addresses of the web alone. Its kind is
// "external." and the verb, and the kind that the program gives, if any. The
// error names field and value.
func tame(m markup.Message, verb string) (markup.Message, error) {
	switch {
	case !slices.Contains(statuses, m.Status):
		return markup.Message{}, fmt.Errorf("status %s: must be working, done, refused, failed, notice or empty", quoted(m.Status))
	case m.Kind != "" && (!kindName.MatchString(m.Kind) || len(m.Kind) > 40):
		return markup.Message{}, fmt.Errorf("kind %s: must be lower-case words with dashes between", quoted(m.Kind))
	case len(m.Title) == 0:
		return markup.Message{}, fmt.Errorf("title: a message needs one")
	}
	kind := "external." + verb
	if m.Kind != "" {
		kind += "." + m.Kind
	}
	t := tamer{}
	out := markup.Message{Kind: kind, Status: m.Status, Title: t.line("title", m.Title), Blocks: t.blocks("blocks", m.Blocks, 0)}
	if words(out.Title) == "" {
		t.fail("title: a message needs one")
	}
	return out, t.err
}

// tamer goes through a document and keeps the first thing that is wrong with it.
type tamer struct {
	err  error
	seen int
}

func (t *tamer) fail(format string, a ...any) {
	if t.err == nil {
		t.err = fmt.Errorf(format, a...)
	}
}

// blocks tames the body of a message or of a spoiler.
func (t *tamer) blocks(at string, in []markup.Block, depth int) []markup.Block {
	var out []markup.Block
	for i, b := range in {
		if t.seen++; t.seen > maxBlocks {
			t.fail("%s: a message has at most %d blocks", at, maxBlocks)
		}
		if t.err != nil {
			return nil
		}
		out = append(out, t.block(fmt.Sprintf("%s[%d]", at, i), b, depth))
	}
	return out
}

// block tames one block: what its kind reads is kept, and nothing else.
func (t *tamer) block(at string, b markup.Block, depth int) markup.Block {
	switch b.Kind {
	case markup.BlockText:
		return markup.Text(t.line(at+".spans", b.Spans)...)
	case markup.BlockFields:
		t.count(at+".fields", len(b.Fields), maxItems)
		var out []markup.Field
		for i, f := range b.Fields {
			name := t.text(fmt.Sprintf("%s.fields[%d].name", at, i), f.Name)
			out = append(out, markup.Named(name, t.line(fmt.Sprintf("%s.fields[%d].value", at, i), f.Value)...))
		}
		return markup.Fields(out...)
	case markup.BlockList:
		return markup.Block{Kind: markup.BlockList, Rows: t.rows(at, b.Rows, 1)}
	case markup.BlockTable:
		t.count(at+".header", len(b.Header), maxCells)
		if len(b.Header) == 0 {
			t.fail("%s.header: a table needs one", at)
		}
		var header []string
		for i, h := range b.Header {
			header = append(header, t.text(fmt.Sprintf("%s.header[%d]", at, i), h))
		}
		return markup.Block{Kind: markup.BlockTable, Header: header, Rows: t.rows(at, b.Rows, len(b.Header))}
	case markup.BlockCode:
		if !language.MatchString(b.Lang) {
			t.fail("%s.lang %s: must be a word", at, quoted(b.Lang))
		}
		return markup.Code(b.Lang, t.lines(at+".lines", b.Lines)...)
	case markup.BlockLog:
		return markup.Log(t.line(at+".spans", b.Spans), t.lines(at+".lines", b.Lines))
	case markup.BlockSpoiler:
		if depth > 0 {
			t.fail("%s: a spoiler within a spoiler is not shown", at)
		}
		return markup.Spoiler(t.line(at+".spans", b.Spans), t.blocks(at+".blocks", b.Blocks, depth+1)...)
	case markup.BlockActions:
		t.fail("%s.kind %s: a program's message has no buttons", at, quoted(b.Kind))
	default:
		t.fail("%s.kind %s: must be text, list, fields, table, code, log or spoiler", at, quoted(b.Kind))
	}
	return markup.Block{}
}

// rows tames rows of as many cells.
func (t *tamer) rows(at string, in [][][]markup.Span, cells int) [][][]markup.Span {
	t.count(at+".rows", len(in), maxItems)
	var out [][][]markup.Span
	for i, row := range in {
		if len(row) != cells {
			t.fail("%s.rows[%d]: it has %d cells; there must be %d", at, i, len(row), cells)
			return nil
		}
		var tamed [][]markup.Span
		for j, cell := range row {
			tamed = append(tamed, t.line(fmt.Sprintf("%s.rows[%d][%d]", at, i, j), cell))
		}
		out = append(out, tamed)
	}
	return out
}

// line tames the spans of one line.
func (t *tamer) line(at string, in []markup.Span) []markup.Span {
	t.count(at, len(in), maxSpans)
	var out []markup.Span
	for i, s := range in {
		text := t.text(fmt.Sprintf("%s[%d].text", at, i), s.Text)
		switch s.Kind {
		case markup.SpanText, markup.SpanForeign, "":
			out = append(out, markup.F(text))
		case markup.SpanBold:
			out = append(out, markup.B(text))
		case markup.SpanCode:
			out = append(out, markup.C(text))
		case markup.SpanLink:
			if !address(s.URL) {
				t.fail("%s[%d].url %s: must begin with http:// or https:// and name a host", at, i, quoted(s.URL))
			}
			out = append(out, markup.L(text, s.URL))
		case markup.SpanMention, markup.SpanTopic:
			t.fail("%s[%d].kind %s: a program mentions nobody and links into no chat", at, i, quoted(s.Kind))
		default:
			t.fail("%s[%d].kind %s: must be text, bold, code or link", at, i, quoted(s.Kind))
		}
	}
	return out
}

// text checks one text.
func (t *tamer) text(at, text string) string {
	if n := utf8.RuneCountInString(text); n > maxText {
		t.fail("%s: it has %d characters; there may be %d", at, n, maxText)
	}
	return text
}

// lines checks lines of code or output.
func (t *tamer) lines(at string, in []string) []string {
	t.count(at, len(in), maxLines)
	for i, l := range in {
		t.text(fmt.Sprintf("%s[%d]", at, i), l)
	}
	return in
}

// count checks how many there are of something.
func (t *tamer) count(at string, n, limit int) {
	if n > limit {
		t.fail("%s: there are %d; there may be %d", at, n, limit)
	}
}

// address tells whether a text is an address of the web.
func address(text string) bool {
	u, err := url.Parse(text)
	return err == nil && (u.Scheme == "http" || u.Scheme == "https") && u.Host != "" && u.User == nil && len(text) <= 2000
}

// words are the texts of a line.
func words(spans []markup.Span) string {
	var all []string
	for _, s := range spans {
		all = append(all, s.Text)
	}
	return strings.TrimSpace(strings.Join(all, ""))
}
