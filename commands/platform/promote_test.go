package platform_test

import (
	"context"
	"errors"
	"regexp"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"platform.dev/platform/bots/markup"
	"platform.dev/platform/commands"
	"platform.dev/platform/commands/commandstest"
	"platform.dev/platform/commands/platform"
	"platform.dev/platform/flowclient"
)

func (f *flow) Undo(_ context.Context, r flowclient.UndoRequest) (flowclient.Outcome, error) {
	f.undos = append(f.undos, r)
	return f.outcome, f.err
}

// tight is an outcome that force lifts capacity for.
func tight(to string) flowclient.Outcome {
	capacity := flowclient.Verdict{Gate: "capacity", Sentence: "shop in production has no room for shop-web: memory needs 512Mi + 307Mi margin; 3.4Gi of 4Gi used; short by 205Mi.", Lifted: "force"}
	return flowclient.Outcome{Project: "shop", Note: "Lifted by force: it does not fit.", Components: []flowclient.ComponentOutcome{
		{Component: "shop-web", Result: flowclient.Promoted, To: to, ToCommit: "9f8e7d6c", Gates: []flowclient.Verdict{capacity}},
		{Component: "shop-api", Result: flowclient.Unchanged, Gates: []flowclient.Verdict{capacity}},
	}}
}

// plan asks for the plan of what is said.
func plan(t *testing.T, f *flow, text string) (commands.Plan, error) {
	t.Helper()
	cmds, err := platform.New(platform.Deps{Reader: f, Promoter: f, Locker: f, Freezer: f, Witness: f, Reviewer: f, Differ: f, Measurer: f, Auditor: f, Now: clock})
	require.NoError(t, err)
	r, err := commands.NewRegistry(cmds...)
	require.NoError(t, err)
	call, err := r.Parse("platform", text)
	require.NoError(t, err)
	return call.Command.Plan(t.Context(), commands.Request{Key: "test:1", Bot: "platform", Verb: call.Verb, Args: call.Args, Who: commandstest.Developer})
}

func TestThePlanOfForceTellsWhatItGoesOnAgainst(t *testing.T) {
	f := newFlow()
	f.outcome = tight("shop-web-2b3c4d5e")
	p, err := plan(t, f, `promote shop --force --skip-soak "it \"burns\""`)
	require.NoError(t, err)
	text := markup.Plain(p.Message)
	assert.Len(t, regexp.MustCompile(`short by 205Mi`).FindAllString(text, -1), 1, "a gate about all of it is told once")
	assert.Contains(t, text, "shop-web-2b3c4d5e")
	assert.NotEmpty(t, p.Fingerprint)
	assert.Equal(t, []flowclient.Promotion{{Origin: flowclient.Origin{Key: "test:1", Who: "developer"}, Project: "shop", Force: true, SkipSoak: `it "burns"`, DryRun: true}}, f.promotions)

	again, err := plan(t, f, "promote shop --force")
	require.NoError(t, err)
	assert.Equal(t, p.Fingerprint, again.Fingerprint, "the same would be done")
	f.outcome = tight("shop-web-6f708192") // staging has moved on since
	moved, err := plan(t, f, "promote shop --force")
	require.NoError(t, err)
	assert.NotEqual(t, p.Fingerprint, moved.Fingerprint)
	f.outcome.Components[0].Gates[0].Sentence = "short by 204Mi; in 3 min"
	told, err := plan(t, f, "promote shop --force")
	require.NoError(t, err)
	assert.Equal(t, moved.Fingerprint, told.Fingerprint, "sentences change while what is done does not")
}

func TestAPlanThatIsRefusedTellsAsMuchAsTheCommandWould(t *testing.T) {
	f := newFlow()
	f.err = &flowclient.Refusal{Sentence: "shop-web is locked.", Gate: "lock"}
	for text, kind := range map[string]string{"promote shop --force": "plan.refused", "rollback shop shop-web": "rollback.plan.refused"} {
		_, err := plan(t, f, text)
		var declined *commands.Declined
		require.ErrorAs(t, err, &declined, text)
		assert.Equal(t, kind, declined.Message.Kind)
		assert.Contains(t, declined.Refused(), "shop-web is locked.")
	}
	f.err = errors.New("control plane: connection refused")
	_, err := plan(t, f, "promote shop")
	require.ErrorIs(t, err, f.err)
	_, err = plan(t, f, "promote garden")
	require.ErrorContains(t, err, "does not exist")
}

func TestAPlanThatMovesNothingIsNothingToConfirm(t *testing.T) {
	f := newFlow()
	f.outcome = flowclient.Outcome{Project: "shop", Components: []flowclient.ComponentOutcome{{Component: "shop-web", Result: flowclient.Unchanged}}}
	for text, kind := range map[string]string{"promote shop": "plan.unchanged", "rollback shop shop-web": "rollback.plan.unchanged"} {
		p, err := plan(t, f, text)
		require.NoError(t, err)
		assert.Empty(t, p.Fingerprint)
		assert.Equal(t, kind, p.Message.Kind)
	}
}

