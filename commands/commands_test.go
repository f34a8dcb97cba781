package commands_test

import (
	"context"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/alecthomas/kong"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"platform.dev/platform/commands"
	"platform.dev/platform/commands/commandstest"
)

// goldens is where the goldens of every message kind live.
const goldens = "../fixtures/golden/messages"

type shipArgs struct {
	Project string        `arg:"" help:"The project."`
	Scope   string        `arg:"" optional:"" enum:"all,some," default:"" help:"How much."`
	To      string        `help:"Where to." placeholder:"environment"`
	Reason  string        `help:"Why."`
	Force   bool          `help:"Even so."`
	After   time.Duration `help:"How long to wait."`
	Count   int           `help:"How often."`
}

func nothing[T any](context.Context, commands.Request, *T, commands.Reply) error { return nil }

func ship() commands.Command {
	return commands.Typed(commands.Command{
		Bot: "sample", Verb: "ship", Summary: "ship a project", Examples: []string{"ship shop"}, Effect: commands.Write, Action: "project:ship",
	}, nothing[shipArgs])
}

func list() commands.Command {
	return commands.Command{Bot: "sample", Verb: "list", Summary: "list projects", Examples: []string{"list"}, Effect: commands.Read,
		Run: func(context.Context, commands.Request, commands.Reply) error { return nil }}
}

func registry(t *testing.T) *commands.Registry {
	t.Helper()
	r, err := commands.NewRegistry(ship(), list())
	require.NoError(t, err)
	return r
}

func TestEveryMessageOfThisPackageHasItsGoldens(t *testing.T) {
	samples := commands.Catalogue()
	require.Len(t, samples, 7)
	commandstest.Catalogue(t, goldens, samples)
}

func TestWhatIsSaidIsUnderstood(t *testing.T) {
	for _, c := range []struct {
		text string
		want shipArgs
	}{
		{"ship shop", shipArgs{Project: "shop"}},
		{"  SHIP   shop  all ", shipArgs{Project: "shop", Scope: "all"}},
		{"ship shop --to production --force", shipArgs{Project: "shop", To: "production", Force: true}},
		{`ship shop --reason "two words"`, shipArgs{Project: "shop", Reason: "two words"}},
		{`ship shop --reason='two "words"'`, shipArgs{Project: "shop", Reason: `two "words"`}},
		{"ship shop —reason “curly quotes”", shipArgs{Project: "shop", Reason: "curly quotes"}},
		{"ship shop –to production", shipArgs{Project: "shop", To: "production"}},
		{`ship shop --reason don't`, shipArgs{Project: "shop", Reason: "don't"}},
		{`ship shop --reason don’t`, shipArgs{Project: "shop", Reason: "don't"}},
		{`ship shop --reason two\ words`, shipArgs{Project: "shop", Reason: "two words"}},
		{`ship shop --reason "a \"quoted\" word"`, shipArgs{Project: "shop", Reason: `a "quoted" word`}},
		{"ship shop --after 5m --count 3", shipArgs{Project: "shop", After: 5 * time.Minute, Count: 3}},
		{"ship\n shop\t--force", shipArgs{Project: "shop", Force: true}},
		{`ship shop --reason ""`, shipArgs{Project: "shop"}},
		{"ship -- --shop", shipArgs{Project: "--shop"}},
	} {
		call, err := registry(t).Parse("sample", c.text)
		require.NoError(t, err, c.text)
		assert.Equal(t, "ship", call.Verb)
		assert.Equal(t, strings.TrimSpace(c.text), call.Text)
		assert.Equal(t, &c.want, call.Args, c.text)
	}
}

func TestArgumentsAreFreshForEachMessage(t *testing.T) {
	r := registry(t)
	first, err := r.Parse("sample", "ship shop --force")
	require.NoError(t, err)
	second, err := r.Parse("sample", "ship blog")
	require.NoError(t, err)
	assert.True(t, first.Args.(*shipArgs).Force)
	assert.Equal(t, &shipArgs{Project: "blog"}, second.Args)
}

