package slack

import (
	"regexp"
	"strings"

	"platform.dev/platform/bots"
)

// angled finds what Slack puts between angle brackets: mentions, channels,
// addresses, calls of groups. What people type in angle brackets is escaped.
var angled = regexp.MustCompile(`<([^<>]+)>`)

// unescapes are the three characters that Slack escapes.
var unescapes = strings.NewReplacer("&lt;", "<", "&gt;", ">", "&amp;", "&")

// address takes the bot's first mention, which is by user id, out of a text,
// and writes the rest as it was typed. ok is false when the bot is not mentioned.
func address(text, user string, name func(id string) string) (rest string, ok bool) {
	for from := 0; ; {
		before, after, found := strings.Cut(text[from:], "<@"+user)
		if !found {
			return typed(text, name), false
		}
		at := from + len(before)
		end := strings.IndexAny(after, "<>")
		if end >= 0 && after[end] == '>' && (end == 0 || after[0] == '|') {
			return typed(bots.WithoutMention(text[:at], after[end+1:]), name), true
		}
		from = len(text) - len(after)
	}
}

// typed is a text as its author typed it.
func typed(text string, name func(id string) string) string {
	if !strings.ContainsAny(text, "<&") { // as most are
		return strings.TrimSpace(text)
	}
	text = angled.ReplaceAllStringFunc(text, func(in string) string {
		inner, label, labelled := strings.Cut(in[1:len(in)-1], "|")
		switch {
		case inner == "":
			return in
		case inner[0] == '@' && labelled:
			return "@" + label
		case inner[0] == '@':
			return "@" + name(inner[1:])
		case inner[0] == '#' && labelled && label != "":
			return "#" + label
		case inner[0] == '#':
			return inner
		case inner[0] == '!' && labelled:
			return label
		case inner[0] == '!':
			return "@" + inner[1:]
		case labelled: // an address that was recognised in what was typed, or a link with words
			return label
		default:
			return strings.TrimPrefix(inner, "mailto:")
		}
	})
	return strings.TrimSpace(unescapes.Replace(text))
}
