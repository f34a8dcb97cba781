package markup_test

import (
	"fmt"
	"regexp"
	"strings"
	"unicode/utf16"

	"github.com/slack-go/slack"

	"platform.dev/platform/bots/markup"
)

// The oracle of Slack: what a message would do there beyond showing words, and
// where it breaks a limit of Block Kit. It reads the blocks by Slack's published
// rules and by none of this package's code.

var (
	slackEntity = regexp.MustCompile(`<[^>]*>?`)
	slackBroken = regexp.MustCompile(`&(?:[^alg]|a[^m]|l[^t]|g[^t]|$)`)
	slackWakes  = regexp.MustCompile(`(?i)@(?:channel|here|everyone|group)`)
	slackFenced = regexp.MustCompile("(?s)```.*?```")
	slackInCode = regexp.MustCompile("`[^`\n]+`")
	slackForms  = []struct {
		what string
		form *regexp.Regexp
	}{
		{"bold", regexp.MustCompile(`(?m)(?:^|[^\pL\pN])\*[^*\s][^*\n]*\*`)},
		{"slanted", regexp.MustCompile(`(?m)(?:^|[^\pL\pN])_[^_\s][^_\n]*_(?:$|[^\pL\pN])`)},
		{"struck", regexp.MustCompile(`(?m)(?:^|[^\pL\pN])~[^~\s][^~\n]*~`)},
		{"emoji", regexp.MustCompile(`:[a-z][\w+-]*:|:(?:\+1|-1|100|1234):`)},
		{"quote", regexp.MustCompile(`(?m)^ *&gt;`)},
		{"half a code span", regexp.MustCompile("`")},
	}
)

// slackReading is what the oracle found in one message.
type slackReading struct {
	acts   []act
	faults []string
	chars  int
}

func (r *slackReading) fault(format string, args ...any) {
	r.faults = append(r.faults, fmt.Sprintf(format, args...))
}

// readSlack reads one message.
func readSlack(m markup.SlackMessage) slackReading {
	r := &slackReading{}
	if m.Text == "" || len(m.Text) > 4000 {
		r.fault("fallback of %d bytes", len(m.Text))
	}
	r.entities(m.Text, true)
	if n := len(m.Blocks); n == 0 || n > 50 {
		r.fault("%d blocks", n)
	}
	tables := 0
	for _, b := range m.Blocks {
		if b.BlockType() == slack.MBTTable {
			tables++
		}
		r.block(b, false)
	}
	if tables > 1 {
		r.fault("%d tables", tables)
	}
	if r.chars > 12_000 {
		r.fault("%d characters in all", r.chars)
	}
	return *r
}

func (r *slackReading) block(b slack.Block, folded bool) {
	switch b := b.(type) {
	case *slack.HeaderBlock:
		r.plain(b.Text, 150)
	case *slack.SectionBlock:
		r.section(b)
	case *slack.ContextBlock:
		if n := len(b.ContextElements.Elements); n == 0 || n > 10 {
			r.fault("a context of %d", n)
		}
		for _, e := range b.ContextElements.Elements {
			r.mrkdwn(e.(*slack.TextBlockObject), 3000)
		}
	case *slack.ActionBlock:
		r.actions(b)
	case *slack.RichTextBlock:
		if folded {
			r.fault("rich text in a container")
		}
		r.rich(b.Elements)
	case *slack.TableBlock:
		r.table(b)
	case *slack.ContainerBlock:
		if err := b.Validate(); err != nil || folded {
			r.fault("container: %v, within another: %t", err, folded)
		}
		r.plain(b.Title, 150)
		for _, inner := range b.ChildBlocks.BlockSet {
			r.block(inner, true)
		}
	default:
		r.fault("a block of type %T", b)
	}
}

func (r *slackReading) section(b *slack.SectionBlock) {
	if (b.Text == nil) == (len(b.Fields) == 0) || len(b.Fields) > 10 {
		r.fault("a section with text %v and %d fields", b.Text, len(b.Fields))
	}
	if b.Text != nil {
		r.mrkdwn(b.Text, 3000)
	}
	for _, f := range b.Fields {
		r.mrkdwn(f, 2000)
	}
}

func (r *slackReading) actions(b *slack.ActionBlock) {
	if n := len(b.Elements.ElementSet); n == 0 || n > 25 {
		r.fault("%d buttons in a block", n)
	}
	ids := map[string]bool{}
	for _, e := range b.Elements.ElementSet {
		button := e.(*slack.ButtonBlockElement)
		r.plain(button.Text, 75)
		if ids[button.ActionID] || button.Value == "" || len(button.Value) > 100 || (button.Style != "" && button.Style != "primary" && button.Style != "danger") {
			r.fault("button %+v", button)
		}
		ids[button.ActionID] = true
	}
}

