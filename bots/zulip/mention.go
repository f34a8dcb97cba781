package zulip

import (
	"strconv"
	"strings"
	"unicode/utf8"

	"platform.dev/platform/bots"
)

// mention is one "@**name|id**" in a text.
type mention struct {
	start, end int    // bytes of the text
	silent     bool   // "@_**...**" notifies nobody
	name       string // as written, without the id
	id         int64  // 0 when the mention has none
}

// before are the characters that may stand right before a mention, besides white space.
const before = `'"({[/<`

// mentions finds the personal mentions of a text, as Zulip does: a mention
// needs white space, one of a few characters or the beginning before it.
func mentions(text string) []mention {
	var found []mention
	for from := 0; ; {
		at := strings.IndexByte(text[from:], '@')
		if at < 0 {
			return found
		}
		start := from + at
		from = start + 1
		if !opens(text[:start]) {
			continue
		}
		rest, silent := strings.CutPrefix(text[start+1:], "_")
		rest, ok := strings.CutPrefix(rest, "**")
		if !ok {
			continue
		}
		inner, _, ok := strings.Cut(rest, "**")
		if !ok || inner == "" || strings.Contains(inner, "*") {
			continue
		}
		end := len(text) - len(rest) + len(inner) + len("**")
		m := mention{start: start, end: end, silent: silent, name: inner}
		if name, digits, ok := cutLast(inner, "|"); ok {
			if id, err := strconv.ParseInt(digits, 10, 64); err == nil {
				m.name, m.id = name, id
			}
		}
		found = append(found, m)
		from = end
	}
}

// opens tells whether a mention may begin after the text.
func opens(text string) bool {
	r, size := utf8.DecodeLastRuneInString(text)
	return size == 0 || strings.ContainsRune(before, r) || strings.TrimSpace(string(r)) == ""
}

// cutLast cuts at the last separator.
func cutLast(s, sep string) (head, tail string, found bool) {
	if i := strings.LastIndex(s, sep); i >= 0 {
		return s[:i], s[i+len(sep):], true
	}
	return s, "", false
}

// wildcards mention everybody and are never a name.
var wildcards = map[string]bool{"all": true, "everyone": true, "stream": true, "channel": true, "topic": true}

// address takes the bot's own mention out of a message that the server says
// mentions it. An id decides; else the current name; else, since the account
// may have been renamed after the message was written, a name that nobody bears.
// Silent mentions and wildcards do not count. ok is false when the message does
// not address the bot (it was mentioned through a group).
func address(text string, self User, people map[int64]User) (rest string, ok bool) {
	all := mentions(text)
	matches := []func(m mention) bool{
		func(m mention) bool { return m.id == self.ID },
		func(m mention) bool { return m.id == 0 && m.name == self.FullName },
		func(m mention) bool { return m.id == 0 && !wildcards[m.name] && !borne(m.name, people) },
	}
	for _, match := range matches {
		for _, m := range all {
			if m.silent || !match(m) {
				continue
			}
			return strings.TrimSpace(bots.WithoutMention(text[:m.start], text[m.end:])), true
		}
	}
	return "", false
}

// borne tells whether somebody has the name.
func borne(name string, people map[int64]User) bool {
	for _, p := range people {
		if p.FullName == name {
			return true
		}
	}
	return false
}
