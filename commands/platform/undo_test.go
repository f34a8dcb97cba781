package platform_test

import (
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

// takingBack is a flow controller that would take back a promotion of shop-web.
func takingBack() *flow {
	f := newFlow()
	f.outcome = flowclient.Outcome{
		Project: "shop", Note: "Code only.",
		Undoes:     &flowclient.Undone{Intent: "4k2j5mabcdefg", Who: "developer", At: now.Add(-2 * time.Hour), Link: "http://chat/7"},
		Components: []flowclient.ComponentOutcome{{Component: "shop-web", Result: flowclient.RolledBack, From: "b", FromCommit: "9f8e7d6c", To: "a", ToCommit: "1a2b3c4d"}},
	}
	return f
}

// parsed is what a text asks for of the bot.
func parsed(t *testing.T, f *flow, text string) commands.Call {
	t.Helper()
	cmds, err := platform.New(platform.Deps{Reader: f, Promoter: f, Locker: f, Freezer: f, Witness: f, Reviewer: f, Differ: f, Measurer: f, Auditor: f, Now: clock})
	require.NoError(t, err)
	r, err := commands.NewRegistry(cmds...)
	require.NoError(t, err)
	call, err := r.Parse(platform.Bot, text)
	require.NoError(t, err)
	return call
}

// planOfUndo is what is put before somebody to confirm.
func planOfUndo(t *testing.T, f *flow) (commands.Plan, error) {
	t.Helper()
	call := parsed(t, f, "undo shop")
	return call.Command.Plan(t.Context(), commands.Request{Key: "test:11", Bot: platform.Bot, Verb: call.Verb, Args: call.Args, Who: commandstest.Developer})
}

var dryUndo = flowclient.UndoRequest{Origin: flowclient.Origin{Key: "test:11", Who: "developer"}, Project: "shop", DryRun: true}

func TestThePlanOfAnUndoShowsWhatItTakesBack(t *testing.T) {
	f := takingBack()
	p, err := planOfUndo(t, f)
	require.NoError(t, err)
	text := markup.Plain(p.Message)
	for _, says := range []string{"Would take back the last promotion of shop", "promoted by: developer", "since:       Fri 20 Nov 16:00 UTC", "shop-web: 9f8e7d6 → 1a2b3c4, release a", "Code only."} {
		assert.Contains(t, text, says)
	}
	assert.Equal(t, "undo.plan", p.Message.Kind)
	assert.Equal(t, []flowclient.UndoRequest{dryUndo}, f.undos, "nothing is undone")

	f.outcome.Undoes.Intent = "another"
	other, err := planOfUndo(t, f)
	require.NoError(t, err)
	assert.NotEqual(t, p.Fingerprint, other.Fingerprint, "another promotion would be taken back")
}

func TestAnUndoThatWouldBeRefusedIsNothingToConfirm(t *testing.T) {
	f := newFlow()
	f.err = &flowclient.Refusal{Sentence: "shop-web 1a2b3c4 is locked.", Gate: "lock"}
	_, err := planOfUndo(t, f)
	var declined *commands.Declined
	require.ErrorAs(t, err, &declined)
	assert.Equal(t, "undo.plan.refused", declined.Message.Kind)
	assert.Contains(t, declined.Refused(), "shop-web 1a2b3c4 is locked.")

	f.err = &flowclient.Upstream{Part: "control plane", Err: assert.AnError}
	_, err = planOfUndo(t, f)
	require.ErrorIs(t, err, assert.AnError)
	f.err = nil
	_, err = planOfUndo(t, f)
	require.ErrorContains(t, err, "does not say which promotion", "nothing that nobody can name is confirmed")
}

func TestAnUndoThatIsOnlyToldTakesNothingBack(t *testing.T) {
	f := takingBack()
	call := parsed(t, f, "undo shop --dry-run")
	assert.False(t, call.Changes(), "it is never asked about")
	rec := commandstest.Run(t, call.Command, commandstest.Ask{Text: "undo shop --dry-run", Key: "test:11"})
	require.NoError(t, rec.Err)
	assert.Equal(t, "undo.plan", rec.Answer().Kind)
	assert.Equal(t, []flowclient.UndoRequest{dryUndo}, f.undos)

	f.err = flowclient.Refuse("shop-web was rolled back by sre since; nothing was undone. Roll back by hand.")
	rec = commandstest.Run(t, call.Command, commandstest.Ask{Text: "undo shop --dry-run"})
	require.ErrorContains(t, rec.Err, "shop-web was rolled back by sre since")
}

// What is confirmed is one promotion, however long ago it was asked about.
func TestAnUndoThatWasConfirmedTakesBackThatPromotionAlone(t *testing.T) {
	f := takingBack()
	p, err := planOfUndo(t, f)
	require.NoError(t, err)
	f.undos = nil
	run := func() *commandstest.Recorder {
		return commandstest.Run(t, parsed(t, f, "undo shop").Command, commandstest.Ask{Text: "undo shop", Key: "test:11", Confirmed: p.Fingerprint})
	}
	rec := run()
	require.NoError(t, rec.Err)
	assert.Equal(t, "undo.done", rec.Answer().Kind)
	assert.Equal(t, []flowclient.UndoRequest{{Origin: dryUndo.Origin, Project: "shop", Intent: "4k2j5mabcdefg"}}, f.undos)

	f.err = flowclient.Refuse("the newest change of shop, by admin on Fri 20 Nov 17:00 UTC, is not the one that was to be taken back; nothing was undone. Look, and ask again.")
	rec = run()
	require.NoError(t, rec.Err)
	assert.Equal(t, "undo.refused", rec.Answer().Kind)
	assert.Contains(t, markup.Plain(rec.Answer()), "is not the one that was to be taken back; nothing was undone.")
}
