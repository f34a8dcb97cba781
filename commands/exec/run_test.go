package exec_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"platform.dev/platform/bots/markup"
	"platform.dev/platform/commands"
	"platform.dev/platform/commands/commandstest"
	"platform.dev/platform/commands/exec"
)

// quoting answers with the request, which is foreign text like everything else.
const quoting = `read -r request
printf '{"message":{"title":[{"kind":"text","text":"asked"}],"blocks":[{"kind":"code","lang":"json","lines":["%s"]}]}}\n' "$(printf %s "$request" | sed 's/[\\"]/\\&/g')"`

func TestAProgramIsGivenTheRequestAndNothingElse(t *testing.T) {
	t.Setenv("PLATFORM_SECRET", "hush")
	cmd := commandstest.Program(t, "platform-report", program(t, quoting, nil))
	rec := commandstest.Run(t, cmd, commandstest.Ask{
		Text: `report "shop \"one\"" --form long --loud`, Key: "zulip:platform:31", Project: "shop", Link: "http://chat.test/31", At: time.Date(2026, 3, 2, 10, 0, 0, 0, time.UTC),
	})
	require.NoError(t, rec.Err)
	require.Len(t, rec.Answer().Blocks, 1)
	assert.JSONEq(t, `{
		"version": 1, "key": "zulip:platform:31", "bot": "platform", "verb": "report", "text": "report \"shop \\\"one\\\"\" --form long --loud",
		"args": {"project": "shop \"one\"", "days": 7, "form": "long", "loud": true},
		"who": {"persona": "developer", "name": "Dev Developer", "groups": ["developers"]},
		"place": {"stream": "general", "topic": "test"}, "link": "http://chat.test/31", "project": "shop", "at": "2026-03-02T10:00:00Z"
	}`, strings.Join(rec.Answer().Blocks[0].Lines, "\n"))

	cmd = commandstest.Program(t, "platform-report", program(t, `[ "$PWD" = "$HOME" ] && [ -z "$(ls -A)" ] || exit 1
names=$(env | sed 's/=.*//' | sort | tr '\n' ' ')
printf '{"message":{"title":[{"kind":"text","text":"%s"}]}}\n' "$names"`, nil))
	rec = commandstest.Run(t, cmd, commandstest.Ask{Text: "report shop"})
	require.NoError(t, rec.Err)
	said := strings.Fields(markup.Plain(rec.Answer()))
	assert.Subset(t, []string{"HOME", "LANG", "PATH", "PWD", "SHLVL", "OLDPWD", "_"}, said, "what a shell sets by itself is no variable of ours")
	assert.Subset(t, said, []string{"HOME", "LANG", "PATH"})
}

func TestAProgramTellsHowFarItIsAndPostsElsewhere(t *testing.T) {
	cmd := commandstest.Program(t, "platform-report", program(t, `
printf '%s\n' '{"progress":{"status":"working","title":[{"kind":"text","text":"half"}]}}'
printf '%s\n' '{"post":{"key":"one","place":{"stream":"news","topic":"reports"},"message":{"kind":"told","title":[{"kind":"bold","text":"told"}]}}}'
printf '\n'
printf '%s' '{"message":{"kind":"written","status":"done","title":[{"kind":"link","text":"here","url":"https://report.test/1"}]}}'`, nil))
	rec := commandstest.Run(t, cmd, commandstest.Ask{Text: "report shop"})
	require.NoError(t, rec.Err)
	require.Len(t, rec.Progress, 1)
	assert.Equal(t, markup.Message{Kind: "external.report", Status: markup.Working, Title: markup.Spans(markup.F("half"))}, rec.Progress[0])
	assert.Equal(t, []commandstest.Posted{{
		Key: "one", To: commands.Place{Stream: "news", Topic: "reports"},
		Message: markup.Message{Kind: "external.report.told", Title: markup.Spans(markup.B("told"))},
	}}, rec.Posts)
	assert.Equal(t, markup.Message{Kind: "external.report.written", Status: markup.Done, Title: markup.Spans(markup.L("here", "https://report.test/1"))}, rec.Answer())
}

