package markup_test

import (
	"regexp"
	"strings"
)

// The oracle of Zulip: what a message would do there beyond showing words, read
// by Zulip's published rules and by none of this package's code. Where Zulip
// obeys a form only in some surroundings, the oracle minds it everywhere.

// act is something that a chat would do: its name, and the text that makes it.
type act struct{ what, text string }

// zulipForms are the forms of a line outside code, in the order in which they are looked for.
var zulipForms = []struct {
	what string
	form *regexp.Regexp
}{
	{"mention", regexp.MustCompile(`@_?\*\*[^*]+\*\*`)},
	{"group mention", regexp.MustCompile(`@_?\*[^*]+\*`)},
	{"channel link", regexp.MustCompile(`#\*\*[^*]+\*\*`)},
	{"image", regexp.MustCompile(`!\[[^\]]*\]\([^)]*\)`)},
	{"link", regexp.MustCompile(`\[[^\]]*\]\([^)]*\)`)},
	{"time", regexp.MustCompile(`<time:[^>]+>`)},
	{"address", regexp.MustCompile(`(?i)\b[a-z][a-z0-9+.-]*://[\pL\pN\[]|\bwww\.[\pL\pN]|\bmailto:[\pL\pN]|[\pL\pN-]\.(?:com|org|net|io|example|go|py|rs|uk|de|localhost)\b`)},
	{"emoji", regexp.MustCompile(`:[a-z][\w+-]*:|:(?:\+1|-1|100|1234):`)},
	{"formula", regexp.MustCompile(`\$\$`)},
	{"struck", regexp.MustCompile(`~~`)},
	{"bold", regexp.MustCompile(`\*\*`)},
	{"slanted", regexp.MustCompile(`\*\S|(?:^|[^\pL\pN_])_[^_\s][^_]*_(?:$|[^\pL\pN_])`)},
	{"escape", regexp.MustCompile(`\\[!-/:-@\[-\x60{-~]`)},
	{"entity", regexp.MustCompile(`&#?\w+;`)},
}

// zulipStarts are the forms that a line begins with.
var zulipStarts = []struct {
	what string
	form *regexp.Regexp
}{
	{"heading", regexp.MustCompile(`^ {0,3}#{1,6}(?: |$)`)},
	{"quote", regexp.MustCompile(`^ {0,3}>`)},
	{"item", regexp.MustCompile(`^ *(?:[*+-]|\d+[.)]) `)},
	{"rule", regexp.MustCompile(`^ {0,3}(?:(?:- *){3,}|(?:\* *){3,}|(?:_ *){3,}|=+)$`)},
	{"table", regexp.MustCompile(`^ *\|`)},
	{"code", regexp.MustCompile(`^(?: {4}|\t)`)},
}

var (
	zulipWidget = regexp.MustCompile(`^/(?:me|poll|todo)\b`)
	zulipFence  = regexp.MustCompile("^(~{3,}|`{3,}) *([\\w+./#-]*) *([^~`]*)$")
)

// zulipFold is what the oracle calls a spoiler and code: forms that a document may have of its own.
const (
	zulipFold    = "spoiler"
	zulipLiteral = "fence"
)

// zulipActs reads a whole message.
func zulipActs(content string) (acts []act) {
	if m := zulipWidget.FindString(content); m != "" {
		acts = append(acts, act{"widget", m})
	}
	type fence struct {
		marks string
		inert bool
	}
	var open []fence
	for line := range strings.SplitSeq(content, "\n") {
		bare := strings.TrimRight(line, " \t\r")
		last := len(open) - 1
		if last >= 0 && bare == open[last].marks {
			open = open[:last]
			continue
		}
		if last >= 0 && open[last].inert {
			continue
		}
		if m := zulipFence.FindStringSubmatch(bare); m != nil {
			kind, inert := zulipLiteral, true
			switch strings.ToLower(m[2]) {
			case "quote", "quoted", "math", "tex", "latex":
				kind = "fenced " + m[2]
			case "spoiler":
				kind, inert = zulipFold, false
				acts = append(acts, zulipLine(m[3])...)
			}
			acts = append(acts, act{kind, bare})
			open = append(open, fence{m[1], inert})
			continue
		}
		acts = append(acts, zulipLine(line)...)
	}
	if len(open) > 0 {
		acts = append(acts, act{"unclosed", open[len(open)-1].marks})
	}
	return acts
}

// zulipLine reads a line: code spans first, then the forms outside them.
func zulipLine(line string) (acts []act) {
	bare, closed := withoutCode(line)
	if !closed {
		acts = append(acts, act{"half a code span", line})
	}
	for _, s := range zulipStarts {
		if m := s.form.FindString(bare); m != "" {
			acts = append(acts, act{s.what, line})
		}
	}
	for _, f := range zulipForms {
		for _, m := range f.form.FindAllString(bare, -1) {
			acts = append(acts, act{f.what, m})
		}
		bare = f.form.ReplaceAllString(bare, "\x00")
	}
	return acts
}

// withoutCode takes the code spans out of a line; closed tells whether no run of backticks is left.
func withoutCode(line string) (bare string, closed bool) {
	var b strings.Builder
	run := func(at int) int { return len(line[at:]) - len(strings.TrimLeft(line[at:], "`")) }
	for i := 0; i < len(line); {
		n := run(i)
		if n == 0 {
			b.WriteByte(line[i])
			i++
			continue
		}
		end := 0
		for j := i + n; j < len(line); j += max(1, run(j)) {
			if run(j) == n {
				end = j + n
				break
			}
		}
		if end == 0 {
			return b.String(), false
		}
		b.WriteByte(0)
		i = end
	}
	return b.String(), true
}
