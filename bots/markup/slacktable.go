package markup

import (
	"strings"

	"github.com/slack-go/slack"
)

// What Slack lets a table hold, its header included, and how heavy one may be
// beside the rest of its message. (Slack's own limit of 10,000 characters in
// cells is further off.)
const (
	slackRows    = 100
	slackColumns = 20
	slackTable   = 8000
)

// table is a table where Slack takes one; else a list of its rows.
func (p *slackPage) table(b Block) {
	if !p.basic && !p.tabled {
		if table, size := slackGrid(b); table != nil {
			p.tabled = true
			p.add(table, size)
			return
		}
	}
	var rows [][][]Span
	for _, spans := range records(b) {
		rows = append(rows, [][]Span{spans})
	}
	p.items(rows)
}

// slackGrid is a table block with its weight, nil where the table is too large for one.
func slackGrid(b Block) (table *slack.TableBlock, size int) {
	if len(b.Header) == 0 || len(b.Header) > slackColumns || len(b.Rows) >= slackRows {
		return nil, 0
	}
	table = slack.NewTableBlock("")
	head := make([]slack.TableCell, len(b.Header))
	settings := make([]slack.ColumnSetting, len(b.Header))
	for i, h := range b.Header {
		head[i] = slackCell(Spans(T(h)), &size)
		settings[i] = slack.ColumnSetting{Align: slack.ColumnAlignmentLeft, IsWrapped: true}
	}
	table.AddRow(head...)
	for _, r := range b.Rows {
		if len(r) > len(b.Header) {
			return nil, 0
		}
		cells := make([]slack.TableCell, len(b.Header))
		for i := range cells {
			var spans []Span
			if i < len(r) {
				spans = r[i]
			}
			cells[i] = slackCell(spans, &size)
		}
		table.AddRow(cells...)
		if size > slackTable {
			return nil, 0
		}
	}
	return table.WithColumnSettings(settings...), size + 60*len(settings)
}

// slackCell is a cell; it adds its weight to size. In neither kind of cell does Slack read any markup.
func slackCell(spans []Span, size *int) slack.TableCell {
	plain := true
	for _, s := range spans {
		plain = plain && (s.Kind == SpanText || s.Kind == SpanForeign)
	}
	if text := strings.Join(strings.Fields(flat(spans)), " "); plain || text == "" {
		if text == "" {
			text = "–"
		}
		*size += weigh(text) - 60
		return slack.NewTableRawTextCell(text)
	}
	var elements []slack.RichTextSectionElement
	for _, s := range spans {
		if e := slackRich(s); e != nil {
			elements = append(elements, e)
			*size += weigh(s.Text+s.Stream) + len(s.URL)
		}
	}
	*size += 100
	return slack.NewTableRichTextCell(slack.NewRichTextSection(elements...))
}

// slackRich is a span as rich text, nil where it says nothing.
func slackRich(s Span) slack.RichTextSectionElement {
	text := visible(s.Text)
	var style *slack.RichTextSectionTextStyle
	switch s.Kind {
	case SpanBold:
		style = &slack.RichTextSectionTextStyle{Bold: true}
	case SpanCode:
		style = &slack.RichTextSectionTextStyle{Code: true}
	case SpanTopic:
		text = visible(place(s))
	case SpanMention:
		if slackMention(s.User) != "" {
			return slack.NewRichTextSectionUserElement(s.User, nil)
		}
	case SpanLink:
		if address, ok := safeURL(s.URL); ok {
			return slack.NewRichTextSectionLinkElement(address, strings.TrimSpace(text), nil)
		}
	}
	if text == "" {
		return nil
	}
	return slack.NewRichTextSectionTextElement(text, style)
}