func TestWhatIsNotUnderstoodNamesArgumentAndValue(t *testing.T) {
	for _, c := range []struct{ text, kind, says string }{
		{"shp shop", "usage.unknown", "Did you mean ship?"},
		{"frobnicate", "usage.unknown", "There are ship, list, explain, confirm, cancel and help."},
		{"ship", "usage.arguments", "missing: <project>"},
		{"ship shop all more", "usage.arguments", "unexpected argument more"},
		{"ship shop most", "usage.arguments", `"most"`},
		{"ship shop --too staging", "usage.arguments", `unknown flag --too`},
		{"ship shop --count many", "usage.arguments", `"many"`},
		{"ship shop --after soon", "usage.arguments", `"soon"`},
		{"ship shop --to", "usage.arguments", "--to"},
		{"list everything", "usage.arguments", "unexpected argument everything"},
		{`ship shop --reason "never closed`, "usage.quote", "never closed"},
		{"ship " + strings.Repeat("é", commands.MaxText), "usage.long", "4005 characters"},
		{strings.Repeat("x ", 1500), "usage.long", "1500 words"},
		{"help shp", "", ""},
	} {
		_, err := registry(t).Parse("sample", c.text)
		if c.kind == "" {
			require.NoError(t, err)
			continue
		}
		var usage *commands.UsageError
		require.ErrorAs(t, err, &usage, c.text)
		assert.Equal(t, c.kind, usage.Message.Kind, c.text)
		assert.Contains(t, usage.Error(), c.says)
		if c.kind == "usage.arguments" {
			assert.Contains(t, usage.Error(), "@sample "+strings.Fields(c.text)[0], "how to ask")
		}
		var _ commands.Refusal = usage
		assert.Equal(t, usage.Error(), usage.Refused())
	}
}

func TestHelpIsBuiltInAndMadeFromTheValues(t *testing.T) {
	r := registry(t)
	for _, text := range []string{"", "  ", "help"} {
		call, err := r.Parse("sample", text)
		require.NoError(t, err)
		assert.Equal(t, "help", call.Verb)
	}
	for _, text := range []string{"ship --help", "ship -h", "help ship"} {
		call, err := r.Parse("sample", text)
		require.NoError(t, err)
		rec := commandstest.Run(t, ship(), commandstest.Ask{Text: text})
		require.NoError(t, rec.Err)
		assert.Equal(t, "help", call.Verb)
		assert.Equal(t, "help.command", rec.Answer().Kind)
	}
	rec := commandstest.Run(t, ship(), commandstest.Ask{Text: "help nothing"})
	var usage *commands.UsageError
	require.ErrorAs(t, rec.Err, &usage)
	assert.Equal(t, "ship <project> [all|some] [--to <environment>] [--reason <reason>] [--force] [--after <after>] [--count <count>]", ship().Usage())
	assert.Equal(t, []string{"sample"}, r.Bots())
	assert.Len(t, r.Commands("sample"), 6)
}

func TestAnUnknownBotIsAFault(t *testing.T) {
	_, err := registry(t).Parse("nobody", "ship")
	require.ErrorContains(t, err, `"nobody"`)
}

func TestTheRegistryRefuses(t *testing.T) {
	type path struct {
		File string `arg:"" type:"existingfile"`
	}
	type content struct {
		File string `arg:"" type:"filecontent"`
	}
	type env struct {
		Token string `env:"HOME"`
	}
	type flag struct {
		Version kong.VersionFlag
	}
	type file struct {
		File *os.File `arg:""`
	}
	type raw struct {
		File kong.FileContentFlag
	}
	type nested struct {
		Go struct{} `cmd:""`
	}
	type broken struct {
		X string `arg:"" enum:"a,b"`
		Y string `kong:"type='"`
	}
	for name, c := range map[string]struct {
		change func(*commands.Command)
		says   string
	}{
		"no bot":          {func(c *commands.Command) { c.Bot = "" }, "bot's name"},
		"no verb":         {func(c *commands.Command) { c.Verb = "" }, "verb"},
		"a verb in words": {func(c *commands.Command) { c.Verb = "do it" }, "verb"},
		"no summary":      {func(c *commands.Command) { c.Summary = " " }, "summary"},
		"a full stop":     {func(c *commands.Command) { c.Summary = "ships." }, "full stop"},
		"no example":      {func(c *commands.Command) { c.Examples = nil }, "example"},
		"a bad example":   {func(c *commands.Command) { c.Examples = []string{"ship"} }, "missing: <project>"},
		"another's verb":  {func(c *commands.Command) { c.Examples = []string{"help"} }, `asks for "help"`},
		"no effect":       {func(c *commands.Command) { c.Effect = "" }, "effect"},
		"a write for all": {func(c *commands.Command) { c.Action = "" }, "permits"},
		"no run":          {func(c *commands.Command) { c.Run = nil }, "Run"},
		"help":            {func(c *commands.Command) { c.Verb = "help"; c.Examples = []string{"help shop"} }, "taken"},
		"no pointer":      {func(c *commands.Command) { c.Args = func() any { return shipArgs{} } }, "pointer to a struct"},
		"nil":             {func(c *commands.Command) { c.Args = func() any { return nil } }, "pointer to a struct"},
		"a path":          {func(c *commands.Command) { c.Args = func() any { return new(path) } }, "existingfile"},
		"a file's text":   {func(c *commands.Command) { c.Args = func() any { return new(content) } }, "filecontent"},
		"environment":     {func(c *commands.Command) { c.Args = func() any { return new(env) } }, "environment"},
		"a kong flag":     {func(c *commands.Command) { c.Args = func() any { return new(flag) } }, "not for chat|acts on the process"},
		"an open file":    {func(c *commands.Command) { c.Args = func() any { return new(file) } }, "not for chat"},
		"raw bytes":       {func(c *commands.Command) { c.Args = func() any { return new(raw) } }, "acts on the process"},
		"subcommands":     {func(c *commands.Command) { c.Args = func() any { return new(nested) } }, "commands within"},
		"broken tags":     {func(c *commands.Command) { c.Args = func() any { return new(broken) } }, "args"},
	} {
		t.Run(name, func(t *testing.T) {
			cmd := ship()
			c.change(&cmd)
			_, err := commands.NewRegistry(cmd)
			require.Error(t, err)
			assert.Regexp(t, c.says, err.Error())
		})
	}
	_, err := commands.NewRegistry(ship(), ship())
	require.ErrorContains(t, err, "the verb is taken")
}