func (r *slackReading) table(b *slack.TableBlock) {
	if len(b.Rows) > 100 || len(b.ColumnSettings) > 20 {
		r.fault("a table of %d rows", len(b.Rows))
	}
	for _, row := range b.Rows {
		if len(row) == 0 || len(row) > 20 || len(row) != len(b.Rows[0]) {
			r.fault("a row of %d cells", len(row))
		}
		for _, cell := range row {
			switch cell := cell.(type) {
			case *slack.TableRawTextCell:
				r.count(cell.Text, 10_000)
			case *slack.TableRichTextCell:
				r.rich(cell.Elements)
			default:
				r.fault("a cell of type %T", cell)
			}
		}
	}
}

// count takes a text into account; none may be empty.
func (r *slackReading) count(text string, limit int) {
	n := len(utf16.Encode([]rune(text)))
	if n == 0 || n > limit {
		r.fault("a text of %d, where %d are allowed: %.100q", n, limit, text)
	}
	r.chars += n
}

// plain is a text in which Slack reads at most emoji names, and none when told so.
func (r *slackReading) plain(t *slack.TextBlockObject, limit int) {
	if t.Type != "plain_text" || t.Emoji == nil || *t.Emoji {
		r.fault("plain text of kind %s with emoji", t.Type)
	}
	r.count(t.Text, limit)
}

// mrkdwn is a text that Slack reads, without looking for addresses and names of its own accord.
func (r *slackReading) mrkdwn(t *slack.TextBlockObject, limit int) {
	if t.Type != "mrkdwn" || !t.Verbatim {
		r.fault("text of kind %s, verbatim %t", t.Type, t.Verbatim)
	}
	r.count(t.Text, limit)
	text := r.entities(t.Text, false)
	text = slackInCode.ReplaceAllString(slackFenced.ReplaceAllString(text, "\x00"), "\x00")
	for _, f := range slackForms {
		for _, m := range f.form.FindAllString(text, -1) {
			r.acts = append(r.acts, act{f.what, m})
		}
	}
}

// entities reads what stands in angle brackets, which Slack obeys even in code,
// and returns the text with links as their labels.
func (r *slackReading) entities(text string, fallback bool) string {
	if m := slackWakes.FindString(text); m != "" {
		r.acts = append(r.acts, act{"call", m})
	}
	if m := slackBroken.FindString(text); m != "" {
		r.fault("half an entity %q in %.200q", m, text)
	}
	return slackEntity.ReplaceAllStringFunc(text, func(entity string) string {
		inner, whole := strings.CutSuffix(strings.TrimPrefix(entity, "<"), ">")
		address, label, _ := strings.Cut(inner, "|")
		switch {
		case !whole || fallback:
			r.fault("an open bracket %q", entity)
		case strings.HasPrefix(address, "http://"), strings.HasPrefix(address, "https://"):
			r.acts = append(r.acts, act{"link", address})
		default:
			r.acts = append(r.acts, act{"call", entity})
		}
		return label
	})
}

func (r *slackReading) rich(elements []slack.RichTextElement) {
	for _, e := range elements {
		var inner []slack.RichTextSectionElement
		switch e := e.(type) {
		case *slack.RichTextSection:
			inner = e.Elements
		case *slack.RichTextPreformatted:
			inner = e.Elements
		default:
			r.fault("rich text of type %T", e)
		}
		if len(inner) == 0 {
			r.fault("rich text of nothing")
		}
		for _, s := range inner {
			switch s := s.(type) {
			case *slack.RichTextSectionTextElement:
				r.count(s.Text, 10_000)
			case *slack.RichTextSectionLinkElement:
				r.acts = append(r.acts, act{"link", s.URL})
				if !strings.HasPrefix(s.URL, "http://") && !strings.HasPrefix(s.URL, "https://") {
					r.fault("a link to %q", s.URL)
				}
			case *slack.RichTextSectionUserElement:
				r.acts = append(r.acts, act{"call", s.UserID})
			default:
				r.fault("rich text of type %T", s)
			}
		}
	}
}

// slackSectionOf is a section of a text as it is.
func slackSectionOf(text string) slack.Block {
	return slack.NewSectionBlock(slack.NewTextBlockObject("mrkdwn", text, false, true), nil, nil)
}
