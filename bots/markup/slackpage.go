package markup

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/slack-go/slack"
)

// What Slack lets one block hold, and how long a field may be to stand beside another.
const (
	slackFields      = 10
	slackFieldText   = 2000
	slackButtons     = 25
	slackButtonText  = 75
	slackButtonValue = 100 // ours; Slack takes 2,000
	slackChildren    = 10
	slackFold        = 10_000 // the children of one container, by weight
	shortField       = 60     // code points of a name with its value
)

// slackPage collects the blocks of a message.
type slackPage struct {
	basic  bool // only sections, contexts and buttons, as inside a fold
	bare   bool // no header and no buttons: everything is mrkdwn
	tabled bool // Slack takes one table in a message
	out    []slackPiece
}

// slackPiece is a block and its weight.
type slackPiece struct {
	block slack.Block
	size  int
}

func (p *slackPage) add(block slack.Block, size int) {
	p.out = append(p.out, slackPiece{block, size})
}

// sections adds lines of mrkdwn.
func (p *slackPage) sections(lines []string) { p.texts(chunks(lines, "", "")) }

func (p *slackPage) texts(texts []string) {
	for _, text := range texts {
		p.add(slack.NewSectionBlock(slackObject(text), nil, nil), weigh(text))
	}
}

// slackObject is text in mrkdwn, with nothing linked but what is written as a link.
func slackObject(text string) *slack.TextBlockObject {
	return slack.NewTextBlockObject(slack.MarkdownType, text, false, true)
}

// slackPlain is text that is shown as it is.
func slackPlain(text string) *slack.TextBlockObject {
	return slack.NewTextBlockObject(slack.PlainTextType, text, false, false)
}

// slackContext is a small line.
func slackContext(text string) slack.Block { return slack.NewContextBlock("", slackObject(text)) }

// unplain finds what plain text in Slack might not show as it is: emoji names and entities.
var unplain = regexp.MustCompile(`[<>&]|:[\w+-]+:`)

// title is a header where it heads something and its words say all there is; else a section.
func (p *slackPage) title(m Message) {
	words := emoji[m.Status] + strings.Join(strings.Fields(flat(m.Title)), " ")
	formed := slices.ContainsFunc(m.Title, func(s Span) bool {
		return s.Kind == SpanLink || s.Kind == SpanMention || s.Kind == SpanTopic
	})
	if len(m.Blocks) > 0 && !p.bare && !formed && words != emoji[m.Status] && units(words) <= slackHeader && !unplain.MatchString(words) {
		p.add(slack.NewHeaderBlock(slackPlain(words)), weigh(words))
		return
	}
	lines := mrkdwn.line(m.Title)
	lines[0] = emoji[m.Status] + lines[0]
	p.sections(lines)
}

// block adds one block of the document.
func (p *slackPage) block(b Block) {
	switch b.Kind {
	case BlockText:
		p.sections(mrkdwn.line(b.Spans))
	case BlockList:
		p.items(b.Rows)
	case BlockFields:
		p.fields(b.Fields)
	case BlockTable:
		p.table(b)
	case BlockCode:
		p.literal(b.Lines)
	case BlockLog:
		if len(b.Spans) > 0 {
			for _, text := range chunks(mrkdwn.line(b.Spans), "", "") {
				p.add(slackContext(text), weigh(text))
			}
		}
		p.literal(b.Lines)
	case BlockSpoiler:
		p.fold(b)
	case BlockActions:
		if !p.bare {
			p.buttons(b.Buttons)
		}
	}
}

// items adds a bulleted list.
func (p *slackPage) items(rows [][][]Span) {
	var lines []string
	for _, r := range rows {
		item := mrkdwn.line(join(r))
		item[0] = "• " + item[0]
		lines = append(lines, item...)
	}
	p.sections(lines)
}

// fields stand side by side where all of them are short, else one under the other.
func (p *slackPage) fields(fields []Field) {
	beside := len(fields) > 1
	var under []string
	texts := make([]string, 0, len(fields))
	for _, f := range fields {
		name, value := mrkdwn.line(Spans(B(f.Name+":"))), mrkdwn.line(f.Value)
		text := strings.TrimSpace(strings.Join(name, "\n") + "\n" + strings.Join(value, "\n"))
		texts = append(texts, text)
		under = append(under, mrkdwn.line(append(Spans(B(f.Name+":"), T(" ")), f.Value...))...)
		beside = beside && utf8.RuneCountInString(f.Name+flat(f.Value)) <= shortField && units(text) <= slackFieldText
	}
	if !beside {
		p.sections(under)
		return
	}
	for some := range slices.Chunk(texts, slackFields) {
		objects, size := make([]*slack.TextBlockObject, len(some)), 0
		for i, text := range some {
			objects[i] = slackObject(text)
			size += weigh(text)
		}
		p.add(slack.NewSectionBlock(nil, objects, nil), size)
	}
}

