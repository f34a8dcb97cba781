package commands

import (
	"errors"
	"regexp"
	"strings"
	"unicode"
)

// typed turns what chat clients and phones make of typing back into what was
// typed: curly quotes, hard spaces, and dashes in place of the two of an option.
var typed = strings.NewReplacer("“", `"`, "”", `"`, "„", `"`, "‘", "'", "’", "'", "\u00a0", " ", "\u200b", "")

// longDash finds a long dash that stands before a word.
var longDash = regexp.MustCompile(`(^|\s)[—–](\pL)`)

// errQuote is a quote that was opened and never closed.
var errQuote = errors.New("a quote is opened and not closed")

// split divides a text into words as a shell would: white space separates,
// single quotes take everything literally, double quotes and bare words know
// the backslash before a quote, a space or another backslash. An apostrophe
// inside a word is a letter of it.
func split(text string) ([]string, error) {
	text = longDash.ReplaceAllString(typed.Replace(text), "$1--$2")
	var words []string
	var word strings.Builder
	inWord := false
	var quote rune
	runes := []rune(text)
	for i := 0; i < len(runes); i++ {
		r := runes[i]
		switch {
		case r == '\\' && quote != '\'' && i+1 < len(runes) && strings.ContainsRune(`"'\ `, runes[i+1]):
			i++
			word.WriteRune(runes[i])
			inWord = true
		case quote != 0 && r == quote:
			quote = 0
		case quote != 0:
			word.WriteRune(r)
		case r == '"' || r == '\'' && (!inWord || endsInEquals(word.String())):
			quote, inWord = r, true
		case unicode.IsSpace(r):
			if inWord {
				words = append(words, word.String())
				word.Reset()
			}
			inWord = false
		default:
			word.WriteRune(r)
			inWord = true
		}
	}
	if quote != 0 {
		return nil, errQuote
	}
	if inWord {
		words = append(words, word.String())
	}
	return words, nil
}

// endsInEquals tells that a quote after the word begins an option's value: --reason='...'.
func endsInEquals(word string) bool { return strings.HasSuffix(word, "=") }
