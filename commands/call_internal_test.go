package commands

import (
	"slices"
	"testing"

	"pgregory.net/rapid"
)

func TestALineIsReadAsItsWords(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		letters := rapid.SampledFrom([]rune("ab-=@*\"'\\ \t\n\r\u2003é{}$`|"))
		words := rapid.SliceOfN(rapid.StringOfN(letters, 0, 6, -1), 1, 5).Draw(t, "words")
		read, err := split(Line(words...))
		if err != nil || !slices.Equal(read, words) {
			t.Fatalf("%q became %q: %v", words, read, err)
		}
	})
}
