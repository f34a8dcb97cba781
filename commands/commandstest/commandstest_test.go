package commandstest_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"platform.dev/platform/bots/markup"
	"platform.dev/platform/commands"
	"platform.dev/platform/commands/commandstest"
)

// tester keeps what a failing test would say.
type tester struct {
	testing.TB
	said string
}

func (t *tester) Helper()                        {}
func (t *tester) Errorf(format string, a ...any) { t.said += fmt.Sprintf(format, a...) + "\n" }
func (t *tester) Error(a ...any)                 { t.said += fmt.Sprint(a...) + "\n" }
func (t *tester) Fatalf(format string, a ...any) {
	t.Errorf(format, a...)
	panic(t)
}
func (t *tester) Fatal(a ...any) {
	t.Error(a...)
	panic(t)
}

// failing runs check and returns what it complains of.
func failing(t *testing.T, check func(testing.TB)) (said string) {
	t.Helper()
	fake := &tester{TB: t}
	defer func() {
		if v := recover(); v != nil && v != any(fake) {
			panic(v)
		}
		said = fake.said
	}()
	check(fake)
	return fake.said
}

func hello(name string) markup.Message {
	return markup.Message{Kind: "hello", Status: markup.Done, Title: markup.Spans(markup.T("Hello, "), markup.F(name))}
}

// write keeps the goldens of a message, as a run with -update would.
func write(t *testing.T, dir string, m markup.Message) {
	t.Helper()
	all, err := commandstest.Renderings(m)
	require.NoError(t, err)
	require.Len(t, all, 4)
	for ending, text := range all {
		require.NoError(t, os.WriteFile(filepath.Join(dir, m.Kind+"."+ending), []byte(text), 0o600))
	}
}

func TestGoldenComparesEveryRendering(t *testing.T) {
	if commandstest.Update() {
		return // nothing is compared then
	}
	dir := t.TempDir()
	said := failing(t, func(t testing.TB) { commandstest.Golden(t, dir, "hello", hello("Ada")) })
	assert.Contains(t, said, "-update", "goldens that are not there")
	write(t, dir, hello("Ada"))
	commandstest.Golden(t, dir, "hello", hello("Ada"))
	said = failing(t, func(t testing.TB) { commandstest.Golden(t, dir, "hello", hello("Bo")) })
	for _, ending := range []string{"zulip.md", "slack.json", "terminal.txt", "plain.txt"} {
		assert.Contains(t, said, "hello."+ending+" differs")
	}
	assert.Contains(t, failing(t, func(t testing.TB) { commandstest.Golden(t, dir, "../hello", hello("Ada")) }), "lower-case words")
}

func TestCompleteFindsAGoldenThatNothingMakes(t *testing.T) {
	if commandstest.Update() {
		return // it is removed then
	}
	dir := t.TempDir()
	write(t, dir, hello("Ada"))
	commandstest.Complete(t, dir, []markup.Message{hello("Bo")})
	require.NoError(t, os.WriteFile(filepath.Join(dir, "gone.plain.txt"), nil, 0o600))
	said := failing(t, func(t testing.TB) { commandstest.Complete(t, dir, []markup.Message{hello("Bo")}) })
	assert.Contains(t, said, "gone.plain.txt: no message makes this golden file")
	assert.NotContains(t, said, "hello")
}

func TestRunRecordsAllThatIsSaid(t *testing.T) {
	type args struct {
		Name string `arg:""`
	}
	cmd := commands.Typed(commands.Command{Bot: "greeter", Verb: "hello", Summary: "greet somebody", Examples: []string{"hello Ada"}, Effect: commands.Read},
		func(ctx context.Context, req commands.Request, a *args, reply commands.Reply) error {
			to := commands.Place{Stream: "greetings", Topic: req.Who.Persona}
			return errors.Join(
				reply.Progress(ctx, hello("…")), reply.Post(ctx, "one", to, hello("1")), reply.Post(ctx, "two", to, hello("2")),
				reply.Post(ctx, "one", to, hello(req.Project)), reply.Answer(ctx, hello(a.Name)),
			)
		})
	rec := commandstest.Run(t, cmd, commandstest.Ask{Text: "hello Ada", Project: "shop"})
	require.NoError(t, rec.Err)
	assert.Equal(t, hello("Ada"), rec.Answer())
	assert.Equal(t, []markup.Message{hello("…")}, rec.Progress)
	assert.Len(t, rec.Posts, 3)
	to := commands.Place{Stream: "greetings", Topic: "developer"}
	assert.Equal(t, []commandstest.Posted{{Key: "one", To: to, Message: hello("shop")}, {Key: "two", To: to, Message: hello("2")}}, rec.Final())

	var usage *commands.UsageError
	require.ErrorAs(t, commandstest.Run(t, cmd, commandstest.Ask{Text: "hello"}).Err, &usage)
	assert.Equal(t, markup.Message{}, (&commandstest.Recorder{}).Answer())
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	require.ErrorIs(t, commandstest.RunContext(ctx, t, cmd, commandstest.Ask{Text: "hello Ada"}).Err, context.Canceled)

	cmd.Summary = ""
	assert.Contains(t, failing(t, func(t testing.TB) { commandstest.Run(t, cmd, commandstest.Ask{Text: "hello Ada"}) }), "summary")
	assert.Contains(t, failing(t, func(t testing.TB) { commandstest.Pick(t, nil, "hello") }), `"hello"`)
}
