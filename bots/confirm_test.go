package bots_test

import (
	"context"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"platform.dev/platform/bots"
	"platform.dev/platform/bots/botstest"
	"platform.dev/platform/bots/markup"
	"platform.dev/platform/commands"
)

// razeArgs ask to go on against a gate, or only to be told.
type razeArgs struct {
	Project string `arg:"" help:"The project."`
	Force   bool   `help:"Even so."`
	DryRun  bool   `help:"Only tell."`
}

func (a *razeArgs) Forced() bool          { return a.Force }
func (a *razeArgs) Dry() bool             { return a.DryRun }
func (a *razeArgs) Aim() (string, string) { return a.Project, "production" }

// raze is a command that is planned: done counts its effects, standing is what its plan is about.
func raze(done *effects, standing *atomic.Value) commands.Command {
	c := commands.Typed(commands.Command{
		Bot: "platform", Verb: "raze", Summary: "raze a project", Examples: []string{"raze shop"}, Effect: commands.Write, Action: "component:raze",
	}, func(ctx context.Context, req commands.Request, a *razeArgs, reply commands.Reply) error {
		done.do(req.Key + " of " + req.Who.Persona + " confirmed " + req.Confirmed)
		return reply.Answer(ctx, said("raze.done", "razed "+a.Project, markup.Done))
	})
	return commands.Planned(c, func(_ context.Context, _ commands.Request, a *razeArgs) (commands.Plan, error) {
		what, _ := standing.Load().(string)
		if what == "nothing" {
			return commands.Plan{}, refusal(a.Project + " does not stand.\nBuild it first.")
		}
		if what == "ashes" {
			return commands.Plan{Message: said("raze.idle", a.Project+" does not stand any more", markup.Notice)}, nil
		}
		if what == "a church" {
			return commands.Plan{}, &commands.Declined{Message: said("raze.no", "a church stays", markup.Refused)}
		}
		return commands.Plan{Message: said("raze.plan", "would raze "+a.Project+" of "+what, markup.Notice), Fingerprint: a.Project + what}, nil
	})
}

// asked is a world in which somebody was asked to confirm.
type asked struct {
	*world
	done     *effects
	standing *atomic.Value
	question string // the id of the message that asks
	asking   string // the id of the message that asked for it
	code     string
}

// ask has user 10 ask, and waits for the question.
func ask(t *testing.T, w *world, done *effects, standing *atomic.Value, text string) *asked {
	t.Helper()
	a := &asked{world: w, done: done, standing: standing}
	a.asking = w.chat.Say("10", shop, text)
	until(t, "settled", w.settled)
	questions := w.chat.Bots(shop)
	require.Len(t, questions, 1)
	a.question, a.code = questions[0].ID, botstest.Code(questions[0].Message)
	require.Equal(t, "bots.confirm", questions[0].Message.Kind)
	require.Len(t, a.code, 6)
	assert.Equal(t, []string{bots.ReactionAsked}, a.marks(a.asking))
	assert.Empty(t, done.list(), "nothing is done before it is confirmed")
	return a
}

// marks are the reactions on a message.
func (w *world) marks(id string) []string {
	m, _ := w.chat.Message(id)
	return m.Reactions
}

// kinds are the kinds of what the bot said in a place, as it stands.
func (w *world) kinds(place commands.Place) (kinds []string) {
	for _, s := range w.chat.Bots(place) {
		kinds = append(kinds, s.Message.Kind)
	}
	return kinds
}

// decisions are the kinds of what was decided, in order.
func (w *world) decisions() (kinds []string) {
	for _, d := range w.store.Decisions() {
		kinds = append(kinds, d.Kind)
	}
	return kinds
}

// asking starts a world whose people are 10 (admin), 11 (developer, may not raze), 12 (visitor) and 13 (another admin).
func asking(t *testing.T, policy bots.Confirmations) (w *world, done *effects, standing *atomic.Value) {
	t.Helper()
	done, standing = &effects{}, &atomic.Value{}
	standing.Store("stone")
	w = newWorld(t, raze(done, standing), command("status", commands.Read, echo))
	people, err := bots.NewPeople(
		bots.Entry{Chat: "test:10", Persona: "admin", Groups: []string{"admins"}}, bots.Entry{Chat: "test:13", Persona: "boss", Groups: []string{"admins"}},
		bots.Entry{Chat: "test:11", Persona: "developer", Groups: []string{"developers"}}, bots.Entry{Chat: "test:12", Persona: "visitor"},
	)
	require.NoError(t, err)
	w.config = func(c *bots.Config) {
		c.Confirm, c.Directory, c.Policy = policy, people, bots.Grants{"admins": {"*"}, "developers": {"component:status"}}
	}
	return w, done, standing
}

