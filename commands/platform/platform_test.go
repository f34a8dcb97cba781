package platform_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"platform.dev/platform/bots/markup"
	"platform.dev/platform/commands"
	"platform.dev/platform/commands/commandstest"
	"platform.dev/platform/commands/platform"
	"platform.dev/platform/flowclient"
)

const goldens = "../../fixtures/golden/messages"

var now = time.Date(2026, 11, 20, 18, 0, 0, 0, time.UTC)

func TestEveryMessageOfThisPackageHasItsGoldens(t *testing.T) {
	commandstest.Catalogue(t, goldens, platform.Catalogue())
}

// flow answers as a flow controller and keeps what it was asked.
type flow struct {
	flowclient.Reader
	delivery   flowclient.Delivery
	outcome    flowclient.Outcome
	err        error
	locks      []flowclient.Lock
	promotions []flowclient.Promotion
	rollbacks  []flowclient.Promotion
	set, clear []flowclient.LockRequest
	diffs      []flowclient.ComponentDiff
	compared   []string
	reviews    []flowclient.Review
	unread     error // of Reviews

	windows   map[string]string // annotations by project
	freezes   []flowclient.Freeze
	froze     []flowclient.FreezeRequest
	thawed    []flowclient.FreezeRequest
	undos     []flowclient.UndoRequest
	why       flowclient.Why
	whys      []string
	unlocking []flowclient.LockRequest
	state     flowclient.State
	known     flowclient.Evidence
	again     flowclient.Replayed
	delivers  func() flowclient.Delivery // nil: delivery
	clock     func() time.Time           // nil: always now
	audits    []flowclient.AuditQuery
	measured  []measured
}

func (f *flow) Delivery(context.Context) (flowclient.Delivery, error) {
	if f.delivers != nil {
		return f.delivers(), nil
	}
	return f.delivery, nil
}
func (f *flow) Builds(context.Context) ([]flowclient.Build, error) { return nil, f.err }
func (f *flow) Window(_ context.Context, project string) (flowclient.Window, error) {
	return flowclient.Window{Project: project, Open: true, Text: f.windows[project], Sentence: "Production changes to " + project + " are allowed at any time."}, nil
}
func (f *flow) Promote(_ context.Context, r flowclient.Promotion) (flowclient.Outcome, error) {
	f.promotions = append(f.promotions, r)
	return f.outcome, f.err
}
func (f *flow) Rollback(_ context.Context, r flowclient.Promotion) (flowclient.Outcome, error) {
	f.rollbacks = append(f.rollbacks, r)
	return f.outcome, f.err
}
func (f *flow) Locks(context.Context) ([]flowclient.Lock, error) { return f.locks, nil }
func (f *flow) SetLock(_ context.Context, r flowclient.LockRequest) (flowclient.Lock, error) {
	f.set = append(f.set, r)
	return flowclient.Lock{Component: r.Component, Commit: r.Commit, Environment: r.Environment, Reason: r.Reason, Who: r.Origin.Who, At: now}, f.err
}
func (f *flow) ClearLock(_ context.Context, r flowclient.LockRequest) ([]flowclient.Lock, error) {
	f.clear = append(f.clear, r)
	return f.locks, f.err
}

func newFlow() *flow {
	return &flow{delivery: flowclient.Delivery{Components: []flowclient.ComponentDelivery{
		{Project: "blog", Component: "blog-web"},
		{Project: "shop", Component: "shop-api"}, {Project: "shop", Component: "shop-web"},
	}}}
}

func clock() time.Time { return now }

func ask(t *testing.T, f *flow, in commandstest.Ask) *commandstest.Recorder {
	t.Helper()
	tells := clock
	if f.clock != nil {
		tells = f.clock
	}
	cmds, err := platform.New(platform.Deps{Reader: f, Promoter: f, Locker: f, Freezer: f, Witness: f, Reviewer: f, Differ: f, Measurer: f, Auditor: f, Now: tells})
	require.NoError(t, err)
	registry, err := commands.NewRegistry(cmds...)
	require.NoError(t, err)
	call, err := registry.Parse(platform.Bot, in.Text)
	if err != nil {
		return &commandstest.Recorder{Err: err}
	}
	return commandstest.Run(t, call.Command, in)
}

func TestDepsAreChecked(t *testing.T) {
	_, err := platform.New(platform.Deps{Reader: newFlow(), Promoter: newFlow(), Locker: newFlow(), Freezer: newFlow(), Witness: newFlow(), Reviewer: newFlow(), Differ: newFlow(), Measurer: newFlow(), Auditor: newFlow()})
	require.ErrorContains(t, err, "Now")
}

