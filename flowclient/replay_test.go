package flowclient

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// drawAsked draws what is asked of a drawn project, at an instant as a process has it.
func drawAsked(t *rapid.T) movePlan {
	zone := time.FixedZone("somewhere", rapid.IntRange(-12, 14).Draw(t, "clock's zone")*3600)
	at := time.Now().Add(time.Until(friday)).In(zone) // with the reading of this process's clock
	s := drawFacts(t)
	for i := range s.Components {
		s.Components[i].Differs = rapid.SliceOfN(rapid.String(), 0, 2).Draw(t, "differs")
	}
	plan := newPlan(s, Promotion{Project: "shop", Origin: Origin{Key: "zulip:31", Who: "developer", Link: "http://chat/31"},
		Force: rapid.Bool().Draw(t, "force"), SkipSoak: rapid.SampledFrom([]string{"", "the fair <begins>"}).Draw(t, "skip")}, at)
	switch rapid.SampledFrom([]string{"promote", "rollback", "undo"}).Draw(t, "kind") {
	case "rollback":
		plan.Rollback, plan.Force, plan.SkipSoak = true, false, ""
	case "undo":
		past := pastMove{Intent: "4k2j", Key: "zulip:30", Who: "developer", At: friday.Add(-time.Hour)}
		for _, f := range s.Components {
			past.Moved = append(past.Moved, ComponentOutcome{Component: f.Name, Result: Promoted, To: f.Production.spec.ReleaseName, From: f.Production.annotation(AnnotationDisplaced)})
		}
		plan.Rollback, plan.Force, plan.SkipSoak, plan.Undoes = true, false, "", &past
	}
	return plan
}

func TestADecisionIsMadeAgainFromWhatWasRecordedByteForByte(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		asked := drawAsked(t)
		decided, err := asked.decided()
		kind := map[bool]string{false: kindPromote, true: kindRollback}[asked.Rollback]
		var refusal *Refusal
		var again Replayed
		if errors.As(err, &refusal) {
			decision, err := json.Marshal(asked)
			require.NoError(t, err)
			body, err := json.Marshal(MoveEvent{Origin: asked.Origin, Refusal: refusal, Decision: decision})
			require.NoError(t, err)
			again, err = replayEvent(Event{Key: "k", Kind: kind2event(kind), Body: body})
			require.NoError(t, err)
		} else {
			require.NoError(t, err)
			body, err := json.Marshal(decided)
			require.NoError(t, err)
			again, err = replayIntent(Intent{ID: "i", Kind: kind, Body: body})
			require.NoError(t, err)
		}
		require.Equal(t, string(again.Recorded), string(again.Replayed))
		require.True(t, again.Same)
	})
}

func kind2event(kind string) string {
	if kind == kindRollback {
		return EventRollbackRefuse
	}
	return EventPromoteRefuse
}

func TestAnAutomaticDecisionIsMadeAgainFromWhatWasRecordedByteForByte(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := drawFacts(t)
		at := time.Now().Add(time.Until(friday)) // with the reading of this process's clock
		plan := planPass(s, at)
		if len(plan.Move.Moves) > 0 {
			body, err := json.Marshal(plan.Move)
			require.NoError(t, err)
			again, err := replayIntent(Intent{ID: "i", Kind: kindPromote, Body: body})
			require.NoError(t, err)
			require.Equal(t, string(body), string(again.Replayed))
		}
		for _, e := range plan.Episodes {
			if e.Event == nil {
				continue
			}
			again, err := replayEvent(*e.Event)
			require.NoError(t, err)
			require.Equal(t, string(e.Event.Body), string(again.Replayed))
			require.True(t, again.Same)
		}
		for _, e := range plan.Opened {
			again, err := replayEvent(e)
			require.NoError(t, err)
			require.Equal(t, string(e.Body), string(again.Replayed))
		}
	})
}

func TestWhatThePassMovesAndWhatItParksIsDecidedAgain(t *testing.T) {
	s := site("shop-api", "shop-web")
	body, err := json.Marshal(planPass(s, friday).Move)
	require.NoError(t, err)
	again, err := replayIntent(Intent{ID: "i", Kind: kindPromote, Body: body})
	require.NoError(t, err)
	assert.True(t, again.Same)
	assert.Contains(t, string(again.Replayed), `"result":"promoted"`)

	s.Project.Metadata.Annotations[AnnotationProductionWindow] = "Mon-Fri 09:00-17:00 Europe/London"
	parked := planPass(s, friday).Episodes
	require.Len(t, parked, 1)
	again, err = replayEvent(*parked[0].Event)
	require.NoError(t, err)
	assert.True(t, again.Same)
	assert.Equal(t, Automatic, again.Who)
	assert.Contains(t, string(again.Replayed), "opens Mon 23 Nov 09:00 GMT")
}

func TestWhatWasDecidedByOtherRulesIsNotTheSame(t *testing.T) {
	plan, err := newPlan(site("shop-web"), request, friday).decided()
	require.NoError(t, err)
	plan.Moves[0].Outcome.Sentence = "shop-web: moved, by rules of last year."
	body, err := json.Marshal(plan)
	require.NoError(t, err)
	again, err := replayIntent(Intent{ID: "i", Kind: kindPromote, Body: body})
	require.NoError(t, err)
	assert.False(t, again.Same)
	assert.True(t, strings.HasPrefix(again.Sentence, "Decided again from the same inputs, it comes to something else"))
	assert.NotEmpty(t, again.Replayed)
}

func TestWhatKeptNoInputsIsNotDecidedAgain(t *testing.T) {
	again, err := replayIntent(Intent{ID: "i", Kind: kindPromote, Body: json.RawMessage(`{"project":"shop","moves":[],"at":"2026-11-20T18:00:00Z"}`)})
	require.NoError(t, err)
	assert.False(t, again.Same)
	assert.Nil(t, again.Replayed)
	assert.Contains(t, again.Sentence, "cannot be decided again")
	for _, kind := range []string{kindCommit, kindScaffold, kindSync} {
		_, err = replayIntent(Intent{ID: "i", Kind: kind, Body: json.RawMessage(`{}`)})
		assert.True(t, IsNotFound(err), "no rule decides a %s", kind)
	}
	_, err = replayEvent(Event{Key: "build/run/passed", Kind: EventBuildPassed})
	assert.True(t, IsNotFound(err))
}
