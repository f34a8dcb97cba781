package bots_test

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"platform.dev/platform/bots"
	"platform.dev/platform/bots/markup"
	"platform.dev/platform/commands"
	"platform.dev/platform/commands/commandstest"
)

// refusal is a decision against what was asked.
type refusal string

func (r refusal) Error() string   { return string(r) }
func (r refusal) Refused() string { return string(r) }

// ways are the commands whose ends are tested, by verb.
func ways() []commands.Command {
	ends := map[string]func(context.Context, commands.Request, commands.Reply) error{
		"silent": func(context.Context, commands.Request, commands.Reply) error { return nil },
		"refuse": func(context.Context, commands.Request, commands.Reply) error {
			return fmt.Errorf("promote shop: %w", refusal("Commit 4f2a is locked by @**all**: \"bad migration\".\nAsk Sam, or unlock it."))
		},
		"break": func(context.Context, commands.Request, commands.Reply) error {
			return errors.New("control plane: read bindings: connection refused")
		},
		"panic": func(context.Context, commands.Request, commands.Reply) error { panic("secret in a panic") },
		"hang": func(ctx context.Context, _ commands.Request, _ commands.Reply) error {
			<-ctx.Done()
			return fmt.Errorf("wait for build: %w", ctx.Err())
		},
		"answer-refused": func(ctx context.Context, _ commands.Request, reply commands.Reply) error {
			return reply.Answer(ctx, said("test.no", "no", markup.Refused))
		},
		"answer-failed": func(ctx context.Context, _ commands.Request, reply commands.Reply) error {
			return reply.Answer(ctx, said("test.bad", "bad", markup.Failed))
		},
		"progress-break": func(ctx context.Context, _ commands.Request, reply commands.Reply) error {
			if err := reply.Progress(ctx, said("test.step", "working", markup.Working)); err != nil {
				return err
			}
			return errors.New("git server: push: connection reset")
		},
	}
	var all []commands.Command
	for verb, run := range ends {
		all = append(all, command(verb, commands.Write, run))
	}
	all = append(all, commands.Command{Bot: "platform", Verb: "where", Summary: "say where it is", Examples: []string{"where"}, Effect: commands.Read, Run: echo})
	unnamed := command("unnamed", commands.Write, echo)
	unnamed.Action = "component:unnamed"
	return append(all, unnamed, gift())
}

// gift needs one permission, and another to wrap it.
func gift() commands.Command {
	type args struct {
		Wrapped bool `help:"In paper."`
	}
	c := commands.Typed(commands.Command{
		Bot: "platform", Verb: "gift", Summary: "give", Examples: []string{"gift"}, Effect: commands.Write, Action: "component:break",
	}, func(ctx context.Context, req commands.Request, _ *args, reply commands.Reply) error {
		return echo(ctx, req, reply)
	})
	c.Needs = func(given any) []string {
		if a, ok := given.(*args); ok && !a.Wrapped {
			return nil
		}
		return []string{"component:wrap"}
	}
	return c
}

// who are the people of these tests, by user id.
func who(t *testing.T) *bots.People {
	t.Helper()
	p, err := bots.NewPeople(
		bots.Entry{Chat: "test:10", Persona: "admin", Name: "Ada Admin", Groups: []string{"admins"}},
		bots.Entry{Chat: "test:11", Persona: "developer", Name: "Dev Developer", Groups: []string{"developers"}},
		bots.Entry{Chat: "test:12", Persona: "visitor", Name: "Vic Visitor"},
	)
	require.NoError(t, err)
	return p
}

