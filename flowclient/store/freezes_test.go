package store_test

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"platform.dev/platform/flowclient"
)

// frozen asks for a freeze of shop, changed as wanted.
func (b *bench) frozen(change func(r *flowclient.FreezeRequest)) (flowclient.Freeze, error) {
	r := flowclient.FreezeRequest{Origin: b.origin(), Project: "shop", Until: b.now.Add(time.Hour), Reason: "the fair"}
	change(&r)
	return b.SetFreeze(b.t.Context(), r)
}

func freezeEvent(t *testing.T, e flowclient.Event) (told flowclient.FreezeEvent) {
	t.Helper()
	require.NoError(t, json.Unmarshal(e.Body, &told))
	return told
}

func (b *bench) tries() error {
	_, err := b.Promote(b.t.Context(), flowclient.Promotion{Origin: b.origin(), Project: "shop"})
	return err
}

func TestAFreezeEndsByItselfAtItsInstant(t *testing.T) {
	b := newBench(t)
	b.shop()
	b.push("second")
	freeze, err := b.frozen(func(*flowclient.FreezeRequest) {})
	require.NoError(t, err)
	b.now = freeze.Until.Add(-1)
	var refused *flowclient.Refusal
	require.ErrorAs(t, b.tries(), &refused)
	assert.Equal(t, "window", refused.Gate)
	i := slices.IndexFunc(refused.Gates, func(v flowclient.Verdict) bool { return v.Gate == "window" })
	require.NotEqual(t, -1, i)
	assert.Equal(t, &freeze.Until, refused.Gates[i].Flips, "the gate says when it opens by itself")
	b.now = freeze.Until
	require.NoError(t, b.tries())
	held, err := b.Freezes(t.Context())
	require.NoError(t, err)
	assert.Empty(t, held)
}

func TestAFreezeBeginsByItselfAtItsInstant(t *testing.T) {
	b := newBench(t)
	b.shop()
	begin := b.now.Add(30 * time.Minute)
	_, err := b.frozen(func(r *flowclient.FreezeRequest) { r.From = begin })
	require.NoError(t, err)
	b.now = begin.Add(-1)
	window, err := b.Window(t.Context(), "shop")
	require.NoError(t, err)
	assert.True(t, window.Open)
	assert.Equal(t, &begin, window.Flips, "the controller wakes then")
	b.push("second")
	require.NoError(t, b.tries())
	b.now = begin
	b.push("third")
	var refused *flowclient.Refusal
	require.ErrorAs(t, b.tries(), &refused)
}

func TestARequestForAFreezeIsAnsweredAlikeWhenItsInstantsHavePassed(t *testing.T) {
	b := newBench(t)
	b.shop()
	r := flowclient.FreezeRequest{Origin: b.origin(), Project: "shop", From: b.now, Until: b.now.Add(time.Hour), Reason: " the fair\n"}
	first, err := b.SetFreeze(t.Context(), r)
	require.NoError(t, err)
	assert.Equal(t, "the fair", first.Reason)
	b.now = b.now.Add(2 * time.Hour)
	again, err := b.SetFreeze(t.Context(), r)
	require.NoError(t, err)
	assert.Equal(t, first, again)
	assert.Len(t, b.events(flowclient.EventFreezeSet), 1)
	for name, change := range map[string]func(*flowclient.FreezeRequest){
		"another project":   func(r *flowclient.FreezeRequest) { r.Project = "" },
		"another beginning": func(r *flowclient.FreezeRequest) { r.From = r.From.Add(1) },
		"another end":       func(r *flowclient.FreezeRequest) { r.Until = r.Until.Add(1) },
	} {
		other := r
		change(&other)
		_, err := b.SetFreeze(t.Context(), other)
		var invalid *flowclient.Invalid
		require.ErrorAs(t, err, &invalid, name)
		assert.Equal(t, "origin.key", invalid.Field, name)
	}
}