func TestAnEffectCarriesItsOrigin(t *testing.T) {
	want := flowclient.Origin{Key: "zulip:31", Who: "developer", Link: "http://chat/31"}
	for _, text := range []string{"promote shop", "rollback shop shop-web", `lock shop-web 1a2b3c4 --to production --reason "two words"`, "unlock shop-web 1a2b3c4"} {
		f := newFlow()
		rec := ask(t, f, commandstest.Ask{Text: text, Key: want.Key, Link: want.Link})
		require.NoError(t, rec.Err, text)
		var got []flowclient.Origin
		for _, p := range append(f.promotions, f.rollbacks...) {
			got = append(got, p.Origin)
		}
		for _, l := range append(f.set, f.clear...) {
			got = append(got, l.Origin)
		}
		assert.Equal(t, []flowclient.Origin{want}, got, text)
	}
}

func TestTheProjectIsFoundByNameOrByStream(t *testing.T) {
	for _, c := range []struct{ text, stream, project, component string }{
		{"promote shop", "", "shop", ""},
		{"promote", "shop", "shop", ""},
		{"promote blog", "shop", "blog", ""},
		{"promote shop --component shop-api", "", "shop", "shop-api"},
		{"promote --component shop-api", "shop", "shop", "shop-api"},
		{"rollback shop shop-web", "", "shop", "shop-web"},
		{"rollback shop-web", "shop", "shop", "shop-web"},
		{"rollback shop-web", "", "shop", "shop-web"},
		{"rollback blog", "", "blog", "blog-web"},
		{"rollback", "blog", "blog", "blog-web"},
		{"rollback blog blog-web", "shop", "blog", "blog-web"},
	} {
		f := newFlow()
		rec := ask(t, f, commandstest.Ask{Text: c.text, Project: c.stream})
		require.NoError(t, rec.Err, c.text)
		moves := append(f.promotions, f.rollbacks...)
		require.Len(t, moves, 1, c.text)
		assert.Equal(t, c.project, moves[0].Project, c.text)
		assert.Equal(t, c.component, moves[0].Component, c.text)
	}
}

func TestUnknownNamesAreNamedWithWhatComesNear(t *testing.T) {
	for _, c := range []struct{ text, stream, says string }{
		{"promote shpo", "", `Project "shpo" does not exist. Did you mean shop?`},
		{"promote warehouse", "", `Project "warehouse" does not exist. There are blog and shop.`},
		{"diff shpo", "", `Project "shpo" does not exist. Did you mean shop?`},
		{"promote", "", "Say which project: blog and shop. In a project's own stream it may be left out."},
		{"status", "gone", `Project "gone" does not exist. There are blog and shop.`},
		{"promote shop --component shop-wb", "", `Project shop has no component "shop-wb". Did you mean shop-web?`},
		{"rollback shop", "", "Say which component of shop: shop-api and shop-web."},
		{"rollback blog shop-web", "", `Project blog has no component "shop-web". There is only blog-web.`},
		{"rollback nothing", "shop", `Project shop has no component "nothing". There are shop-api and shop-web.`},
		{"where shop-wbe", "", `Component "shop-wbe" does not exist. Did you mean shop-web?`},
		{`lock nothing 1a2b3c4 --reason x`, "", `Component "nothing" does not exist. There are blog-web, shop-api and shop-web.`},
		{"unlock nothing 1a2b3c4", "", `Component "nothing" does not exist.`},
		{`lock shop-web 1a2b3c4 --reason " "`, "", "The option --reason is empty"},
		{"lock shop-web 1a2b3c4", "", "missing: --reason"},
	} {
		f := newFlow()
		rec := ask(t, f, commandstest.Ask{Text: c.text, Project: c.stream})
		var refusal commands.Refusal
		require.ErrorAs(t, rec.Err, &refusal, c.text)
		assert.Contains(t, refusal.Refused(), c.says, c.text)
		assert.Empty(t, append(f.promotions, f.rollbacks...), c.text)
		assert.Empty(t, append(f.set, f.clear...), c.text)
	}
}

func TestWithoutAnyProjectTheAnswerSaysSo(t *testing.T) {
	rec := ask(t, &flow{}, commandstest.Ask{Text: "promote"})
	require.EqualError(t, rec.Err, "There is no project yet.")
	rec = ask(t, &flow{}, commandstest.Ask{Text: "where x"})
	require.EqualError(t, rec.Err, `Component "x" does not exist. There is none yet.`)
}

