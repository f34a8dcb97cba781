package terminal

import (
	"regexp"
	"strings"
)

// style is how a run of text looks.
type style string

// The styles; every one is ended by reset.
const (
	plain  style = ""
	strong style = "\x1b[1m"
	slant  style = "\x1b[3m"
	struck style = "\x1b[9m"
	mono   style = "\x1b[36m"
	faint  style = "\x1b[2m"
	reset        = "\x1b[0m"
)

// painter shows text in a style, or as it is where colours are off.
type painter bool

func (on painter) in(s style, text string) string {
	if !on || s == plain || text == "" {
		return text
	}
	return string(s) + text + reset
}

// run is text in one style.
type run struct {
	text  string
	style style
	to    *reference // this run is the address of a link, behind the link's words
}

// reference is where a link leads, and the words that lead there.
type reference struct{ words, address string }

// emphasise gives the plain runs a style.
func emphasise(runs []run, s style) []run {
	for i := range runs {
		if runs[i].style == plain {
			runs[i].style = s
		}
	}
	return runs
}

// rule is a form within a line: its pattern, anchored at the beginning, whose
// groups hold what is shown in the style. What is nested is read in turn.
type rule struct {
	pattern *regexp.Regexp
	show    func(match []string) []run // nil: group 1, nested, in the style
	style   style
}

// rules are the forms that Zulip knows within a line, as far as a terminal can
// show them, in the order in which they are tried. Code spans come before (codeSpan).
var rules = []rule{
	{pattern: regexp.MustCompile(`^@_?\*\*([^*|]*)(?:\|(\d+))?\*\*`), show: person},
	{pattern: regexp.MustCompile(`^@_?\*([^*\s][^*]*)\*`), show: group},
	{pattern: regexp.MustCompile(`^#\*\*([^*>]+)(?:>([^*@]*)(?:@\d+)?)?\*\*`), show: channel},
	{pattern: regexp.MustCompile(`^<(https?://[^>\s]+)>`), show: address},
	{pattern: regexp.MustCompile(`^(https?://[^\s<>]+)`), show: address},
	{pattern: regexp.MustCompile(`^\*\*(\S(?:.*?\S)?)\*\*`), style: strong},
	{pattern: regexp.MustCompile(`^~~(\S(?:.*?\S)?)~~`), style: struck},
	{pattern: regexp.MustCompile(`^\*(\S(?:[^*]*?[^*\s])?)\*`), style: slant},
}

// linkForm is a link; its text is nested, so that it is no row of rules.
var linkForm = regexp.MustCompile(`^!?\[([^\]]*)\]\(([^)\s]*)\)`)

// person is a mention, by name or by id alone.
func person(m []string) []run {
	name := m[1]
	if name == "" {
		name = "user " + m[2]
	}
	return []run{{text: "@" + name, style: strong}}
}

// group is a mention of a group of people.
func group(m []string) []run { return []run{{text: "@" + m[1], style: strong}} }

// address is a bare address.
func address(m []string) []run { return []run{{text: m[1], style: faint}} }

// channel is a link to a channel or a topic.
func channel(m []string) []run {
	name := "#" + m[1]
	if m[2] != "" {
		name += " > " + m[2]
	}
	return []run{{text: name, style: strong}}
}

// link is "text <address>", or the address alone where the text says the same.
func link(m []string) []run {
	if m[1] == m[2] || m[1] == "" {
		return address(m[1:])
	}
	words := inline(m[1])
	return append(words, run{text: " <" + m[2] + ">", style: faint, to: &reference{words: flat(words), address: m[2]}})
}

// flat is what runs say.
func flat(runs []run) string {
	var text strings.Builder
	for _, r := range runs {
		text.WriteString(r.text)
	}
	return text.String()
}

// apart takes the addresses of links out of runs.
func apart(runs []run) (words []run, to []reference) {
	for _, r := range runs {
		if r.to == nil {
			words = append(words, r)
		} else {
			to = append(to, *r.to)
		}
	}
	return words, to
}

// inline reads the forms of a line.
func inline(text string) (runs []run) {
	start := 0 // of the plain text that has not been put out
	for i := 0; i < len(text); {
		if !strings.ContainsRune("`@#![<h*~", rune(text[i])) {
			i++
			continue
		}
		found, length := form(text[i:], i > 0 && wordly(text[i-1]))
		if found == nil {
			i += length
			continue
		}
		runs = append(runs, run{text: text[start:i]})
		runs = append(runs, found...)
		i += length
		start = i
	}
	return append(runs, run{text: text[start:]})
}

// form reads the form that a text begins with. Without one, length is how much
// to pass over: a run of backticks that nothing closes is no beginning of a shorter one.
func form(text string, withinWord bool) (runs []run, length int) {
	if text[0] == '`' {
		return codeSpan(text)
	}
	if text[0] == 'h' && withinWord {
		return nil, 1
	}
	if m := linkForm.FindStringSubmatch(text); m != nil {
		return link(m), len(m[0])
	}
	for _, r := range rules {
		m := r.pattern.FindStringSubmatch(text)
		switch {
		case m == nil:
		case r.show != nil:
			return r.show(m), len(m[0])
		default:
			return emphasise(inline(m[1]), r.style), len(m[0])
		}
	}
	return nil, 1
}

// codeSpan reads a code span: it is closed by exactly as many backticks as open
// it, and one space on each side sets it off.
func codeSpan(text string) ([]run, int) {
	n := len(text) - len(strings.TrimLeft(text, "`"))
	for i := n; i < len(text); {
		if text[i] != '`' {
			i++
			continue
		}
		closing := len(text[i:]) - len(strings.TrimLeft(text[i:], "`"))
		if closing == n {
			inner := text[n:i]
			if strings.TrimSpace(inner) != "" && strings.HasPrefix(inner, " ") && strings.HasSuffix(inner, " ") {
				inner = inner[1 : len(inner)-1]
			}
			return []run{{text: inner, style: mono}}, i + n
		}
		i += closing
	}
	return nil, n
}

// wordly tells whether a byte belongs to a word.
func wordly(b byte) bool {
	return b >= 'a' && b <= 'z' || b >= 'A' && b <= 'Z' || b >= '0' && b <= '9' || b >= 0x80
}