func TestThePlanOfARollbackMovesNothing(t *testing.T) {
	f := newFlow()
	f.outcome = flowclient.Outcome{Project: "shop", Components: []flowclient.ComponentOutcome{{Component: "shop-web", Result: flowclient.RolledBack, From: "b", FromCommit: "9f8e7d6c", To: "a", ToCommit: "1a2b3c4d"}}}
	p, err := plan(t, f, "rollback shop shop-web")
	require.NoError(t, err)
	assert.NotEmpty(t, p.Fingerprint)
	assert.Contains(t, markup.Plain(p.Message), "Would roll back shop in production")
	assert.Equal(t, []flowclient.Promotion{{Origin: flowclient.Origin{Key: "test:1", Who: "developer"}, Project: "shop", Component: "shop-web", DryRun: true}}, f.rollbacks)
}

func TestARollbackThatIsOnlyToldMovesNothing(t *testing.T) {
	f := newFlow()
	f.outcome = flowclient.Outcome{Project: "shop", Components: []flowclient.ComponentOutcome{{Component: "shop-web", Result: flowclient.RolledBack, From: "b", FromCommit: "9f8e7d6c", To: "a", ToCommit: "1a2b3c4d"}}}
	rec := ask(t, f, commandstest.Ask{Text: "rollback shop shop-web --dry-run"})
	require.NoError(t, rec.Err)
	assert.Equal(t, "rollback.plan.done", rec.Answer().Kind)
	assert.Contains(t, markup.Plain(rec.Answer()), "Would roll back shop in production")
	f.err = flowclient.Refuse("shop-web 1a2b3c4 is locked.")
	rec = ask(t, f, commandstest.Ask{Text: "rollback shop shop-web --dry-run"})
	require.NoError(t, rec.Err)
	assert.Equal(t, "rollback.plan.refused", rec.Answer().Kind)
	require.Len(t, f.rollbacks, 2)
	for _, r := range f.rollbacks {
		assert.True(t, r.DryRun)
	}
	assert.False(t, parsed(t, f, "rollback shop shop-web --dry-run").Changes(), "it is never asked about")
}

func TestForceIsNotRunUnlessItWasConfirmed(t *testing.T) {
	f := newFlow()
	f.outcome = tight("shop-web-2b3c4d5e")
	rec := ask(t, f, commandstest.Ask{Text: "promote shop --force"})
	require.ErrorContains(t, rec.Err, "What is forced is to be confirmed")
	assert.Empty(t, f.promotions)
	rec = ask(t, f, commandstest.Ask{Text: "promote shop --force", Confirmed: "anything"})
	require.NoError(t, rec.Err)
	assert.Equal(t, "promote.done", rec.Answer().Kind)
	require.Len(t, f.promotions, 1)
	assert.True(t, f.promotions[0].Force)
}

func TestWhatMovesProductionSaysSoToThePolicy(t *testing.T) {
	cmds, err := platform.New(platform.Deps{Reader: newFlow(), Promoter: newFlow(), Locker: newFlow(), Freezer: newFlow(), Witness: newFlow(), Reviewer: newFlow(), Differ: newFlow(), Measurer: newFlow(), Auditor: newFlow(), Now: clock})
	require.NoError(t, err)
	r, err := commands.NewRegistry(cmds...)
	require.NoError(t, err)
	for text, want := range map[string]string{
		"promote shop": "shop production", "promote": "blog production", "rollback shop shop-web": "shop production", "rollback shop-web": "* production",
		"rollback": "blog production", "undo shop": "shop production", "lock shop-web 1a2b3c4 --reason x": "* ", "thaw 3": "* ",
	} {
		call, err := r.Parse("platform", text)
		require.NoError(t, err)
		project, environment := call.Aim("blog")
		assert.Equal(t, want, project+" "+environment, text)
	}
}

func TestADryRunTellsWhatWouldHappen(t *testing.T) {
	f := newFlow()
	f.outcome = tight("shop-web-2b3c4d5e")
	rec := ask(t, f, commandstest.Ask{Text: "promote shop --dry-run --force --component shop-web"})
	require.NoError(t, rec.Err)
	assert.Equal(t, "plan.done", rec.Answer().Kind)
	assert.Contains(t, markup.Plain(rec.Answer()), "Would promote shop to production")
	require.Len(t, f.promotions, 1)
	assert.Equal(t, flowclient.Promotion{Origin: flowclient.Origin{Key: "test:1", Who: "developer"}, Project: "shop", Component: "shop-web", DryRun: true, Force: true}, f.promotions[0])
}