func TestARefusalIsAnsweredWordForWord(t *testing.T) {
	for text, kind := range map[string]string{
		"promote shop": "promote.refused", "rollback shop shop-web": "rollback.refused",
		"lock shop-web 1a2b --reason x": "lock.refused", "unlock shop-web 1a2b": "unlock.refused",
	} {
		f := newFlow()
		f.err = flowclient.Refuse("the very sentence, set by sre.")
		rec := ask(t, f, commandstest.Ask{Text: text})
		require.NoError(t, rec.Err)
		assert.Equal(t, kind, rec.Answer().Kind)
		assert.Equal(t, markup.Refused, rec.Answer().Status)
		assert.Contains(t, markup.Plain(rec.Answer()), "\nthe very sentence, set by sre.")
	}
}

func TestAFaultIsReturned(t *testing.T) {
	broken := errors.New("control plane: connection refused")
	for _, text := range []string{"promote shop", "rollback shop shop-web", "lock shop-web 1a2b --reason x", "unlock shop-web 1a2b", "builds", "diff shop"} {
		f := newFlow()
		f.err = broken
		rec := ask(t, f, commandstest.Ask{Text: text})
		require.ErrorIs(t, rec.Err, broken, text)
		assert.Empty(t, rec.Answers, text)
	}
}

func TestReadsAnswer(t *testing.T) {
	f := newFlow()
	f.locks = []flowclient.Lock{{Component: "shop-web", Commit: "1a2b3c4d", Reason: "x", Who: "sre", At: now}, {Component: "blog-web", Commit: "1a2b3c4d", Reason: "y", Who: "sre", At: now}}
	for _, c := range []struct{ text, stream, kind, says string }{
		{"status shop", "", "status.project", "allowed at any time"},
		{"where shop-web", "", "where.nowhere", "not deployed anywhere"},
		{"builds", "", "builds.none", "No build"},
		{"locks", "", "locks.list", "2 commit locks hold"},
		{"locks", "shop", "locks.list", "1 commit lock holds"},
	} {
		rec := ask(t, f, commandstest.Ask{Text: c.text, Project: c.stream})
		require.NoError(t, rec.Err)
		assert.Equal(t, c.kind, rec.Answer().Kind)
		assert.Contains(t, markup.Plain(rec.Answer()), c.says)
	}
}

func TestUnlockingWhatIsNotLockedSaysSo(t *testing.T) {
	f := newFlow()
	f.err = &flowclient.NotFound{Kind: "lock", Name: "shop-web 1a2b3c4"}
	rec := ask(t, f, commandstest.Ask{Text: "unlock shop-web 1a2b3c4"})
	require.NoError(t, rec.Err)
	assert.Equal(t, "unlock.nothing", rec.Answer().Kind)
}

func TestALockThatOutlivedItsComponentIsCleared(t *testing.T) {
	f := newFlow()
	f.locks = []flowclient.Lock{{Component: "gone-web", Commit: "1a2b3c4d", Reason: "x", Who: "sre", At: now}}
	rec := ask(t, f, commandstest.Ask{Text: "unlock gone-web 1a2b3c4"})
	require.NoError(t, rec.Err)
	assert.Equal(t, "unlock.done", rec.Answer().Kind)
	require.Len(t, f.clear, 1)
	assert.Equal(t, "gone-web", f.clear[0].Component)
}

func TestInAProjectsStreamLocksSaysWhoseTheyAre(t *testing.T) {
	f := newFlow()
	f.locks = []flowclient.Lock{{Component: "blog-web", Commit: "1a2b3c4d", Reason: "y", Who: "sre", At: now}}
	for stream, says := range map[string]string{"": "1 commit lock holds", "blog": "1 commit lock holds in blog", "shop": "No commit of shop is locked"} {
		rec := ask(t, f, commandstest.Ask{Text: "locks", Project: stream})
		require.NoError(t, rec.Err)
		assert.Contains(t, markup.Plain(rec.Answer()), says)
	}
}

func TestALockThatAnotherSetIsShownAsTheirs(t *testing.T) {
	f := &theirs{newFlow()}
	cmds, err := platform.New(platform.Deps{Reader: f, Promoter: f, Locker: f, Freezer: f, Witness: f, Reviewer: f, Differ: f, Measurer: f, Auditor: f, Now: clock})
	require.NoError(t, err)
	rec := commandstest.Run(t, commandstest.Pick(t, cmds, "lock"), commandstest.Ask{Text: "lock shop-web 1a2b3c4 --reason mine"})
	require.NoError(t, rec.Err)
	assert.Equal(t, "lock.already", rec.Answer().Kind)
	assert.Contains(t, markup.Plain(rec.Answer()), "theirs")
}

type theirs struct{ *flow }

func (f *theirs) SetLock(_ context.Context, r flowclient.LockRequest) (flowclient.Lock, error) {
	return flowclient.Lock{Component: r.Component, Commit: r.Commit, Reason: "theirs", Who: "sre", At: now.Add(-time.Hour)}, nil
}
