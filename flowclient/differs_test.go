package flowclient

import (
	"context"
	"encoding/json"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

const typeAndResource = "the component type deployment/service and the resource orders, made since"

// altered is a site where the second component changes more than its code.
func altered() snapshot {
	s := site("shop-api", "shop-web")
	s.Components[1].Differs = []string{"the component type deployment/service", "the resource orders, made since"}
	return s
}

func TestAPromotionWarnsOfWhatMovesBesidesTheCode(t *testing.T) {
	plan, err := planPromotion(site("shop-api", "shop-web"), request, friday)
	require.NoError(t, err)
	assert.Empty(t, plan.Note, "a note only when it matters")
	const warning = "More than code changes: of shop-web between aaaaaaa and bbbbbbb: " + typeAndResource + ". A rollback would not take that back; check that the older code could work with it."
	plan, err = planPromotion(altered(), request, friday)
	require.NoError(t, err)
	assert.Equal(t, warning, plan.Note)
	assert.Equal(t, warning, plan.outcome().Note, "the answer carries it")
	assert.Equal(t, warning, planPass(altered(), friday).Move.Note, "so does a move by itself")

	s := altered()
	s.Components[1].Staging.status.Conditions = nil
	plan, err = planPromotion(s, request, friday)
	require.NoError(t, err)
	assert.Equal(t, Retry, plan.Moves[1].Outcome.Result)
	assert.Empty(t, plan.Note, "what does not move changes nothing")
}

func TestWhyTellsWhatWouldMoveBesidesTheCode(t *testing.T) {
	w := whyOf(altered(), friday)
	assert.NotContains(t, w.Components[0].Sentence, "More than code")
	assert.Contains(t, w.Components[1].Sentence, "More than code would change: "+typeAndResource+".")
}

func TestAPromotionRecordedBeforeItWarnedIsDecidedAgainByteForByte(t *testing.T) {
	plan, err := newPlan(site("shop-web"), request, friday).decided()
	require.NoError(t, err)
	body, err := json.Marshal(plan)
	require.NoError(t, err)
	assert.NotContains(t, string(body), "differs")
	again, err := replayIntent(Intent{ID: "i", Kind: kindPromote, Body: body})
	require.NoError(t, err)
	assert.True(t, again.Same)
}

// listing is a control plane that lists resources, has other objects by name, and counts how often releases are asked for.
type listing struct {
	releasesThere
	resources []Object
	gets      int
}

func (l *listing) List(context.Context, Kind, Filter) ([]Object, error) { return l.resources, nil }

func (l *listing) Get(ctx context.Context, kind Kind, name string) (Object, error) {
	if kind == KindComponentRelease {
		l.gets++
	}
	return l.releasesThere.Get(ctx, kind, name)
}

func TestOnlyResourcesThatProductionHasNoneOfAreNew(t *testing.T) {
	old, since := friday.Add(-2*time.Hour), friday.Add(-time.Hour)
	resource := func(name string) Object {
		return Object{Metadata: Metadata{Name: name, Created: &since}, Spec: json.RawMessage(`{"owner":{"projectName":"shop"}}`)}
	}
	release := func(name string) Object {
		return Object{Metadata: Metadata{Name: name, Created: &old}, Spec: json.RawMessage(`{"componentType":{"kind":"ClusterComponentType","name":"deployment/service"}}`)}
	}
	s := site("shop-web", "shop-new")
	s.Components[0].objects = map[string]Object{"shop-web-0": release("shop-web-0"), "shop-web-1": release("shop-web-1")}
	s.Components[1].Production = binding{}
	plane := &listing{resources: []Object{resource("orders"), resource("carts")}, releasesThere: releasesThere{objects: map[string]Object{"carts-production": {}}}}
	c := &Controller{deps: Deps{ControlPlane: plane}}
	require.NoError(t, c.compareForward(t.Context(), &s))
	assert.Equal(t, []string{"the resource orders, made since"}, s.Components[0].Differs)
	assert.Empty(t, s.Components[1].Differs, "what production runs nothing of is new as a whole")
	assert.Zero(t, plane.gets, "a release that was listed is not read again")
}