func TestTypedRefusesTheArgumentsOfAnother(t *testing.T) {
	err := ship().Run(t.Context(), commands.Request{Bot: "sample", Verb: "ship", Args: new(int)}, nil)
	require.ErrorContains(t, err, "*int")
}

func TestNearNames(t *testing.T) {
	names := []string{"promote", "rollback", "status", "where", "shop-web", "shop-api"}
	for word, want := range map[string][]string{
		"promot": {"promote"}, "rolback": {"rollback"}, "stauts": {"status"}, "Where": {"where"}, "shop": {"shop-web", "shop-api"}, "frobnicate": nil, "": nil,
	} {
		assert.Equal(t, want, commands.Near(word, names), word)
	}
}

func TestNoTextBreaksTheParser(t *testing.T) {
	r := registry(t)
	rapid.Check(t, func(t *rapid.T) {
		words := rapid.SliceOfN(rapid.SampledFrom([]string{"ship", "shop", "--to", "--", "-", "—to", `"`, "'", `\`, "=", "--reason=", " ", "help", "--help", "-h", "@x", "\x00", "é", "--no-force", "[", "${x}"}), 0, 8).Draw(t, "words")
		text := strings.Join(words, rapid.SampledFrom([]string{" ", "", "\n"}).Draw(t, "between"))
		call, err := r.Parse("sample", text)
		var usage *commands.UsageError
		if err != nil {
			if !assert.ErrorAs(t, err, &usage) || len(usage.Message.Title) == 0 {
				t.Fatalf("%q: %v", text, err)
			}
			return
		}
		if call.Command.Run == nil {
			t.Fatalf("%q: a call without a command", text)
		}
	})
}

func BenchmarkParse(b *testing.B) {
	r, err := commands.NewRegistry(ship(), list())
	require.NoError(b, err)
	b.ReportAllocs()
	for b.Loop() {
		if _, err := r.Parse("sample", `ship shop --to production --reason "two words"`); err != nil {
			b.Fatal(err)
		}
	}
}

func TestACommandIsKnownByItsOtherNames(t *testing.T) {
	lists := list()
	lists.Also, lists.Examples = []string{"ship list"}, []string{"list", "ship list"}
	r, err := commands.NewRegistry(ship(), lists)
	require.NoError(t, err)
	for text, want := range map[string]string{"ship list": "list", " Ship  LIST ": "list", "list": "list", "ship list all": "ship", "ship lists": "ship"} {
		call, err := r.Parse("sample", text)
		require.NoError(t, err, text)
		assert.Equal(t, want, call.Verb, text)
	}
	call, err := r.Parse("sample", "ship list --help")
	require.NoError(t, err)
	assert.Equal(t, "help", call.Verb)
	for other, says := range map[string]string{"list": "one word is a verb", "ship  list": "two words or more"} {
		lists.Also = []string{other}
		_, err := commands.NewRegistry(ship(), lists)
		assert.ErrorContains(t, err, says)
	}
	lists.Also = []string{"ship list", "Ship List"}
	_, err = commands.NewRegistry(ship(), lists, list())
	require.ErrorContains(t, err, "the verb is taken")
	needy := ship()
	needy.Also = []string{"send it"}
	_, err = commands.NewRegistry(needy)
	require.ErrorContains(t, err, `the other name "send it" gives no arguments`)
}

func TestACallTellsEveryPermissionThatItNeeds(t *testing.T) {
	c := ship()
	c.Needs = func(args any) []string {
		if args.(*shipArgs).Force {
			return []string{"project:force"}
		}
		return nil
	}
	r, err := commands.NewRegistry(c, list())
	require.NoError(t, err)
	for text, want := range map[string][]string{"ship shop": {"project:ship"}, "ship shop --force": {"project:ship", "project:force"}, "list": nil} {
		call, err := r.Parse("sample", text)
		require.NoError(t, err)
		assert.Equal(t, want, call.Actions(), text)
	}
}
