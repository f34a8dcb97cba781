package chat

import (
	"regexp"
	"strings"
)

// maxNesting is how deep quotes and spoilers may stand in each other; a fence
// further down is text.
const maxNesting = 20

// sectionKind tells what a part of a message is.
type sectionKind int

const (
	sectionText sectionKind = iota
	sectionCode
	sectionQuote
	sectionSpoiler
)

// section is a part of a message between its fences.
type section struct {
	kind   sectionKind
	lang   string
	header string    // of a spoiler
	text   string    // of text and code
	inner  []section // of quotes and spoilers
}

// fenceLine is a line that opens a fence: the fence, a language, a header. A
// header cannot contain a backtick or a tilde: with one, the line is text.
var fenceLine = regexp.MustCompile("^(~{3,}|`{3,})[ ]*(?:\\{?\\.?([a-zA-Z0-9_+\\-./#]*)[ ]*([^~`]*?)\\}?)$")

// open is a section whose fence has not closed.
type open struct {
	section
	fence string
	lines []string
}

// flush turns the text collected so far into a section of its own.
func (o *open) flush() {
	if text := strings.Join(o.lines, "\n"); strings.TrimSpace(text) != "" {
		o.inner = append(o.inner, section{kind: sectionText, text: text})
	}
	o.lines = nil
}

// close is the finished section.
func (o *open) close() section {
	if o.kind == sectionCode {
		o.text = strings.Join(o.lines, "\n")
		return o.section
	}
	o.flush()
	return o.section
}

// sections splits a message at its fences by Zulip's rules, which are not
// CommonMark's: a fence starts at the beginning of a line, closes only on a
// line equal to it, and at the end of the message otherwise.
func sections(content string) []section {
	stack := []*open{{}}
	end := func() {
		last := stack[len(stack)-1]
		stack = stack[:len(stack)-1]
		parent := stack[len(stack)-1]
		parent.inner = append(parent.inner, last.close())
	}
	for line := range strings.SplitSeq(content, "\n") {
		top := stack[len(stack)-1]
		bare := strings.TrimRight(line, " \t\r")
		if top.fence != "" && bare == top.fence {
			end()
			continue
		}
		if top.kind == sectionCode || len(stack) > maxNesting {
			top.lines = append(top.lines, line)
			continue
		}
		if o := openFence(bare); o != nil {
			top.flush()
			stack = append(stack, o)
			continue
		}
		top.lines = append(top.lines, line)
	}
	for len(stack) > 1 {
		end()
	}
	stack[0].flush()
	return stack[0].inner
}

// openFence is the section that a line opens, nil when it opens none.
func openFence(line string) *open {
	m := fenceLine.FindStringSubmatch(line)
	if m == nil {
		return nil
	}
	o := &open{fence: m[1]}
	o.lang = strings.ToLower(m[2])
	switch o.lang {
	case "quote":
		o.kind = sectionQuote
	case "spoiler":
		o.kind, o.header = sectionSpoiler, strings.TrimSpace(m[3])
	default:
		o.kind = sectionCode
	}
	return o
}
