package markup

import (
	"regexp"
	"strings"
	"unicode/utf16"

	"github.com/slack-go/slack"
)

// Slack's limits of one message (UTF-16 units, which is how its clients count;
// the fallback text in bytes, since an edit takes no more).
const (
	slackBlocks   = 50
	slackSection  = 3000
	slackMessage  = 12_000 // all sections of a message together
	slackFallback = 4000
)

// SlackMessage is what one call to chat.postMessage or chat.update takes.
type SlackMessage struct {
	Text   string        `json:"text"` // what notifications and screen readers show
	Blocks []slack.Block `json:"blocks"`
}

// slackText is mrkdwn; texts are escaped, sections are verbatim so that
// nothing is linked that was not written as a link.
var slackText = dialect{
	plain:   slackEscape,
	code:    slackCode,
	bold:    func(rendered string) string { return "*" + rendered + "*" },
	label:   func(text string) string { return slackEscape(strings.ReplaceAll(text, "|", "∣")) },
	link:    func(label, url string) string { return "<" + strings.ReplaceAll(url, "&", "&amp;") + "|" + label + ">" },
	mention: slackMention,
}

var slackUser = regexp.MustCompile(`^[UW][A-Z0-9]{2,30}$`)

func slackMention(user string) string {
	if !slackUser.MatchString(user) {
		return ""
	}
	return "<@" + user + ">"
}

// wakes finds the names that call a whole channel where a workspace parses plain text.
var wakes = regexp.MustCompile(`(?i)@(channel|here|everyone|group)`)

var slackEscapes = strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;")

// slackEscape keeps a text from being read as a link, a mention or a call.
func slackEscape(text string) string {
	return wakes.ReplaceAllString(slackEscapes.Replace(text), "@"+zeroWidth+"$1")
}

// slackCode is a code span; mrkdwn has no longer fence for one, so backticks inside become look-alikes.
func slackCode(text string) string {
	text = strings.TrimSpace(text)
	if text == "" {
		return ""
	}
	return "`" + slackEscape(strings.ReplaceAll(text, "`", "ˋ")) + "`"
}

// Slack renders m as Block Kit with fallback text: one or more messages, each
// within Slack's limits of blocks and characters, divided between lines.
// Nothing of the document is left out of the blocks; the fallback text is the
// beginning and says so when there is more.
func Slack(m Message) []SlackMessage {
	var sections []string
	title := slackText.line(m.Title)
	title[0] = emoji[m.Status] + title[0]
	sections = append(sections, chunks(title, "", "")...)
	for _, b := range m.Blocks {
		sections = append(sections, slackBlock(b)...)
	}
	fallback := slackFallbackText(m)
	var out []SlackMessage
	size := 0
	for _, s := range sections {
		n := units(s)
		if len(out) == 0 || len(out[len(out)-1].Blocks) == slackBlocks || size+n > slackMessage {
			out = append(out, SlackMessage{Text: fallback})
			size = 0
		}
		last := &out[len(out)-1]
		last.Blocks = append(last.Blocks, slack.NewSectionBlock(slack.NewTextBlockObject(slack.MarkdownType, s, false, true), nil, nil))
		size += n
	}
	return out
}

// slackBlock renders a block as the texts of sections.
func slackBlock(b Block) []string {
	var lines []string
	switch b.Kind {
	case BlockText:
		lines = slackText.line(b.Spans)
	case BlockList:
		for _, r := range b.Rows {
			lines = append(lines, slackItem(join(r))...)
		}
	case BlockFields:
		for _, f := range b.Fields {
			lines = append(lines, slackText.line(append(Spans(B(f.Name+":"), T(" ")), f.Value...))...)
		}
	case BlockTable:
		for _, spans := range records(b) {
			lines = append(lines, slackItem(spans)...)
		}
	case BlockCode:
		return slackFence(b.Lines)
	case BlockLog:
		if len(b.Spans) > 0 {
			return append(chunks(slackText.line(b.Spans), "", ""), slackFence(b.Lines)...)
		}
		return slackFence(b.Lines)
	case BlockSpoiler:
		out := chunks(slackText.line(Spans(B(flat(b.Spans)))), "", "")
		for _, inner := range b.Blocks {
			out = append(out, slackBlock(inner)...)
		}
		return out
	}
	return chunks(lines, "", "")
}

// slackItem is one entry of a list.
func slackItem(spans []Span) []string {
	lines := slackText.line(spans)
	lines[0] = "• " + lines[0]
	return lines
}

// slackFence shows lines literally.
func slackFence(lines []string) []string {
	var shown []string
	for _, l := range literal(lines) {
		l = strings.ReplaceAll(l, "```", "ˋˋˋ")
		if units(slackEscape(l)) > lineBudget { // escaping makes five of one
			for _, piece := range cut(l, lineBudget/6) {
				shown = append(shown, slackEscape(piece))
			}
			continue
		}
		shown = append(shown, slackEscape(l))
	}
	return chunks(shown, "```\n", "\n```")
}

// chunks joins lines into texts of at most a section's length, each between
// before and after. Each line is within the budget already.
func chunks(lines []string, before, after string) []string {
	room := slackSection - units(before) - units(after)
	var out []string
	var cur []string
	size := 0
	flush := func() {
		if text := strings.Join(cur, "\n"); strings.TrimSpace(text) != "" {
			out = append(out, before+text+after)
		}
		cur, size = nil, 0
	}
	for _, l := range lines {
		n := units(l) + 1
		if size+n > room {
			flush()
		}
		cur = append(cur, l)
		size += n
	}
	flush()
	return out
}

// units is a text's length as Slack counts it.
func units(text string) int { return len(utf16.Encode([]rune(text))) }

// slackFallbackText is the plain text of m, escaped, as far as it fits.
func slackFallbackText(m Message) string {
	const more = "\n… more in the message"
	var b strings.Builder
	for i, line := range strings.Split(Plain(m), "\n") {
		line = slackEscape(line)
		if b.Len()+len(line)+1+len(more) > slackFallback {
			if i == 0 {
				b.WriteString(emoji[m.Status] + "a long message")
			}
			b.WriteString(more)
			break
		}
		if i > 0 {
			b.WriteByte('\n')
		}
		b.WriteString(line)
	}
	return b.String()
}