func TestWhatLiftsAGateNeedsAPermissionOfItsOwn(t *testing.T) {
	cmds, err := platform.New(platform.Deps{Reader: newFlow(), Promoter: newFlow(), Locker: newFlow(), Freezer: newFlow(), Witness: newFlow(), Reviewer: newFlow(), Differ: newFlow(), Measurer: newFlow(), Auditor: newFlow(), Now: clock})
	require.NoError(t, err)
	r, err := commands.NewRegistry(cmds...)
	require.NoError(t, err)
	for text, want := range map[string][]string{
		"promote shop":                                 {"component:promote"},
		"promote shop --force":                         {"component:promote", "component:force"},
		"promote shop --skip-soak hurry":               {"component:promote", "component:skip-soak"},
		"promote shop --skip-soak hurry --force":       {"component:promote", "component:force", "component:skip-soak"},
		`promote shop --skip-soak " "`:                 {"component:promote"},
		"promote shop --force --skip-soak x --dry-run": {"component:promote"},
		"undo shop":                         {"component:undo"},
		"freeze shop --until 2h --reason x": {"project:freeze"},
		"thaw 3":                            {"project:freeze"},
		"freeze list":                       nil,
		"freezes":                           nil,
		"why shop":                          nil,
		"unlock shop-web 1a2b3c4 --dry-run": {"lock:delete"},
	} {
		call, err := r.Parse("platform", text)
		require.NoError(t, err, text)
		assert.Equal(t, want, call.Actions(), text)
	}
}

func TestUndoAsksForTheProjectAlone(t *testing.T) {
	f := newFlow()
	f.outcome = flowclient.Outcome{Project: "shop", Components: []flowclient.ComponentOutcome{{Component: "shop-web", Result: flowclient.RolledBack, From: "b", FromCommit: "9f8e7d6c", To: "a", ToCommit: "1a2b3c4d"}}}
	rec := ask(t, f, commandstest.Ask{Text: "undo", Project: "shop", Key: "zulip:31", Link: "http://chat/31"})
	require.NoError(t, rec.Err)
	assert.Equal(t, "undo.done", rec.Answer().Kind)
	assert.Equal(t, []flowclient.UndoRequest{{Origin: flowclient.Origin{Key: "zulip:31", Who: "developer", Link: "http://chat/31"}, Project: "shop"}}, f.undos)
	f.err = flowclient.Refuse("shop-web was rolled back by sre since; nothing was undone. Roll back by hand.")
	rec = ask(t, f, commandstest.Ask{Text: "undo shop"})
	require.NoError(t, rec.Err)
	assert.Equal(t, "undo.refused", rec.Answer().Kind)
	assert.Contains(t, markup.Plain(rec.Answer()), "shop-web was rolled back by sre since; nothing was undone.")
}

func TestARefusalTellsEveryGateAndWhatToDoNext(t *testing.T) {
	f := newFlow()
	f.err = &flowclient.Refusal{Sentence: "locked by sre: breaks.", Gate: "lock", Gates: []flowclient.Verdict{
		{Gate: "lock", Component: "shop-web", Sentence: "locked by sre: breaks.", Numbers: map[string]string{"commit": "9f8e7d6c5b4a3928", "environment": "production"}},
		{Gate: "lock", Component: "shop-api", Sentence: "locked by admin: later.", Numbers: map[string]string{"commit": "1a2b3c4d5e6f7081", "environment": "every environment"}},
		{Gate: "window", Sentence: "Closed now; opens Mon 09:00."},
		{Gate: "capacity", Sentence: "short by 205Mi. shop-web alone would fit.", Numbers: map[string]string{"fits": "shop-web"}},
		{Gate: "ready", Component: "shop-api", Sentence: "shop-api is not Ready."},
		{Gate: "soak", Component: "shop-web", Pass: true, Sentence: "it soaked."},
		{Gate: "check", Component: "shop-web", Sentence: "lifted already.", Lifted: "skipSoak: x"},
	}}
	rec := ask(t, f, commandstest.Ask{Text: "promote shop"})
	require.NoError(t, rec.Err)
	text := markup.Plain(rec.Answer())
	last := -1
	for _, says := range []string{
		"locked by sre: breaks.", "Also against it:", "lock: locked by admin: later.", "window: Closed now", "capacity: short by 205Mi", "ready: shop-api is not Ready.",
		"What you can do:", "@platform unlock shop-web 9f8e7d6 --to production clears", "@platform unlock shop-api 1a2b3c4 clears", "@platform window shop",
		"@platform promote shop --component shop-web promotes", "@platform promote shop --force goes on", "component:force", "@platform watch shop-api staging",
	} {
		at := regexp.MustCompile(regexp.QuoteMeta(says)).FindStringIndex(text)
		require.NotNil(t, at, "%s in\n%s", says, text)
		assert.Greater(t, at[0], last, says)
		last = at[0]
	}
	assert.NotContains(t, text, "soaked")
	assert.NotContains(t, text, "lifted already")
	assert.NotContains(t, text, "--skip-soak")
}
