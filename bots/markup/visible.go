package markup

import (
	"regexp"
	"strings"
	"unicode/utf8"
)

// zeroWidth separates characters that a chat would read together. It is not
// white space to any of them and takes no room on the screen.
const zeroWidth = "\u200b"

// lineBudget is how many code points one rendered line may take before it is
// broken: well under every chat's limit, so that fences and headers fit beside it.
const lineBudget = 2400

// colours are the colour sequences that build tools write; they carry no words.
var colours = regexp.MustCompile("\x1b\\[[0-9;:]*m")

// visible makes a foreign text one line of characters that are only seen:
// line breaks become spaces, control characters their pictures (U+2400),
// and what would reorder or hide text becomes U+FFFD.
func visible(text string) string {
	return strings.Map(func(r rune) rune {
		switch r {
		case '\n', '\r', '\t', '\v', '\f', '\u0085', '\u2028', '\u2029':
			return ' '
		}
		return seen(r)
	}, strings.ToValidUTF8(text, "\ufffd"))
}

// seen is the character to show for r.
func seen(r rune) rune {
	switch {
	case r < 0x20:
		return 0x2400 + r
	case r == 0x7f:
		return 0x2421
	case r >= 0x80 && r < 0xa0,
		r >= 0x202a && r <= 0x202e, r >= 0x2066 && r <= 0x2069, r == 0x200e, r == 0x200f, r == 0x061c,
		r >= 0xe0000 && r <= 0xe007f:
		return utf8.RuneError
	}
	return r
}

// literal makes the lines of a code block or a program's output fit to be
// shown: colours dropped, tabs widened, embedded line breaks honoured, control
// characters as pictures, and lines over the budget continued on the next.
func literal(lines []string) []string {
	var out []string
	for _, line := range lines {
		line = strings.TrimRight(colours.ReplaceAllString(strings.ToValidUTF8(line, "\ufffd"), ""), "\r\n")
		for one := range strings.SplitSeq(line, "\n") {
			one = strings.ReplaceAll(strings.TrimSuffix(one, "\r"), "\t", "    ")
			out = append(out, cut(strings.Map(seen, one), lineBudget)...)
		}
	}
	return out
}

// cut divides a text into pieces of at most n code points, behind a space where
// there is one in the second half of a piece. Together the pieces are the text;
// an empty text is one empty piece.
func cut(text string, n int) []string {
	var out []string
	for len(text) > n {
		at := 0
		for range n {
			_, size := utf8.DecodeRuneInString(text[at:])
			at += size
		}
		if at == len(text) {
			break
		}
		if space := strings.LastIndexByte(text[:at], ' '); space > at/2 {
			at = space + 1
		}
		out = append(out, text[:at])
		text = text[at:]
	}
	return append(out, text)
}

// cutWords divides a text between words into pieces of at most n code points;
// a longer word is divided within.
func cutWords(text string, n int) []string {
	var out []string
	line := ""
	for _, word := range strings.Fields(text) {
		pieces := cut(word, n)
		for i, piece := range pieces {
			switch {
			case line == "":
				line = piece
			case i == 0 && utf8.RuneCountInString(line)+1+utf8.RuneCountInString(piece) <= n:
				line += " " + piece
			default:
				out = append(out, line)
				line = piece
			}
		}
	}
	return append(out, line)
}

// flat is what a line says without any form.
func flat(spans []Span) string {
	var b strings.Builder
	for _, s := range spans {
		if s.Kind == SpanTopic {
			s.Text = place(s)
		}
		b.WriteString(s.Text)
	}
	return visible(b.String())
}
