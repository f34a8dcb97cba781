package zulip

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"pgregory.net/rapid"
)

func TestWhatIsSaidToABot(t *testing.T) {
	self := User{ID: 7, FullName: "platform"}
	people := map[int64]User{7: self, 10: {ID: 10, FullName: "Dev Developer"}, 12: {ID: 12, FullName: "delivery"}}
	for _, c := range []struct {
		name, text, rest string
		ok               bool
	}{
		{"by name", "@**platform** promote shop", "promote shop", true},
		{"by name and id", "@**platform|7** promote shop", "promote shop", true},
		{"by id alone", "@**|7** promote shop", "promote shop", true},
		{"by id under an older name", "@**robot|7** promote shop", "promote shop", true},
		{"by an older name that nobody bears", "@**robot** promote shop", "promote shop", true},
		{"a name that somebody else bears", "@**delivery** promote shop", "", false},
		{"somebody else's id", "@**platform|12** promote shop", "", false},
		{"in the middle", "please @**platform** promote shop", "please promote shop", true},
		{"at the end", "promote shop @**platform**", "promote shop", true},
		{"in brackets", "(@**platform**) status", "( ) status", true},
		{"with a colon", "@**platform**: promote shop", "promote shop", true},
		{"on a line of its own", "@**platform**\npromote shop", "promote shop", true},
		{"alone", "@**platform**", "", true},
		{"beside another mention", "@**platform** tell @**Dev Developer**", "tell @**Dev Developer**", true},
		{"silently", "@_**platform** promote shop", "", false},
		{"silently, then aloud", "@_**platform|7** said; @**platform** status", "@_**platform|7** said; status", true},
		{"within a word", "mail@**platform** x", "", false},
		{"everybody", "@**all** promote shop", "", false},
		{"a group", "@*bots* promote shop", "", false},
		{"not closed", "@**platform promote", "", false},
		{"in code", "`@**platform**` promote", "", false},
		{"nothing", "", "", false},
	} {
		t.Run(c.name, func(t *testing.T) {
			rest, ok := address(c.text, self, people)
			assert.Equal(t, c.ok, ok)
			assert.Equal(t, c.rest, rest)
		})
	}
}

func TestMentionsLieWithinTheTextAndDoNotOverlap(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.StringOf(rapid.SampledFrom([]rune("@*_| a7ä(\n`"))).Draw(t, "text")
		end := 0
		for _, m := range mentions(text) {
			if m.start < end || m.end > len(text) || text[m.start] != '@' || text[m.end-2:m.end] != "**" {
				t.Fatalf("%q: %+v", text, m)
			}
			end = m.end
		}
	})
}
