package terminal_test

import (
	"errors"
	"io"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"platform.dev/platform/bots/terminal"
)

func TestATypedLineIsReadAsItIsMeant(t *testing.T) {
	for line, want := range map[string]terminal.Typed{
		"":                            {},
		" status shop ":               {Text: "status shop"},
		"/to shop the release":        {Verb: terminal.GoTo, Stream: "shop", Topic: "the release"},
		"/to #shop release":           {Verb: terminal.GoTo, Stream: "shop", Topic: "release"},
		"/TO shop release":            {Verb: terminal.GoTo, Stream: "shop", Topic: "release"},
		"/stream #my stream":          {Verb: terminal.Stream, Stream: "my stream"},
		"/topic two words":            {Verb: terminal.Topic, Topic: "two words"},
		"/dm platform status shop":    {Verb: terminal.Direct, Who: "platform", Text: "status shop"},
		"/dm @platform":               {Verb: terminal.Direct, Who: "platform"},
		`/dm "Sam SRE" good  morning`: {Verb: terminal.Direct, Who: "Sam SRE", Text: "good  morning"},
		`/dm "Sam`:                    {Verb: terminal.Direct, Who: `"Sam`},
		"/streams":                    {Verb: terminal.Streams},
		"/help me":                    {Verb: terminal.Help},
		"/quit":                       {Verb: terminal.Quit},
		"/exit":                       {Verb: terminal.Quit},
		"/me waves":                   {Text: "/me waves"},
		"//etc/passwd is a file":      {Text: "/etc/passwd is a file"},
	} {
		got, err := terminal.ReadTyped(line)
		require.NoError(t, err, line)
		assert.Equal(t, want, got, line)
	}
	for line, says := range map[string]string{
		"/to": "say /to STREAM TOPIC", "/to shop": "say /to STREAM TOPIC", "/stream": "say /stream STREAM", "/topic ": "say /topic TOPIC", "/dm": "say /dm WHO [TEXT]",
		"/nope x": "there is no /nope; /help lists", "/\x1b[2J": "there is no /␛[2j;", "/" + strings.Repeat("x", 1000): "there is no /xxx",
	} {
		_, err := terminal.ReadTyped(line)
		require.ErrorContains(t, err, says, line)
		assert.Less(t, len(err.Error()), 200)
	}
}

func TestEveryVerbIsInTheHelpUnlessItIsLeftOut(t *testing.T) {
	help := terminal.VerbHelp()
	assert.Equal(t, 7, strings.Count(help, "\n"))
	for line := range strings.Lines(help) {
		verb, _, _ := strings.Cut(strings.TrimSpace(line), " ")
		_, err := terminal.ReadTyped(verb + " a b")
		require.NoError(t, err, "%s is one", verb)
	}
	assert.Equal(t, 6, strings.Count(terminal.VerbHelp(terminal.Streams), "\n"))
	assert.NotContains(t, terminal.VerbHelp(terminal.Streams), "/streams")
}

func TestLinesAreReadWhateverTheirLength(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var want []string
		var text strings.Builder
		for range rapid.IntRange(0, 8).Draw(t, "lines") {
			n := rapid.SampledFrom([]int{0, 1, 10, 4095, 4096, 4097, 40_000, 41_000, 41_001, 60_000}).Draw(t, "length")
			line := strings.Repeat("x", n)
			text.WriteString(line + "\n")
			if n > 41_000 {
				line = "!"
			}
			want = append(want, line)
		}
		last := rapid.SampledFrom([]string{"", "the end"}).Draw(t, "last")
		if text.WriteString(last); last != "" {
			want = append(want, last)
		}
		in := rapid.SampledFrom([]func(io.Reader) io.Reader{iotest.HalfReader, iotest.DataErrReader, func(r io.Reader) io.Reader { return r }}).Draw(t, "reader")
		var got []string
		err := terminal.Lines(in(strings.NewReader(text.String())), func(line string, err error) error {
			if errors.Is(err, terminal.ErrLongLine) {
				line = "!"
			}
			got = append(got, line)
			return nil
		})
		if err != nil || strings.Join(got, "\n") != strings.Join(want, "\n") || len(got) != len(want) {
			t.Fatalf("%d lines and not %d: %v", len(got), len(want), err)
		}
	})
	enough := errors.New("enough")
	require.ErrorIs(t, terminal.Lines(strings.NewReader("a\nb\n"), func(string, error) error { return enough }), enough)
	broken := errors.New("broken")
	require.ErrorIs(t, terminal.Lines(iotest.ErrReader(broken), func(string, error) error { return nil }), broken)
}
