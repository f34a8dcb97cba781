package chat

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// castServer knows the accounts of cast.
func castServer() *Server {
	d := &directory{ids: map[int64]account{}, email: map[string]int64{}, names: map[string][]int64{}}
	c := cast()
	for id := range int64(7) {
		if a, ok := c.byID(id); ok {
			d.add(a)
		}
	}
	return &Server{people: d}
}

func TestTypedNamesBecomeMentions(t *testing.T) {
	s := castServer()
	for typed, want := range map[string]string{
		"@walkthrough static":             "@**walkthrough** static",
		"(@Platform, please)":             "(@**platform**, please)",
		"ask @platform.":                  "ask @**platform**.",
		"@platform-x @nobody @Twin":       "@platform-x @nobody @Twin",
		"mail@platform x@platform":        "mail@platform x@platform",
		"@**platform** @_**platform**":    "@**platform** @_**platform**",
		"`@platform` @platform":           "`@platform` @**platform**",
		"```\n@platform\n```\n@platform":  "```\n@platform\n```\n@**platform**",
		"```quote\n@platform\n```":        "```quote\n@**platform**\n```",
		"~~~ go\n@platform\n```\n~~~":     "~~~ go\n@platform\n```\n~~~",
		"one\n@platform two\n @platform.": "one\n@**platform** two\n @**platform**.",
	} {
		assert.Equal(t, want, s.mentionNames(typed), typed)
	}
}

// What a person typed stays as it is but for the stars: nothing is lost, and doing it again changes nothing.
func TestTypedNamesLoseNothing(t *testing.T) {
	s := castServer()
	rapid.Check(t, func(t *rapid.T) {
		parts := rapid.SliceOfN(rapid.OneOf(rapid.SampledFrom(append([]string{"@platform", "@walkthrough", "@Ann"}, pieces...)), rapid.StringN(0, 4, -1)), 0, 30).Draw(t, "parts")
		typed := strings.Join(parts, "")
		got := s.mentionNames(typed)
		bare := func(text string) string { return strings.ToLower(strings.ReplaceAll(text, "*", "")) }
		require.Equal(t, bare(typed), bare(got))
		require.Equal(t, got, s.mentionNames(got))
	})
}