func by(way bots.Way, four bool) bots.Confirmations {
	return bots.Confirmations{{Environment: "production", Command: "platform raze", By: way, FourEyes: four}}
}

func TestAWordToAQuestion(t *testing.T) {
	const ran, still = "test:platform:1 of admin confirmed shopstone", ""
	for _, c := range []struct {
		name   string
		policy bots.Confirmations
		text   string
		word   func(a *asked)
		done   string
		kinds  string // of what the bot then has said, in order
		last   string // the last decision
	}{
		{"what is forced is asked, whatever the policy says", nil, "raze shop --force",
			func(a *asked) { a.chat.Say("10", shop, "confirm "+a.code) }, ran, "bots.confirmed raze.done", bots.DecidedConfirmed},
		{"a code is read however it is typed", nil, "raze shop --force",
			func(a *asked) { a.chat.Say("10", shop, "CONFIRM "+strings.ToUpper(a.code)) }, ran, "bots.confirmed raze.done", bots.DecidedConfirmed},
		{"it may be said elsewhere", nil, "raze shop --force",
			func(a *asked) { a.chat.Say("10", other, "confirm "+a.code) }, ran, "bots.confirmed raze.done", bots.DecidedConfirmed},
		{"a button", nil, "raze shop --force",
			func(a *asked) { a.chat.Press("10", a.question, "Go on") }, ran, "bots.confirmed raze.done", bots.DecidedConfirmed},
		{"a button that calls it off", nil, "raze shop --force",
			func(a *asked) { a.chat.Press("10", a.question, "Call off") }, still, "bots.cancelled", bots.DecidedCancelled},
		{"a word that calls it off", nil, "raze shop --force",
			func(a *asked) { a.chat.Say("10", shop, "cancel "+a.code) }, still, "bots.cancelled", bots.DecidedCancelled},
		{"somebody else who may calls it off", nil, "raze shop --force",
			func(a *asked) { a.chat.Say("13", shop, "cancel "+a.code) }, still, "bots.cancelled", bots.DecidedCancelled},
		{"a reaction, where the policy takes one", by(bots.WayReaction, false), "raze shop",
			func(a *asked) { a.chat.React("10", a.question, "+1") }, ran, "bots.confirmed raze.done", bots.DecidedConfirmed},
		{"a reaction that calls it off", by(bots.WayReaction, false), "raze shop",
			func(a *asked) { a.chat.React("10", a.question, "cross_mark") }, still, "bots.cancelled", bots.DecidedCancelled},
		{"a reaction that says neither", by(bots.WayReaction, false), "raze shop",
			func(a *asked) { a.chat.React("10", a.question, "tada") }, still, "bots.confirm", bots.DecidedAsked},
		{"a reaction, where the policy wants words", by(bots.WayReply, false), "raze shop",
			func(a *asked) { a.chat.React("10", a.question, "+1") }, still, "bots.confirm", bots.DecidedAsked},
		{"a reaction of a bystander is let be", by(bots.WayReaction, false), "raze shop",
			func(a *asked) { a.chat.React("13", a.question, "+1") }, still, "bots.confirm", bots.DecidedRefused},
		{"a button pressed by another", nil, "raze shop --force",
			func(a *asked) { a.chat.Press("13", a.question, "Go on") }, still, "bots.confirm bots.notyours", bots.DecidedRefused},
		{"another confirms", nil, "raze shop --force",
			func(a *asked) { a.chat.Say("13", shop, "confirm "+a.code) }, still, "bots.confirm bots.notyours", bots.DecidedRefused},
		{"somebody who may not confirms", nil, "raze shop --force",
			func(a *asked) { a.chat.Say("11", shop, "confirm "+a.code) }, still, "bots.confirm bots.denied", bots.DecidedDenied},
		{"somebody who may not calls it off", nil, "raze shop --force",
			func(a *asked) { a.chat.Say("11", shop, "cancel "+a.code) }, still, "bots.confirm bots.denied", bots.DecidedDenied},
		{"a stranger presses", nil, "raze shop --force",
			func(a *asked) { a.chat.Press("66", a.question, "Go on") }, still, "bots.confirm bots.unknown", bots.DecidedUnknown},
		{"with four eyes, who asked confirms", by(bots.WayReply, true), "raze shop",
			func(a *asked) { a.chat.Say("10", shop, "confirm "+a.code) }, still, "bots.confirm bots.foureyes", bots.DecidedRefused},
		{"with four eyes, another confirms", by(bots.WayReply, true), "raze shop",
			func(a *asked) { a.chat.Say("13", shop, "confirm "+a.code) }, ran, "bots.confirmed raze.done", bots.DecidedConfirmed},
		{"with four eyes, who asked calls it off", by(bots.WayReply, true), "raze shop",
			func(a *asked) { a.chat.Say("10", shop, "cancel "+a.code) }, still, "bots.cancelled", bots.DecidedCancelled},
		{"another code", nil, "raze shop --force",
			func(a *asked) { a.chat.Say("10", shop, "confirm aaaaaa") }, still, "bots.confirm bots.noquestion", bots.DecidedAsked},
		{"a word that comes too late", nil, "raze shop --force",
			func(a *asked) {
				<-time.After(10*time.Minute + time.Second)
				a.chat.Say("10", shop, "confirm "+a.code)
			}, still, "bots.confirm bots.lapsed", bots.DecidedRefused},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w, done, standing := asking(t, c.policy)
				stop := w.start(nil)
				defer stop()
				a := ask(t, w, done, standing, c.text)
				c.word(a)
				<-time.After(time.Second)
				until(t, "settled", w.settled)
				assert.Equal(t, c.done, strings.Join(done.list(), " "))
				assert.Equal(t, c.kinds, strings.Join(w.kinds(shop), " "))
				decisions := w.decisions()
				assert.Equal(t, c.last, decisions[len(decisions)-1], "%v", decisions)
				for _, d := range w.store.Decisions() {
					if d.Question != "" {
						assert.Equal(t, c.text+" of shop", d.About+" of "+d.Project, "a word says what it was about")
					}
				}
				mark := map[string]string{"bots.confirmed raze.done": bots.ReactionDone, "bots.cancelled": bots.ReactionRefused}[c.kinds]
				if mark == "" {
					mark = bots.ReactionAsked
				}
				assert.Equal(t, []string{mark}, w.marks(a.asking))
			})
		})
	}
}