func TestAProgramThatSaysNothingIsDoneAndOneThatBreaksIsTold(t *testing.T) {
	for _, c := range []struct{ name, body, says string }{
		{"silent", "exit 0", ""},
		{"exit", "echo one >&2; echo 'two @**all**' >&2; exit 3", "report broke: exit status 3"},
		{"after an answer", answer("done") + "; exit 1", "report broke: exit status 1"},
		{"signal", "kill -9 $$", "report broke: signal: killed"},
		{"its log alone", "for i in 1 2 3 4 5 6 7 8 9; do echo $i >&2; done; exit 1", "  | 9"},
		{"no JSON", "echo hello", `Line 1 of its answer: "hello" is no JSON object`},
		{"the second line", answer("one") + "; echo '{'", "Line 2 of its answer: it is JSON that ends too early"},
		{"two answers", answer("one") + "; " + answer("two"), "it answered before"},
		{"too long a line", "head -c 70000 /dev/zero | tr '\\0' x", "it has more than 65536 bytes"},
		{"too much", "yes ''", "it said more than 1048576 bytes"},
		{"progress without end", "while :; do echo '{\"progress\":{\"title\":[{\"text\":\"x\"}]}}'; done", "Line 101 of its answer: there may be 100 lines of progress"},
		{"a call that it did not name", `echo '{"call":{"verb":"promote","args":["shop"]}}'; read -r result; ` + answer("done"), `call.verb "promote": its description does not name it`},
	} {
		t.Run(c.name, func(t *testing.T) {
			rec := commandstest.Run(t, commandstest.Program(t, "platform-report", program(t, c.body, nil), quick), commandstest.Ask{Text: "report shop"})
			require.NoError(t, rec.Err)
			if c.says == "" {
				assert.Empty(t, rec.Answers)
				return
			}
			require.Len(t, rec.Answers, 1)
			assert.Equal(t, markup.Failed, rec.Answer().Status)
			assert.Contains(t, markup.Plain(rec.Answer()), c.says)
			assert.NotContains(t, strings.Join(markup.Zulip(rec.Answer()), ""), "@**all**\n\n", "what it writes mentions nobody")
		})
	}
}

func TestAProgramCallsOtherCommandsForWhoAsks(t *testing.T) {
	body := `read -r request
echo '{"call":{"verb":"promote","args":["shop","--reason","two words"]}}'
read -r result
case $result in *'"outcome":"done"'*) ` + answer("promoted") + `;; *) ` + answer("not promoted") + `;; esac`
	cmd := commandstest.Program(t, "platform-report", program(t, body, with(sending, map[string]any{"calls": []string{"promote"}})), func(c *exec.Config) {
		c.Beside = beside(t)
	})
	for i, outcome := range []commands.CallOutcome{commands.CallDone, commands.CallRefused} {
		rec := commandstest.Run(t, cmd, commandstest.Ask{Text: "report shop", Key: fmt.Sprint("test:", i), Calls: func([]string) commands.Called {
			return commands.Called{Outcome: outcome, Message: markup.Message{Kind: "promote.x", Title: markup.Spans(markup.T(`said "so"`))}}
		}})
		require.NoError(t, rec.Err)
		assert.Equal(t, [][]string{{"promote", "shop", "--reason", "two words"}}, rec.Calls)
		assert.Equal(t, []string{"✓ promoted", "✓ not promoted"}[i], markup.Plain(rec.Answer()))
	}
}

// holding is a program that holds a gate, with a child, and does not end when it is asked to.
func holding(g *gate, then string) string {
	return fmt.Sprintf("exec 9>%s; trap '' TERM; echo held >&9; %s; (trap '' TERM; while :; do sleep 100; done) & while :; do sleep 100; done", g.path, then)
}

