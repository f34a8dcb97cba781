package exec_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"platform.dev/platform/commands/exec"
)

// args are a list of one argument, changed.
func args(change map[string]any) map[string]any {
	return map[string]any{"args": []any{with(map[string]any{"name": "project", "help": "The project."}, change)}, "examples": []string{"report"}}
}

func TestADescriptionThatIsWrongIsToldByFieldAndValue(t *testing.T) {
	_, err := exec.ParseDescription([]byte(described(t, nil)))
	require.NoError(t, err)
	for _, c := range []struct {
		change map[string]any
		says   string
	}{
		{map[string]any{"version": 2}, `version 2: must be 1`},
		{map[string]any{"version": nil}, `version 0: must be 1`},
		{map[string]any{"bot": "Platform"}, `bot "Platform": must be a lower-case word`},
		{map[string]any{"verb": "do it"}, `verb "do it": must be a lower-case word`},
		{map[string]any{"verb": "confirm"}, `verb "confirm": every bot has it already`},
		{map[string]any{"summary": ""}, `summary "": must be one line`},
		{map[string]any{"summary": "write a report."}, `without a full stop`},
		{map[string]any{"summary": "a\nb"}, `summary "a\nb": must be one line`},
		{map[string]any{"examples": []string{}}, `examples 0: there must be 1 to 10`},
		{map[string]any{"examples": []string{"report shop", " "}}, `examples[1] " ": must be one line`},
		{map[string]any{"effect": "delete"}, `effect "delete": must be read or write`},
		{map[string]any{"effect": "write"}, `action "": a write must name the permission`},
		{map[string]any{"action": "*"}, `action "*": must be two lower-case words`},
		{map[string]any{"timeout": "soon"}, `timeout "soon": write it as in 30s or 2m`},
		{map[string]any{"timeout": "11m"}, `timeout "11m": must be 1s to 10m0s`},
		{map[string]any{"timeout": 30}, `timeout: a number does not belong there`},
		{map[string]any{"calls": []string{"status", "report"}}, `calls[1] "report": must be another verb`},
		{map[string]any{"token": "x"}, `unknown field "token"`},
		{args(map[string]any{"name": "help"}), `args[0].name "help": must be a lower-case word other than help`},
		{args(map[string]any{"help": ""}), `args[0].help "": must be one line`},
		{args(map[string]any{"kind": "float"}), `args[0].kind "float": must be string, int, bool or enum`},
		{args(map[string]any{"required": true, "default": "x"}), `args[0].default "x": what is required has none`},
		{args(map[string]any{"kind": "int", "default": "ten"}), `args[0].default "ten": must be a whole number`},
		{args(map[string]any{"kind": "bool", "required": true}), `args[0].kind "bool": a bool is a switch`},
		{args(map[string]any{"kind": "enum"}), `args[0].values 0: an enum has 1 to 50`},
		{args(map[string]any{"values": []string{"a"}}), `args[0].values 1: only an enum has any`},
		{args(map[string]any{"kind": "enum", "values": []string{"a,b"}}), `args[0].values[0] "a,b": must be one word`},
		{args(map[string]any{"kind": "enum", "values": []string{"a"}, "default": "b"}), `args[0].default "b": must be one of values`},
		{args(map[string]any{"default": "${HOME}"}), `args[0].default "${HOME}": must be one line without`},
		{map[string]any{"args": []any{map[string]any{"name": "a", "help": "A."}, map[string]any{"name": "a", "help": "B."}}}, `args[1].name "a": there is one of that name`},
	} {
		_, err := exec.ParseDescription([]byte(described(t, c.change)))
		require.ErrorContains(t, err, c.says)
	}
	for text, says := range map[string]string{
		"":                         "nothing was said",
		"usage: report <project>":  "is no JSON object",
		`{"version":1`:             "ends too early",
		`{"version":1,}`:           "it is no JSON at byte",
		described(t, nil) + "{}":   "more than one JSON object",
		`{"bot":"` + "\xff" + `"}`: "it is no UTF-8",
		strings.Repeat("{", 1<<17): "131072 bytes; 65536 are read",
	} {
		_, err := exec.ParseDescription([]byte(text))
		assert.ErrorContains(t, err, says, "%.40q", text)
	}
}