func TestWhatMayBeAboutAnyProjectIsAskedAboutWhereOneIs(t *testing.T) {
	type lockArgs struct {
		Component string `arg:"" help:"What."`
	}
	lock := commands.Typed(commands.Command{Bot: "platform", Verb: "lock", Effect: commands.Write}, func(context.Context, commands.Request, *lockArgs, commands.Reply) error { return nil })
	bare := commands.Command{Bot: "platform", Verb: "undo", Effect: commands.Write}
	policy := bots.Confirmations{{Project: "garden", By: bots.WayNone}, {Project: "shop", By: bots.WayReply}}
	for _, c := range []struct {
		name   string
		call   commands.Call
		stream string
		asks   bool
	}{
		{"arguments that do not tell", commands.Call{Command: lock, Verb: "lock", Args: &lockArgs{Component: "shop-web"}}, "garden", true},
		{"no arguments, in the stream of the one", commands.Call{Command: bare, Verb: "undo"}, "shop", true},
		{"no arguments, in the stream of the other", commands.Call{Command: bare, Verb: "undo"}, "garden", false},
		{"no arguments, nowhere", commands.Call{Command: bare, Verb: "undo"}, "", true},
		{"a project that is named", commands.Call{Command: lock, Verb: "raze", Args: &razeArgs{Project: "garden"}}, "shop", false},
	} {
		assert.Equal(t, c.asks, policy.Need(c.call, c.stream).Asks(), c.name)
	}
}