func TestTheEventsOfFreezesTellWhoAndWhichAndWakeWhoeverAnnounces(t *testing.T) {
	b := newBench(t)
	b.shop()
	before, generation := b.noted.Load(), b.Generation()
	freeze, err := b.frozen(func(*flowclient.FreezeRequest) {})
	require.NoError(t, err)
	assert.Greater(t, b.noted.Load(), before)
	assert.Greater(t, b.Generation(), generation, "what was read before is no longer so")
	everywhere, err := b.frozen(func(r *flowclient.FreezeRequest) { r.Project = "" })
	require.NoError(t, err)
	before = b.noted.Load()
	thaw := flowclient.FreezeRequest{Origin: flowclient.Origin{Key: "thaw", Who: "admin"}, ID: freeze.ID}
	_, err = b.ClearFreeze(t.Context(), thaw)
	require.NoError(t, err)
	assert.Greater(t, b.noted.Load(), before)

	set, cleared := b.events(flowclient.EventFreezeSet), b.events(flowclient.EventFreezeCleared)
	require.Len(t, set, 2)
	require.Len(t, cleared, 1)
	assert.Equal(t, "shop", set[0].Project)
	assert.True(t, set[0].Walkthrough, "a walkthrough's project is announced in the sandbox")
	assert.True(t, cleared[0].Walkthrough)
	assert.Empty(t, set[1].Project, "a freeze of every project is of none")
	assert.Equal(t, flowclient.FreezeEvent{Who: "developer", Freeze: freeze}, freezeEvent(t, set[0]))
	assert.Equal(t, flowclient.FreezeEvent{Who: "developer", Freeze: everywhere}, freezeEvent(t, set[1]))
	assert.Equal(t, flowclient.FreezeEvent{Who: "admin", Freeze: freeze}, freezeEvent(t, cleared[0]))

	thaw.ID = everywhere.ID
	_, err = b.ClearFreeze(t.Context(), thaw)
	var invalid *flowclient.Invalid
	require.ErrorAs(t, err, &invalid, "the key cleared another")
	assert.Equal(t, "origin.key", invalid.Field)
}

func TestAFreezeOfAProjectThatIsGoneCanBeCleared(t *testing.T) {
	b := newBench(t)
	b.shop()
	freeze, err := b.frozen(func(*flowclient.FreezeRequest) {})
	require.NoError(t, err)
	_, err = b.Teardown(t.Context(), flowclient.TeardownRequest{Origin: b.origin(), Scope: "project:shop"})
	require.NoError(t, err)
	cleared, err := b.ClearFreeze(t.Context(), flowclient.FreezeRequest{Origin: b.origin(), ID: freeze.ID})
	require.NoError(t, err)
	assert.Equal(t, freeze, cleared)
}

func TestWithoutAStoreNoFreezeIsSetAndNoneHolds(t *testing.T) {
	b := newBench(t)
	b.shop()
	deps := b.deps
	deps.Freezes = nil
	c, err := flowclient.New(deps)
	require.NoError(t, err)
	_, err = c.SetFreeze(t.Context(), flowclient.FreezeRequest{Origin: b.origin(), Project: "shop", Until: b.now.Add(time.Hour), Reason: "the fair"})
	var refused *flowclient.Refusal
	require.ErrorAs(t, err, &refused)
	assert.Equal(t, "This controller keeps no freezes; narrow the project's production window instead.", refused.Sentence)
	held, err := c.Freezes(t.Context())
	require.NoError(t, err)
	assert.Equal(t, []flowclient.Freeze{}, held)
	_, err = c.ClearFreeze(t.Context(), flowclient.FreezeRequest{Origin: b.origin(), ID: 1})
	assert.True(t, flowclient.IsNotFound(err), "%v", err)
	window, err := c.Window(t.Context(), "shop")
	require.NoError(t, err)
	assert.True(t, window.Open)
}

func TestFreezesThatCannotBeReadLetNothingThrough(t *testing.T) {
	b := newBench(t)
	b.shop()
	b.push("second")
	deps := b.deps
	deps.Freezes = unreadable{b.store}
	c, err := flowclient.New(deps)
	require.NoError(t, err)
	_, err = c.Promote(t.Context(), flowclient.Promotion{Origin: b.origin(), Project: "shop"})
	require.ErrorIs(t, err, errUnreadable)
	_, err = c.Window(t.Context(), "shop")
	require.ErrorIs(t, err, errUnreadable)
	_, err = c.State(t.Context())
	require.ErrorIs(t, err, errUnreadable)
}

// unreadable is a store whose freezes cannot be listed.
type unreadable struct{ flowclient.FreezeStore }

var errUnreadable = errors.New("disk I/O error")

func (unreadable) Freezes(context.Context, time.Time) ([]flowclient.Freeze, error) {
	return nil, errUnreadable
}