func TestAProgramWhoseTimeIsOverIsEndedWithItsChildren(t *testing.T) {
	g := newGate(t)
	cmd := commandstest.Program(t, "platform-report", program(t, holding(g, "echo sending >&2"), map[string]any{"timeout": "1s"}), quick)
	rec := commandstest.Run(t, cmd, commandstest.Ask{Text: "report shop"})
	require.NoError(t, rec.Err)
	assert.Equal(t, "✗ report took longer than 1.0 s and was ended\nIt only reads: nothing was changed. Ask again.\n\nThe last that it wrote to its log:\n  | sending", markup.Plain(rec.Answer()))
	g.gone(t)
}

func TestAProgramEndsWithWhoeverRunsIt(t *testing.T) {
	g := newGate(t)
	ctx, cancel := context.WithCancel(t.Context())
	held := progress(func() { cancel() })
	cmd := commandstest.Program(t, "platform-report", program(t, holding(g, `echo '{"progress":{"title":[{"text":"held"}]}}'`), sending), quick)
	err := cmd.Run(ctx, commands.Request{Key: "test:1", Bot: "platform", Verb: "report", Args: cmd.Args()}, held)
	require.ErrorIs(t, err, context.Canceled, "it is left for the next start")
	g.gone(t)
	rec := commandstest.Run(t, cmd, commandstest.Ask{Text: "report shop"})
	require.NoError(t, rec.Err)
	assert.Equal(t, "exec.interrupted", rec.Answer().Kind, "a write is not run again by itself")
}

// progress is a reply that does something at each progress.
type progress func()

func (p progress) Answer(context.Context, markup.Message) error { return nil }
func (p progress) Progress(context.Context, markup.Message) error {
	p()
	return nil
}
func (p progress) Post(context.Context, string, commands.Place, markup.Message) error { return nil }

func TestAChildThatIsLeftBehindIsEndedAndTheAnswerStands(t *testing.T) {
	g := newGate(t)
	cmd := commandstest.Program(t, "platform-report", program(t, fmt.Sprintf("exec 9>%s; echo held >&9; sleep 100 & %s", g.path, answer("written")), nil), quick)
	rec := commandstest.Run(t, cmd, commandstest.Ask{Text: "report shop"})
	require.NoError(t, rec.Err)
	assert.Equal(t, "✓ written", markup.Plain(rec.Answer()))
	g.gone(t)
}

func TestTheSameRequestIsRunAgainOnlyWhenThatDoesNothingTwice(t *testing.T) {
	for _, c := range []struct {
		name   string
		change map[string]any
		runs   int
	}{
		{"a read", nil, 2}, {"a write", sending, 1}, {"an idempotent write", with(sending, map[string]any{"idempotent": true}), 2},
	} {
		t.Run(c.name, func(t *testing.T) {
			ran := filepath.Join(t.TempDir(), "ran")
			cmd := commandstest.Program(t, "platform-report", program(t, "echo x >>"+ran+"; "+answer("written"), c.change))
			for range 2 {
				rec := commandstest.Run(t, cmd, commandstest.Ask{Text: "report shop"})
				require.NoError(t, rec.Err)
				assert.Equal(t, "✓ written", markup.Plain(rec.Answer()), "the same answer each time")
			}
			assert.Len(t, lines(t, ran), c.runs)
			rec := commandstest.Run(t, cmd, commandstest.Ask{Text: "report shop", Key: "test:2"})
			require.NoError(t, rec.Err)
			assert.Len(t, lines(t, ran), c.runs+1, "another request")
		})
	}
}

func TestAProgramThatWasChangedByOthersSinceIsNotRun(t *testing.T) {
	path := commandstest.WriteProgram(t, t.TempDir(), "platform-report", program(t, answer("written"), nil))
	cmd, err := exec.Load(t.Context(), exec.Config{Ledger: commandstest.NewLedger()}, path)
	require.NoError(t, err)
	require.NoError(t, os.Chmod(path, 0o777))
	var refusal commands.Refusal
	require.ErrorAs(t, commandstest.Run(t, cmd, commandstest.Ask{Text: "report shop"}).Err, &refusal)
	assert.Equal(t, "report is not run: it may be written by others; take that away with chmod go-w. Whoever runs this bot can mend that.", refusal.Refused())
}
