package exec

import (
	"encoding/json"
	"errors"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"platform.dev/platform/bots/markup"
	"platform.dev/platform/commands"
)

// TestADescriptionThatIsTakenMakesACommand holds that what the reader of
// descriptions lets pass, the registry does: whatever texts, defaults and
// values stand in it. Only examples may still be wrong.
func TestADescriptionThatIsTakenMakesACommand(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.StringOfN(rapid.SampledFrom([]rune("ab \"'`\\${}%,=é:*@")), 0, 8, -1)
		word := rapid.SampledFrom([]string{"a", "b", "no-a", "help", "a-b", "h", "x1", "no"})
		argument := rapid.Custom(func(t *rapid.T) Argument {
			return Argument{
				Name: word.Draw(t, "name"), Help: text.Draw(t, "help"), Kind: rapid.SampledFrom([]string{"", kindString, kindInt, kindBool, kindEnum}).Draw(t, "kind"),
				Required: rapid.Bool().Draw(t, "required"), Flag: rapid.Bool().Draw(t, "flag"),
				Default: rapid.OneOf(rapid.Just(""), rapid.Just("7"), text).Draw(t, "default"), Values: rapid.SliceOfN(text, 0, 3).Draw(t, "values"),
			}
		})
		d := Description{
			Version: 1, Bot: "platform", Verb: "report", Summary: "write a report", Examples: []string{"report"}, Effect: commands.Read,
			Args: rapid.SliceOfN(argument, 0, 4).Draw(t, "args"),
		}
		line, err := json.Marshal(d)
		require.NoError(t, err)
		read, err := ParseDescription(line)
		if err != nil {
			return
		}
		p := &program{about: read}
		_, err = commands.NewRegistry(p.command())
		var usage *commands.UsageError
		if err != nil && !errors.As(err, &usage) {
			t.Fatalf("%s: %v", line, err)
		}
	})
}

func TestHelpShowsWhatADescriptionSaysOfItsArguments(t *testing.T) {
	d, err := ParseDescription([]byte(`{"version":1,"bot":"platform","verb":"report","summary":"write a report","examples":["report"],"effect":"read",
		"args":[{"name":"form","help":"Say \"it\" for ${HOME} at 5 $, or C:\\x.","kind":"enum","values":["short","long"]},{"name":"days","help":"Days.","kind":"int","default":"-7","flag":true}]}`))
	require.NoError(t, err)
	registry, err := commands.NewRegistry((&program{about: d}).command())
	require.NoError(t, err)
	m, err := registry.HelpFor("platform", "report")
	require.NoError(t, err)
	assert.Contains(t, markup.Plain(m), "Say 'it' for ${HOME} at 5 $, or C:/x.")
	for text, want := range map[string]map[string]any{
		"report":                {"form": "", "days": int64(-7)},
		"report long --days=30": {"form": "long", "days": int64(30)},
	} {
		call, err := registry.Parse("platform", text)
		require.NoError(t, err, text)
		assert.Equal(t, want, d.named(call.Args), text)
	}
	_, err = registry.Parse("platform", "report tall")
	assert.ErrorContains(t, err, `"tall"`)
}
