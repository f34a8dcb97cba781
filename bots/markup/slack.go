package markup

import (
	"fmt"
	"regexp"
	"strings"
	"unicode/utf16"

	"github.com/slack-go/slack"
)

// Slack's limits of one message, in UTF-16 units, which is how its clients
// count; the fallback text in bytes, since an edit takes no more. Slack refuses
// the blocks of a message beyond about 13,000 characters of their JSON
// (msg_blocks_too_long, measured by others; it documents no figure).
const (
	slackBlocks   = 50
	slackSection  = 3000
	slackHeader   = 150
	slackMessage  = 12_000 // all blocks of a message together, by weight
	slackFallback = 4000
)

// SlackMessage is what one call to chat.postMessage or chat.update takes.
type SlackMessage struct {
	Text   string        `json:"text"` // what notifications and screen readers show: at most 4,000 bytes
	Blocks []slack.Block `json:"blocks"`
}

// Slack renders m as Block Kit with fallback text: one or more messages, each
// within Slack's limits of blocks and characters, divided between lines. A
// title of words alone over other blocks is a header, fields a section's
// fields, the first table a table, code and logs preformatted text, a log's
// caption a context, a spoiler a container that is folded, buttons an actions
// block. Nothing of the document is left out of the blocks, except for buttons
// that could not be pressed (Button says which); the fallback text is the
// beginning and says so when there is more. A later message says which part it is.
func Slack(m Message) []SlackMessage { return slackMessages(m, &slackPage{}) }

// SlackBasic renders m as Slack does, for a workspace that refuses the newer
// blocks (the answer invalid_blocks): tables are lists, code stands in fences
// and spoilers are open.
func SlackBasic(m Message) []SlackMessage { return slackMessages(m, &slackPage{basic: true}) }

// slackText is the most of one message of text alone, in bytes, where that can be: an edit takes no more.
const slackText = slackFallback - 100

// SlackText renders m as text alone, in Slack's markup and without any block, for
// where every block is refused: the last way to say something. Buttons are left
// out, as the words beside them say how to answer otherwise.
func SlackText(m Message) []SlackMessage {
	p := &slackPage{basic: true, bare: true}
	p.title(m)
	for _, b := range m.Blocks {
		p.block(b)
	}
	var parts []string
	for _, piece := range p.out {
		text := SlackWords([]slack.Block{piece.block})
		if n := len(parts); n > 0 && len(parts[n-1])+len(text) < slackText {
			parts[n-1] += "\n" + text
		} else {
			parts = append(parts, text)
		}
	}
	if len(parts) == 0 {
		parts = []string{nothing}
	}
	out := make([]SlackMessage, len(parts))
	for i, text := range parts {
		if i > 0 {
			text = fmt.Sprintf("(part %d of %d)\n%s", i+1, len(parts), text)
		}
		out[i] = SlackMessage{Text: text}
	}
	return out
}

func slackMessages(m Message, p *slackPage) []SlackMessage {
	p.title(m)
	for _, b := range m.Blocks {
		p.block(b)
	}
	if len(p.out) == 0 {
		p.sections([]string{nothing})
	}
	var parts [][]slack.Block
	size := 0
	for _, piece := range p.out {
		if n := len(parts); n == 0 || len(parts[n-1]) == slackBlocks-1 || size+piece.size > slackMessage {
			parts = append(parts, nil)
			size = weigh(nothing) // the line that numbers the part
		}
		last := &parts[len(parts)-1]
		*last = append(*last, piece.block)
		size += piece.size
	}
	fallback := slackFallbackText(m)
	first, _, _ := strings.Cut(fallback, "\n")
	out := make([]SlackMessage, len(parts))
	for i, blocks := range parts {
		out[i] = SlackMessage{Text: fallback, Blocks: blocks}
		if i > 0 {
			part := fmt.Sprintf("(part %d of %d)", i+1, len(parts))
			out[i] = SlackMessage{Text: part + " " + first, Blocks: append([]slack.Block{slackContext(part)}, blocks...)}
		}
	}
	return out
}

// mrkdwn is Slack's markup; texts are escaped, and text objects are verbatim
// so that nothing is linked that was not written as a link.
var mrkdwn = dialect{
	plain:   slackEscape,
	code:    slackCode,
	bold:    func(rendered string) string { return "*" + rendered + "*" },
	label:   slackLabel,
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
	text = slackEscapes.Replace(text)
	if strings.Contains(text, "@") {
		text = wakes.ReplaceAllString(text, "@"+zeroWidth+"$1")
	}
	return text
}

// slackLabel is the text of a link, in which there are no code spans; a bar would end it.
func slackLabel(text string) string {
	return slackEscape(strings.ReplaceAll(unformed(text), "|", "∣"))
}

// slackCode is a code span; mrkdwn has no longer fence for one, so backticks inside become look-alikes.
func slackCode(text string) string {
	text = strings.TrimSpace(text)
	if text == "" {
		return ""
	}
	return "`" + slackEscape(strings.ReplaceAll(text, "`", "ˋ")) + "`"
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
func units(text string) int {
	n := 0
	for _, r := range text {
		n += utf16.RuneLen(r)
	}
	return n
}

// weigh is at least what a text adds to the JSON of a message's blocks, with
// the frame around it, where everything beyond ASCII is written as \uXXXX.
func weigh(text string) int {
	n := 100
	for _, r := range text {
		switch {
		case r == '"' || r == '\\' || r == '\n':
			n += 2
		case r < 0x80:
			n++
		default:
			n += 6 * utf16.RuneLen(r)
		}
	}
	return n
}

// slackFallbackText is the plain text of m, escaped, as far as it fits.
func slackFallbackText(m Message) string {
	const more = "\n… more in the message"
	var b strings.Builder
	for i, line := range strings.Split(Plain(m), "\n") {
		if pieces := cut(line, slackFallback/10); i == 0 && len(pieces) > 1 { // a rune escaped takes five bytes at most
			line = pieces[0] + "…"
		}
		line = slackEscape(line)
		if b.Len()+len(line)+1+len(more) > slackFallback {
			b.WriteString(more)
			break
		}
		if i > 0 {
			b.WriteByte('\n')
		}
		b.WriteString(line)
	}
	if text := b.String(); strings.TrimSpace(text) != "" {
		return text
	}
	return nothing
}
