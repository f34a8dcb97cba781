// Package terminal is chat at a terminal. It is a transport (Transport): a bot
// that is spoken with by typing, over a conversation that is a file (Transcript),
// without any chat. And it shows what other chats hold (View): Zulip Markdown as
// readable text of a given width, with colours when wanted. Whatever a message
// contains, nothing but the sequences written here reaches the terminal as one.
//
// It knows nothing of flags and the environment, nor of what messages are about.
package terminal

import (
	"regexp"
	"strings"

	"platform.dev/platform/bots/markup"
)

// narrowest is the least width that is kept: below it lines would be all breaks.
const narrowest = 20

// View is how messages are shown.
type View struct {
	Width  int  // columns; 0: lines are never broken
	Colour bool // with colour codes
	// Name is the name of the person with a user id, for mentions that give
	// nothing else; nil when no name is known.
	Name func(userID string) (name string, ok bool)
}

// Render is View.Render without names.
func Render(content string, width int, colour bool) string {
	return View{Width: width, Colour: colour}.Render(content)
}

// Render turns the content of a posted message (Zulip Markdown) into lines. A
// spoiler is shown open, its header after a ▾ and its body indented. Addresses
// are never broken: those that do not fit stand on lines of their own, those of a table
// below it. A line of code that is too long goes on after a ↪. The text ends
// without a line break.
func (v View) Render(content string) string {
	if v.Width > 0 {
		v.Width = max(v.Width, narrowest)
	}
	p := &page{width: v.Width, paint: painter(v.Colour)}
	p.blocks(strings.Split(harmless(v.named(content)), "\n"), "")
	return strings.Trim(strings.Join(p.lines, "\n"), "\n")
}

// Message renders a document as it is read where a chat holds it, so that a bot
// looks the same whether there is a chat or none.
func (v View) Message(m markup.Message) string {
	return v.Render(strings.Join(markup.Zulip(m), "\n"))
}

// byID is a mention by user id alone.
var byID = regexp.MustCompile(`@(_?)\*\*\|(\d+)\*\*`)

// named puts names where mentions give an id alone.
func (v View) named(content string) string {
	if v.Name == nil {
		return content
	}
	return byID.ReplaceAllStringFunc(content, func(mention string) string {
		m := byID.FindStringSubmatch(mention)
		name, ok := v.Name(m[2])
		if !ok {
			return mention
		}
		return "@" + m[1] + "**" + name + "|" + m[2] + "**"
	})
}

// page collects lines.
type page struct {
	width int
	paint painter
	lines []string
}

// blocks renders lines of Markdown, each behind a margin.
func (p *page) blocks(lines []string, margin string) {
	for i := 0; i < len(lines); {
		if f, ok := opening(lines[i]); ok {
			end := f.end(lines, i+1)
			p.fenced(f, lines[i+1:end], margin)
			i = end + 1
			continue
		}
		if rows := tableAt(lines[i:]); rows > 0 {
			p.table(lines[i:i+rows], margin)
			i += rows
			continue
		}
		p.line(lines[i], margin)
		i++
	}
}

// line renders one line: a heading, a list item, a quotation, or words. An empty line
// after an empty one, or at the beginning, is left out.
func (p *page) line(line, margin string) {
	text := strings.TrimSpace(line)
	if text == "" {
		if n := len(p.lines); n > 0 && strings.TrimSpace(p.lines[n-1]) != "" {
			p.lines = append(p.lines, "")
		}
		return
	}
	indent := margin + strings.Repeat(" ", min(indentation(line), 8))
	if level := len(text) - len(strings.TrimLeft(text, "#")); level > 0 && level <= 6 && strings.HasPrefix(text[level:], " ") {
		p.wrap(emphasise(inline(strings.TrimSpace(text[level:])), strong), margin, margin)
		return
	}
	for _, bullet := range []string{"* ", "- ", "+ "} {
		if item, ok := strings.CutPrefix(text, bullet); ok {
			p.wrap(inline(item), indent+"• ", indent+"  ")
			return
		}
	}
	if quoted, ok := strings.CutPrefix(text, ">"); ok {
		p.wrap(inline(strings.TrimSpace(quoted)), indent+"│ ", indent+"│ ")
		return
	}
	if number := numbered(text); number != "" {
		p.wrap(inline(strings.TrimSpace(text[len(number):])), indent+number+" ", indent+strings.Repeat(" ", len(number)+1))
		return
	}
	p.wrap(inline(text), margin, margin)
}

// numbered is the "12." of a numbered item, empty for any other text.
func numbered(text string) string {
	digits := len(text) - len(strings.TrimLeft(text, "0123456789"))
	if digits == 0 || digits > 4 || !strings.HasPrefix(text[digits:], ". ") {
		return ""
	}
	return text[:digits+1]
}

// indentation is how many columns of space a line begins with.
func indentation(line string) int { return len(line) - len(strings.TrimLeft(line, " ")) }