func TestWhatNeedsNoConfirmingIsRunAtOnce(t *testing.T) {
	for _, c := range []struct {
		name, text string
		policy     bots.Confirmations
	}{
		{"without a policy", "raze shop", nil},
		{"a dry run, though it is forced", "raze shop --force --dry-run", by(bots.WayReply, false)},
		{"another environment", "raze shop", bots.Confirmations{{Environment: "staging", By: bots.WayReply}}},
		{"another project", "raze shop", bots.Confirmations{{Project: "garden*", By: bots.WayReply}}},
		{"another command", "raze shop", bots.Confirmations{{Command: "platform pro*", By: bots.WayReply}}},
		{"the first row decides", "raze shop", bots.Confirmations{{Project: "s*", By: bots.WayNone}, {By: bots.WayReply}}},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w, done, _ := asking(t, c.policy)
				stop := w.start(nil)
				defer stop()
				w.chat.Say("10", shop, c.text)
				until(t, "settled", w.settled)
				assert.Equal(t, []string{"test:platform:1 of admin confirmed "}, done.list())
				assert.Equal(t, []string{bots.DecidedAllowed}, w.decisions())
			})
		})
	}
}

func TestAPlanThatHasChangedIsAskedAboutAnew(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, done, standing := asking(t, nil)
		stop := w.start(nil)
		defer stop()
		a := ask(t, w, done, standing, "raze shop --force")
		standing.Store("wood")
		w.chat.Say("10", shop, "confirm "+a.code)
		until(t, "asked anew", func() bool { return len(w.kinds(shop)) == 2 && w.settled() })
		assert.Empty(t, done.list())
		assert.Equal(t, []string{"bots.changed", "bots.confirm"}, w.kinds(shop))
		assert.Equal(t, []string{bots.ReactionAsked}, w.marks(a.asking))
		assert.Contains(t, markup.Plain(w.chat.Bots(shop)[0].Message), "- would raze shop of wood (was would raze shop of stone)", "it tells what changed")
		anew := w.chat.Bots(shop)[1].Message
		assert.Contains(t, markup.Plain(anew), "would raze shop of wood")
		code := botstest.Code(anew)
		require.NotEqual(t, a.code, code)

		w.chat.Say("10", shop, "confirm "+a.code)
		until(t, "the old code is refused", func() bool { return len(w.kinds(shop)) == 3 && w.settled() })
		assert.Equal(t, "bots.answered", w.kinds(shop)[2])
		assert.Empty(t, done.list())

		w.chat.Say("10", shop, "confirm "+code)
		until(t, "done", func() bool { return len(w.kinds(shop)) == 4 && w.settled() })
		assert.Equal(t, []string{"test:platform:1 of admin confirmed shopwood"}, done.list())

		w.chat.Say("10", shop, "confirm "+code)
		until(t, "it is used once", func() bool { return len(w.kinds(shop)) == 5 && w.settled() })
		assert.Len(t, done.list(), 1)
		assert.Equal(t, []string{"allowed", "asked", "changed", "refused", "confirmed", "refused"}, w.decisions())
	})
}

func TestAPlanThatRefusesIsTheAnswer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, done, standing := asking(t, nil)
		standing.Store("nothing")
		stop := w.start(nil)
		defer stop()
		id := w.chat.Say("10", shop, "raze shop --force")
		until(t, "settled", w.settled)
		assert.Equal(t, []string{"bots.refused"}, w.kinds(shop))
		assert.Equal(t, []string{bots.ReactionRefused}, w.marks(id))

		standing.Store("stone")
		w.chat.Say("10", shop, "raze shop --force")
		until(t, "asked", func() bool { return len(w.kinds(shop)) == 2 && w.settled() })
		standing.Store("nothing")
		code := botstest.Code(w.chat.Bots(shop)[1].Message)
		w.chat.Say("10", shop, "confirm "+code)
		until(t, "refused", func() bool { return len(w.kinds(shop)) == 3 && w.settled() })
		assert.Equal(t, []string{"bots.refused", "bots.confirm", "bots.refused"}, w.kinds(shop))
		standing.Store("stone")
		w.chat.Say("10", shop, "confirm "+code)
		until(t, "the question stands until it is settled", func() bool { return len(done.list()) == 1 && w.settled() })
	})
}

