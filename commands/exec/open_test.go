package exec_test

import (
	"bytes"
	"log/slog"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"platform.dev/platform/bots/markup"
	"platform.dev/platform/commands"
	"platform.dev/platform/commands/commandstest"
	"platform.dev/platform/commands/exec"
)

const goldens = "../../fixtures/golden"

func TestEveryMessageOfThisPackageHasItsGoldens(t *testing.T) {
	commandstest.Catalogue(t, goldens+"/messages", exec.Catalogue())
}

func TestAProgramThatCannotBeTrustedOrUnderstoodIsLeftOutByName(t *testing.T) {
	dir := t.TempDir()
	put := func(verb string, change map[string]any, body string) string {
		return commandstest.WriteProgram(t, dir, exec.Prefix+verb, program(t, body, with(map[string]any{"verb": verb, "examples": []string{verb + " shop"}}, change)))
	}
	put("report", nil, "")
	put("status", nil, "")
	put("elsewhere", map[string]any{"bot": "stranger"}, "")
	put("caller", map[string]any{"calls": []string{"status", "promote"}}, "")
	put("seeker", map[string]any{"calls": []string{"nothing"}}, "")
	put("wrong", map[string]any{"effect": "delete"}, "")
	put("other", map[string]any{"verb": "report"}, "")
	put("sample", map[string]any{"examples": []string{"sample"}}, "")
	put("order", map[string]any{"examples": []string{"order a"}, "args": []any{
		map[string]any{"name": "a", "help": "A."}, map[string]any{"name": "b", "help": "B.", "required": true}}}, "")
	require.NoError(t, os.Chmod(put("open", nil, ""), 0o722))
	require.NoError(t, os.Chmod(put("still", nil, ""), 0o600))
	require.NoError(t, os.Symlink(filepath.Join(dir, "platform-report"), filepath.Join(dir, "platform-link")))
	commandstest.WriteProgram(t, dir, "platform-broken", "#!/bin/sh\necho no such token >&2\nexit 3\n")
	commandstest.WriteProgram(t, dir, "platform-endless", "#!/bin/sh\nyes\n")
	commandstest.WriteProgram(t, dir, "platform-nowhere", "#!/no/such/interpreter\n")
	commandstest.WriteProgram(t, dir, "platform-Loud", "#!/bin/sh\n")
	commandstest.WriteProgram(t, dir, "README", "not a program")
	require.NoError(t, os.Mkdir(filepath.Join(dir, "platform-dir"), 0o700))

	var log bytes.Buffer
	found, err := exec.Open(t.Context(), exec.Config{Dir: dir, Ledger: commandstest.NewLedger(), Beside: beside(t), Log: slog.New(slog.NewTextHandler(&log, nil))})
	require.NoError(t, err)
	why := map[string]string{}
	for _, out := range found.LeftOut {
		why[out.File] = out.Why
		assert.Contains(t, log.String(), out.File, "the log says it")
	}
	for file, says := range map[string]string{
		"platform-status": `verb "status": the bot has it already`, "platform-elsewhere": `bot "stranger": there is no such bot`,
		"platform-caller": `calls[1] "promote": it changes something`, "platform-seeker": `calls[0] "nothing": the bot has no such command`,
		"platform-wrong": `effect "delete"`, "platform-other": `verb "report": the file's name says "other"`,
		"platform-sample": "examples: sample was not understood: missing: <project>", "platform-order": "args[1].required true: it stands behind one that is not",
		"platform-open": "it may be written by others; take that away with chmod go-w", "platform-still": "chmod +x",
		"platform-link": "no regular file", "platform-broken": "--describe: exit status 3: no such token",
		"platform-endless": "more than 65536 bytes", "platform-nowhere": "it cannot be started: no such file or directory", "platform-Loud": "nothing was said",
	} {
		assert.Contains(t, why[file], says, file)
		delete(why, file)
	}
	assert.Empty(t, why)

	registry, err := commands.NewRegistry(found.Commands...)
	require.NoError(t, err)
	help := markup.Plain(registry.Help("platform"))
	assert.Contains(t, help, "write a report")
	assert.Contains(t, help, "open: left out: it may be written by others")
	assert.NotContains(t, help, "status: left", "the verb is another's")
	rec := commandstest.Run(t, commandstest.Pick(t, found.Commands, "open"), commandstest.Ask{Text: "open"})
	var refusal commands.Refusal
	require.ErrorAs(t, rec.Err, &refusal)
	assert.Equal(t, "platform-open is left out: it may be written by others; take that away with chmod go-w. Whoever runs this bot can mend that, and start it again.", refusal.Refused())
}

func TestADirectoryThatOthersCouldChangeIsRefused(t *testing.T) {
	dir := t.TempDir()
	require.NoError(t, os.Chmod(dir, 0o700))
	open := func(dir string) error {
		_, err := exec.Open(t.Context(), exec.Config{Dir: dir, Ledger: commandstest.NewLedger()})
		return err
	}
	require.NoError(t, open(dir))
	inside := filepath.Join(dir, "inside")
	require.NoError(t, os.Mkdir(inside, 0o700))
	require.NoError(t, os.Symlink(inside, filepath.Join(dir, "link")))
	require.NoError(t, open(filepath.Join(dir, "link")), "a link is followed, and what it names is checked")
	require.ErrorContains(t, open("commands"), "absolute")
	require.ErrorContains(t, open(filepath.Join(dir, "nothing")), "no such file")
	commandstest.WriteProgram(t, dir, "file", "")
	require.ErrorContains(t, open(filepath.Join(dir, "file")), "is no directory")
	require.NoError(t, os.Chmod(inside, 0o777))
	require.ErrorContains(t, open(inside), "may be written by others")
	require.NoError(t, os.Chmod(inside, 0o1777))
	require.ErrorContains(t, open(inside), "may be written by others", "others could add a program")
	require.NoError(t, os.Chmod(inside, 0o700))
	require.NoError(t, os.Chmod(dir, 0o770))
	require.ErrorContains(t, open(inside), dir+" may be written by others")
	for i := range 65 {
		commandstest.WriteProgram(t, inside, exec.Prefix+string(rune('a'+i%26))+string(rune('a'+i/26)), "")
	}
	require.NoError(t, os.Chmod(dir, 0o700))
	require.ErrorContains(t, open(inside), "it has 65 programs; there may be 64")
	_, err := exec.Open(t.Context(), exec.Config{Dir: dir})
	require.ErrorContains(t, err, "Ledger is needed")
}

func TestHelpTellsWhatAProgramMayDo(t *testing.T) {
	for name, change := range map[string]map[string]any{
		"read":  {},
		"write": with(sending, map[string]any{"timeout": "2m", "calls": []string{"promote", "locks"}}),
		"again": with(sending, map[string]any{"idempotent": true}),
	} {
		registry, err := commands.NewRegistry(commandstest.Program(t, "platform-report", program(t, "", change)))
		require.NoError(t, err)
		m, err := registry.HelpFor("platform", "report")
		require.NoError(t, err)
		commandstest.Golden(t, goldens+"/external", "help."+name, m)
	}
}