// literal shows lines as they are.
func (p *slackPage) literal(lines []string) {
	var shown []string
	for _, l := range literal(lines) {
		if !p.basic {
			shown = append(shown, cutUnits(l, lineBudget, 2)...)
			continue
		}
		for _, piece := range cutUnits(strings.ReplaceAll(l, "```", "ˋˋˋ"), lineBudget, 6) { // escaping makes five of one
			shown = append(shown, slackEscape(piece))
		}
	}
	if p.basic {
		p.texts(chunks(shown, "```\n", "\n```"))
		return
	}
	for _, text := range chunks(shown, "", "") {
		p.add(slack.NewRichTextBlock("", &slack.RichTextPreformatted{
			Type: slack.RTEPreformatted, Elements: []slack.RichTextSectionElement{slack.NewRichTextSectionTextElement(text, nil)},
		}), weigh(text)+weigh(""))
	}
}

// cutUnits divides a line that might, escaped, exceed n units; worst is the most units of a code point.
func cutUnits(line string, n, worst int) []string {
	if units(slackEscape(line)) <= n {
		return []string{line}
	}
	return cut(line, n/worst)
}

// fold is a container that is opened by hand. Slack lets a container hold ten
// blocks and no other container; what is more goes on in the next one.
func (p *slackPage) fold(b Block) {
	heads := cutWords(flat(b.Spans), maxHeader)
	if units(heads[0]) > maxHeader {
		heads = cutWords(flat(b.Spans), maxHeader/2)
	}
	inside := &slackPage{basic: true, bare: p.bare}
	for _, rest := range heads[1:] {
		inside.sections(mrkdwn.line(Spans(F(rest))))
	}
	for _, inner := range b.Blocks {
		inside.block(inner)
	}
	if p.basic || len(inside.out) == 0 {
		if heads[0] != "" {
			p.sections(mrkdwn.line(Spans(B(heads[0]))))
		}
		p.out = append(p.out, inside.out...)
		return
	}
	p.contain(heads[0], inside.out)
}

// contain adds pieces in as many containers as they need.
func (p *slackPage) contain(head string, pieces []slackPiece) {
	var groups []*slack.ContainerBlock
	var sizes []int
	for _, piece := range pieces {
		last := len(groups) - 1
		if last < 0 || sizes[last]+piece.size > slackFold || len(groups[last].ChildBlocks.BlockSet) == slackChildren {
			groups = append(groups, slack.NewContainerBlock().WithCollapsible(true, true))
			sizes = append(sizes, weigh(head)+weigh(""))
			last++
		}
		groups[last].AddChildBlock(piece.block)
		sizes[last] += piece.size
	}
	if head == "" {
		head = "…"
	}
	for i, g := range groups {
		title := head
		if len(groups) > 1 {
			title = fmt.Sprintf("%s (%d of %d)", head, i+1, len(groups))
		}
		p.add(g.WithTitle(slackPlain(title)), sizes[i])
	}
}

// buttons adds those that can be pressed.
func (p *slackPage) buttons(all []Button) {
	var elements []slack.BlockElement
	size := 0
	for _, b := range all {
		text := []rune(strings.TrimSpace(visible(b.Text)))
		if len(text) == 0 || b.Value == "" || len(b.Value) > slackButtonValue || !utf8.ValidString(b.Value) {
			continue
		}
		if units(string(text)) > slackButtonText {
			text = append(text[:min(len(text), slackButtonText/2)], '…')
		}
		button := slack.NewButtonBlockElement("button-"+strconv.Itoa(len(elements)), b.Value, slackPlain(string(text)))
		if b.Style == Primary || b.Style == Danger {
			button.Style = slack.Style(b.Style)
		}
		elements = append(elements, button)
		size += weigh(b.Value) + weigh(string(text))
		if len(elements)%slackButtons == 0 {
			p.add(slack.NewActionBlock("", elements[len(elements)-slackButtons:]...), size)
			size = 0
		}
	}
	if size > 0 {
		p.add(slack.NewActionBlock("", elements[len(elements)/slackButtons*slackButtons:]...), size)
	}
}