func TestAPlanWithNothingToDoIsTheAnswerAndNobodyIsAsked(t *testing.T) {
	for standing, kind := range map[string]string{"ashes": "raze.idle", "a church": "raze.no"} {
		synctest.Test(t, func(t *testing.T) {
			w, done, stands := asking(t, nil)
			stands.Store(standing)
			stop := w.start(nil)
			defer stop()
			mark := map[string]string{"raze.idle": bots.ReactionDone, "raze.no": bots.ReactionRefused}[kind]
			id := w.chat.Say("10", shop, "raze shop --force")
			until(t, "settled", w.settled)
			assert.Equal(t, []string{kind}, w.kinds(shop))
			assert.Equal(t, []string{mark}, w.marks(id))

			stands.Store("stone")
			id = w.chat.Say("10", shop, "raze shop --force")
			until(t, "asked", func() bool { return len(w.kinds(shop)) == 2 && w.settled() })
			stands.Store("ashes")
			w.chat.Say("10", shop, "confirm "+botstest.Code(w.chat.Bots(shop)[1].Message))
			until(t, "told", func() bool { return len(w.kinds(shop)) == 3 && w.settled() })
			assert.Equal(t, []string{kind, "bots.changed", "raze.idle"}, w.kinds(shop))
			assert.Contains(t, markup.Plain(w.chat.Bots(shop)[1].Message), "There is nothing left to do")
			assert.Equal(t, []string{bots.ReactionDone}, w.marks(id))
			assert.Empty(t, done.list())
		})
	}
}

func TestWithNowhereToKeepAQuestionWhatIsForcedIsRefused(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, done, _ := asking(t, nil)
		before := w.config
		w.config = func(c *bots.Config) { before(c); c.Questions = nil }
		stop := w.start(nil)
		defer stop()
		w.chat.Say("10", shop, "raze shop --force")
		until(t, "settled", w.settled)
		assert.Empty(t, done.list())
		assert.Equal(t, []string{"bots.unaskable"}, w.kinds(shop))
	})
}

func TestWhoMayNoMoreIsNotRunThoughItWasAsked(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, done, standing := asking(t, by(bots.WayReply, true))
		before := w.config
		grants := bots.Grants{"admins": {"*"}}
		people, err := bots.NewPeople(bots.Entry{Chat: "test:10", Persona: "admin", Groups: []string{"movers"}}, bots.Entry{Chat: "test:13", Persona: "boss", Groups: []string{"admins"}})
		require.NoError(t, err)
		stop := w.start(nil)
		a := ask(t, w, done, standing, "raze shop")
		stop()
		w.config = func(c *bots.Config) { before(c); c.Directory, c.Policy = people, grants }
		defer w.start(nil)()
		w.chat.Say("13", shop, "confirm "+a.code)
		until(t, "settled", func() bool { return len(w.kinds(shop)) == 2 && w.settled() })
		assert.Empty(t, done.list())
		assert.Equal(t, []string{"bots.confirm", "bots.denied"}, w.kinds(shop))
	})
}

func TestAPolicyFileIsReadStrictly(t *testing.T) {
	got, err := bots.DecodeConfirmations(strings.NewReader("confirm:\n- {project: shop, environment: production, command: platform promote, by: reply, four-eyes: true}\n- {by: none}\n"))
	require.NoError(t, err)
	assert.Equal(t, bots.Confirmations{{Project: "shop", Environment: "production", Command: "platform promote", By: bots.WayReply, FourEyes: true}, {By: bots.WayNone}}, got)
	for _, c := range []struct{ name, file, says string }{
		{"an unknown field", `{"confirm": [{"by": "reply", "eyes": 4}]}`, "eyes"},
		{"no way", `{"confirm": [{"project": "shop"}]}`, `row 1: by "": write none, reaction, button or reply`},
		{"a way that there is not", `{"confirm": [{"by": "none"}, {"by": "shout"}]}`, `row 2: by "shout"`},
		{"four eyes that see nothing", `{"confirm": [{"by": "none", "four-eyes": true}]}`, "four-eyes needs a way"},
		{"a pattern that cannot be read", `{"confirm": [{"by": "reply", "project": "[a"}]}`, `row 1: project "[a"`},
		{"a verb without its bot", `{"confirm": [{"by": "reply", "command": "promote"}]}`, `row 1: command "promote": write bot and verb`},
		{"too many", `{"confirm": [` + strings.Repeat(`{"by":"none"},`, 1000) + `{"by":"none"}]}`, "1001 rows"},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := bots.DecodeConfirmations(strings.NewReader(c.file))
			require.ErrorContains(t, err, c.says)
		})
	}
}