func TestHowACommandEndsIsWhatPeopleSee(t *testing.T) {
	var kinds []string
	for _, m := range bots.Catalogue() {
		kinds = append(kinds, m.Kind)
	}
	for _, c := range []struct {
		name, user, text, reaction, kind string
		late                             time.Duration
	}{
		{"a command that says nothing is answered for", "10", "silent", bots.ReactionDone, "bots.done", 0},
		{"a refusal is shown word for word", "10", "refuse", bots.ReactionRefused, "bots.refused", 0},
		{"an error names the part and its id", "10", "break", bots.ReactionFailed, "bots.failed", 0},
		{"a panic is answered and shows nothing of itself", "10", "panic", bots.ReactionFailed, "bots.failed", 0},
		{"a command is stopped when its time is over", "10", "hang", bots.ReactionFailed, "bots.overtime", 0},
		{"an answer may itself refuse", "10", "answer-refused", bots.ReactionRefused, "test.no", 0},
		{"an answer may itself tell of a failure", "10", "answer-failed", bots.ReactionFailed, "test.bad", 0},
		{"a failure takes the place of progress", "10", "progress-break", bots.ReactionFailed, "bots.failed", 0},
		{"an unknown verb is answered with usage", "10", "promte", bots.ReactionFailed, "usage.unknown", 0},
		{"a write heard late is answered", "10", "silent", bots.ReactionRefused, "bots.stale", 3 * time.Hour},
		{"a write needs its permission", "11", "silent", bots.ReactionRefused, "bots.denied", 0},
		{"a person in no group may write nothing", "12", "silent", bots.ReactionRefused, "bots.denied", 0},
		{"a person in no group may read", "12", "where", bots.ReactionDone, "test.echo", 0},
		{"a developer may do what developers may", "11", "break", bots.ReactionFailed, "bots.failed", 0},
		{"what goes beyond a command's own permission needs another", "11", "gift --wrapped", bots.ReactionRefused, "bots.beyond", 0},
		{"what does not go beyond needs none", "11", "gift", bots.ReactionDone, "test.echo", 0},
		{"who has both may do both", "10", "gift --wrapped", bots.ReactionDone, "test.echo", 0},
		{"who lacks both is told of the first", "12", "gift --wrapped", bots.ReactionRefused, "bots.denied", 0},
		{"somebody unknown gets a polite refusal", "66", "where", bots.ReactionRefused, "bots.unknown", 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newWorld(t, ways()...)
				var seen []bots.Observation // by the one worker, before the message is settled
				w.config = func(cfg *bots.Config) {
					cfg.Observe = func(o bots.Observation) { seen = append(seen, o) }
					cfg.Timeout = 2 * time.Minute
					cfg.Directory, cfg.Policy = who(t), bots.Grants{"admins": {"*"}, "developers": {"component:break"}}
				}
				stop := w.start(nil)
				defer stop()
				id := w.chat.SayAt(c.user, shop, c.text, time.Now().Add(-c.late))
				until(t, "settled", w.settled)
				answers := w.chat.Bots(shop)
				require.Len(t, answers, 1)
				assert.Equal(t, c.kind, answers[0].Message.Kind)
				require.Len(t, seen, 1)
				assert.Equal(t, seen[0].Verb == "", seen[0].Effect == "", "what was understood is counted with its effect: %+v", seen[0])
				if c.kind == "bots.denied" || c.kind == "bots.stale" || c.kind == "bots.beyond" {
					assert.Equal(t, commands.Write, seen[0].Effect)
				}
				question, _ := w.chat.Message(id)
				assert.Equal(t, []string{c.reaction}, question.Reactions)
				assert.NotContains(t, markup.Plain(answers[0].Message), "secret")
				if strings.HasPrefix(c.kind, "bots.") {
					assert.Contains(t, kinds, c.kind, "the catalogue has it")
				}
			})
		})
	}
}

// aimed are the arguments of a command that names its project.
type aimed struct {
	Project string `arg:"" optional:"" help:"Which."`
}

func (a *aimed) Aim() (project, environment string) { return a.Project, "production" }

func TestADecisionIsAboutTheProjectThatIsNamedElseTheStreams(t *testing.T) {
	for _, c := range []struct {
		name, user, text, want string
		place                  commands.Place
	}{
		{"named in another's stream", "11", "promote blog", "blog", shop},
		{"named where there is none", "11", "promote blog", "blog", news},
		{"not named", "11", "promote", "shop", shop},
		{"not named where there is none", "11", "promote", "", news},
		{"of somebody unknown, whose words nobody reads", "66", "promote blog", "shop", shop},
		{"too long for a name", "11", "promote " + strings.Repeat("x", 500), strings.Repeat("x", 300) + "…", news},
	} {
		synctest.Test(t, func(t *testing.T) {
			w := newWorld(t, commands.Typed(commands.Command{Bot: "platform", Verb: "promote", Summary: "promote", Examples: []string{"promote blog"}, Effect: commands.Write, Action: "component:promote"},
				func(context.Context, commands.Request, *aimed, commands.Reply) error { return nil }))
			w.config = func(cfg *bots.Config) { cfg.Directory, cfg.Policy = who(t), bots.Grants{"admins": {"*"}} }
			stop := w.start(nil)
			defer stop()
			w.chat.Say(c.user, c.place, c.text)
			until(t, "settled", w.settled)
			decided := w.store.Decisions()
			require.Len(t, decided, 1, c.name)
			assert.Equal(t, c.want, decided[0].Project, c.name)
		})
	}
}

func TestWhatARuntimeSays(t *testing.T) {
	dir := filepath.Join("..", "fixtures", "golden", "bots")
	commandstest.Catalogue(t, dir, bots.Catalogue())
	commandstest.Complete(t, dir, bots.Catalogue())
}
