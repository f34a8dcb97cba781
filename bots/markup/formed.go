package markup

import (
	"net/url"
	"regexp"
	"strings"
	"unicode"
)

// formed renders a span that has a form of its own; address is a link's, as it is written.
func (w *writer) formed(s Span, address string) []string {
	switch s.Kind {
	case SpanCode:
		return w.coded(visible(s.Text), "")
	case SpanBold:
		var out []string
		for _, piece := range cut(visible(s.Text), 300) {
			inner := strings.Join(breakFree(w.words(piece)), "")
			trimmed := strings.TrimSpace(inner)
			if trimmed == "" {
				out = append(out, inner)
				continue
			}
			before, after, _ := strings.Cut(inner, trimmed)
			out = append(out, before+w.bold(trimmed)+after)
		}
		return out
	case SpanLink:
		label, _ := labelled(s.Text)
		if label == "" {
			label, _ = labelled(s.URL)
		}
		return []string{w.link(w.label(label), address)}
	case SpanMention:
		return []string{w.free(w.mention(s.User))}
	}
	if w.topic != nil && linkable(s.Stream) && linkable(s.Text) {
		return []string{w.free(w.topic(s.Stream, s.Text))}
	}
	return []string{w.code(visible(place(s)))}
}

// labelled divides the text of a link into what stands in it and what goes on behind it.
func labelled(text string) (label, rest string) {
	text = strings.TrimSpace(visible(text))
	label = strings.TrimRight(cut(text, maxLabel)[0], " ")
	return label, text[len(label):]
}

// free sets off a mention or a topic, which a chat reads only after a space or a bracket.
func (w *writer) free(form string) string {
	if n := len(w.out); n > 0 && !strings.HasSuffix(w.out[n-1], " ") && !strings.HasSuffix(w.out[n-1], "(") {
		return " " + form
	}
	return form
}

// plainName is a stream's or topic's name without a character that ends or changes a link.
var plainName = regexp.MustCompile(`^[\pL\pN][\pL\pN ._-]{0,59}$`)

// linkable tells whether a stream or a topic may stand in a link: where it does
// not exist, its name is left as text and must not become something else.
func linkable(name string) bool { return plainName.MatchString(name) && !forms(name) }

// place writes a topic for chats that have no links to topics.
func place(s Span) string { return "#" + s.Stream + " > " + s.Text }

// The longest address shown as a link, in bytes as the longest of the dialects
// writes it, and the most code points of its text; a longer text goes on beside the link.
const (
	maxURL   = 1500
	maxLabel = 100
)

// safeURL checks that an address is http or https with a host, and writes it
// so that no chat's link syntax can end early in it.
func safeURL(address string) (string, bool) {
	u, err := url.Parse(address)
	if err != nil || (u.Scheme != "http" && u.Scheme != "https") || u.Host == "" || u.User != nil {
		return "", false
	}
	whole := u.String()
	var b strings.Builder
	b.Grow(len(whole) + 16)
	for i := range len(whole) {
		c := whole[i]
		if c <= ' ' || c >= 0x7f || strings.IndexByte("()<>|*`\\\"'^{}@~$", c) >= 0 {
			const hex = "0123456789ABCDEF"
			b.WriteByte('%')
			b.WriteByte(hex[c>>4])
			b.WriteByte(hex[c&15])
			continue
		}
		b.WriteByte(c)
	}
	written := b.String()
	return written, len(written)+4*strings.Count(written, "&") <= maxURL
}

// unformed writes a text where there are no code spans: in words that would
// format, the characters that do so become look-alikes or are kept apart.
func unformed(text string) string {
	words := strings.Fields(text)
	for i, w := range words {
		if !forms(w) && !begins.MatchString(w) {
			continue
		}
		var b strings.Builder
		all := []rune(w)
		for j, r := range all {
			edge := j == 0 || j == len(all)-1 || !lettered(all[j-1]) || !lettered(all[j+1])
			switch {
			case r == '`':
				r = 'ˋ'
			case r == '~':
				r = '∼'
			case r == '*':
				r = '∗'
			case r == '_' && edge:
				r = 'ˍ'
			}
			b.WriteRune(r)
			if strings.ContainsRune(".:/<&$[]#@\\!", r) {
				b.WriteString(zeroWidth)
			}
		}
		words[i] = b.String()
		if i == 0 {
			words[i] = zeroWidth + words[i]
		}
	}
	return strings.Join(words, " ")
}

// lettered tells whether a character belongs to a word.
func lettered(r rune) bool { return unicode.IsLetter(r) || unicode.IsDigit(r) }
