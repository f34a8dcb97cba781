package flowclient

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// drawSnapshot draws a project with components in every state that there is.
func drawSnapshot(t *rapid.T) snapshot {
	s := snapshot{
		Project:     Object{Metadata: Metadata{Name: "shop", Annotations: map[string]string{}}},
		DefaultSoak: time.Duration(rapid.IntRange(0, 2).Draw(t, "default soak")) * time.Hour,
	}
	set := func(annotation string, values ...string) {
		if v := rapid.SampledFrom(values).Draw(t, annotation); v != "" {
			s.Project.Metadata.Annotations[annotation] = v
		}
	}
	set(AnnotationProductionWindow, "", "", "", "Fri 09:00-19:00 UTC", "Mon-Fri 09:00-17:00 Europe/London", "never")
	set(AnnotationSoak, "", "", "30m", "2h", "soon")
	set(AnnotationPromotionCheck, "", "", "http", "tcp")
	for range rapid.SampledFrom([]int{0, 0, 0, 1, 2}).Draw(t, "freezes") {
		from := friday.Add(time.Duration(rapid.IntRange(-3, 3).Draw(t, "frozen from")) * time.Hour)
		s.Freezes = append(s.Freezes, Freeze{Project: rapid.SampledFrom([]string{"", "shop"}).Draw(t, "frozen"), From: from,
			Until: from.Add(time.Duration(rapid.IntRange(1, 48).Draw(t, "frozen for")) * time.Hour), Who: "sre", Reason: "drawn"})
	}
	for i := range rapid.IntRange(1, 4).Draw(t, "components") {
		name := fmt.Sprintf("shop-%c", 'a'+i)
		f := componentFacts{Name: name, Releases: map[string]release{}, Since: friday.Add(-time.Hour),
			Status: rapid.SampledFrom([]int{0, 200, 404, 500}).Draw(t, "status"), Unbound: rapid.Bool().Draw(t, "unbound")}
		for n, sha := range []string{shaA, shaB} {
			release := release{Name: fmt.Sprint(name, "-", n), Of: name, Commit: sha, Image: fmt.Sprint("r@sha256:", n)}
			f.Releases[release.Name] = release
		}
		names := []string{"", name + "-0", name + "-1"}
		f.Staging = drawBinding(t, Staging, name, names)
		f.Production = drawBinding(t, Production, name, names)
		if displaced := rapid.SampledFrom(names).Draw(t, "displaced"); f.Production.exists && displaced != f.Production.spec.ReleaseName {
			f.Production.Metadata.Annotations[AnnotationDisplaced] = displaced
		}
		for range rapid.IntRange(0, 2).Draw(t, "locks") {
			f.Locks = append(f.Locks, Lock{Component: name, Commit: rapid.SampledFrom([]string{shaA, shaB}).Draw(t, "locked"),
				Environment: rapid.SampledFrom([]string{"", Staging, Production}).Draw(t, "in"), Who: "sre"})
		}
		s.Components = append(s.Components, f)
	}
	return s
}

func drawBinding(t *rapid.T, environment, component string, releases []string) binding {
	spec := ReleaseBindingSpec{Environment: environment, ReleaseName: rapid.SampledFrom(releases).Draw(t, environment)}
	if spec.ReleaseName == "" {
		return binding{}
	}
	spec.State = rapid.SampledFrom([]string{"Active", "Active", "", "Undeploy"}).Draw(t, "state")
	status := ReleaseBindingStatus{}
	if rapid.Bool().Draw(t, "ready") {
		status.Conditions = []Condition{{Type: "Ready", Status: "True"}}
	}
	if rapid.Bool().Draw(t, "address") {
		status.Endpoints = []EndpointURL{{Name: "http", ExternalURLs: map[string]URL{"http": {Scheme: "http", Host: component}}}}
	}
	o := Object{Kind: KindReleaseBinding, Metadata: Metadata{Name: bindingName(component, environment), Annotations: map[string]string{}}}
	var err error
	if o.Spec, err = json.Marshal(spec); err == nil {
		o.Status, err = json.Marshal(status)
	}
	require.NoError(t, err)
	b, err := bindingOf(o)
	require.NoError(t, err)
	return b
}

var request = Promotion{Origin: Origin{Key: "k", Who: "developer"}, Project: "shop"}

func encoded(t *rapid.T, plan movePlan, err error) string {
	raw, fault := json.Marshal(plan)
	require.NoError(t, fault)
	return fmt.Sprintf("%s %v", raw, err)
}

func TestADecisionIsPure(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := drawSnapshot(t)
		for _, decide := range []func(snapshot, Promotion, time.Time) (movePlan, error){planPromotion, planRollback} {
			first, err := decide(s, request, friday)
			again, errAgain := decide(s, request, friday)
			require.Equal(t, encoded(t, first, err), encoded(t, again, errAgain), "same snapshot and instant, same bytes")
			mirrored := s
			mirrored.Components = slices.Clone(s.Components)
			slices.Reverse(mirrored.Components)
			other, errOther := decide(mirrored, request, friday)
			require.Equal(t, err == nil, errOther == nil, "the order of components changes no outcome")
			slices.Reverse(other.Moves)
			if err == nil {
				require.Equal(t, first.Moves, withOrder(other.Moves, first.Moves))
			}
		}
	})
}

// withOrder gives each move the verdicts in the order that want has them.
func withOrder(moves, want []aMove) []aMove {
	for i := range moves {
		slices.SortFunc(moves[i].Outcome.Gates, func(a, b Verdict) int { return gateRank(a) - gateRank(b) })
		slices.SortFunc(want[i].Outcome.Gates, func(a, b Verdict) int { return gateRank(a) - gateRank(b) })
	}
	return moves
}

func gateRank(v Verdict) int {
	return slices.IndexFunc(gates, func(g gate) bool { return g.name == v.Gate })
}

func TestAPromotionKeepsItsInvariants(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := drawSnapshot(t)
		plan, err := planPromotion(s, request, friday)
		window := windowOf(nil, "shop", s.annotation(AnnotationProductionWindow), s.Freezes, friday)
		var refused *Refusal
		if errors.As(err, &refused) {
			require.Empty(t, plan.Moves, "409 plans no write")
			require.Contains(t, []string{"lock", "window"}, refused.Gate)
			return
		}
		require.NoError(t, err)
		require.Len(t, plan.Moves, len(s.Components), "every requested component once")
		for i, m := range plan.Moves {
			f := s.Components[i]
			require.Equal(t, f.Name, m.Outcome.Component)
			require.NotEmpty(t, m.Outcome.Sentence)
			if m.Outcome.Result == Unchanged {
				require.Equal(t, f.Staging.spec.ReleaseName, f.Production.spec.ReleaseName)
			}
			if !m.moves() {
				continue
			}
			require.True(t, window.Open, "nothing moves while the window is closed")
			require.Equal(t, f.Staging.spec.ReleaseName, m.Outcome.To, "the pinned release is the one evaluated")
			require.NotEqual(t, m.Outcome.From, m.Outcome.To, "what is displaced differs from what is pinned")
			ready, _, _ := f.Staging.ready()
			require.True(t, ready)
			for _, l := range f.Locks {
				require.False(t, l.Commit == m.Outcome.ToCommit && l.Environment != Staging, "no pin of a locked release")
			}
		}
	})
}

func TestARollbackKeepsItsInvariants(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := drawSnapshot(t)
		plan, err := planRollback(s, request, friday)
		if err != nil {
			require.Empty(t, plan.Moves)
			return
		}
		for i, m := range plan.Moves {
			f := s.Components[i]
			require.Equal(t, m.Outcome.Result == RolledBack, f.Production.annotation(AnnotationDisplaced) != "")
			if m.moves() {
				require.Equal(t, f.Production.annotation(AnnotationDisplaced), m.Outcome.To)
			}
			for _, v := range m.Outcome.Gates {
				require.Contains(t, []string{"lock", "window"}, v.Gate, "a rollback is asked for nothing else")
			}
		}
	})
}

func TestAddingALockNeverMovesMore(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := drawSnapshot(t)
		plan, err := planPromotion(s, request, friday)
		i := rapid.IntRange(0, len(s.Components)-1).Draw(t, "component")
		more := s
		more.Components = slices.Clone(s.Components)
		f := &more.Components[i]
		f.Locks = append(slices.Clone(f.Locks), Lock{Component: f.Name, Commit: rapid.SampledFrom([]string{shaA, shaB}).Draw(t, "sha"), Who: "sre"})
		locked, errLocked := planPromotion(more, request, friday)
		if err != nil {
			require.Error(t, errLocked, "a lock turns no refusal into a pass")
		}
		if errLocked == nil {
			require.Equal(t, plan.outcome().Components, locked.outcome().Components)
		}
	})
}

func TestRollbackOfAnUnknownReleaseIsRefusedBeforeAnyWrite(t *testing.T) {
	s := snapshot{Project: Object{Metadata: Metadata{Name: "shop"}}, Components: []componentFacts{{Name: "shop-web",
		Production: binding{exists: true, Object: Object{Metadata: Metadata{Annotations: map[string]string{AnnotationDisplaced: "gone"}}}}}}}
	_, err := planRollback(s, request, friday)
	require.ErrorContains(t, err, "release gone of shop-web, which does not exist any more")
	s.Components[0].Staging.spec.ReleaseName = "gone"
	_, err = planPromotion(s, request, friday)
	require.ErrorContains(t, err, "staging runs release gone of shop-web, which does not exist")
}

func TestSentencesOfAMove(t *testing.T) {
	for want, c := range map[string]struct {
		o           ComponentOutcome
		reactivated bool
	}{
		"web: production runs aaaaaaa now; it ran nothing before.":                         {ComponentOutcome{Result: Promoted, To: "r1", ToCommit: shaA}, false},
		"web: production runs aaaaaaa now; it ran bbbbbbb before.":                         {ComponentOutcome{Result: Promoted, To: "r1", ToCommit: shaA, From: "r0", FromCommit: shaB}, false},
		"web: production runs r1 now; it ran r0 before.":                                   {ComponentOutcome{Result: Promoted, To: "r1", From: "r0"}, false},
		"web: production is back at aaaaaaa now; it ran bbbbbbb before.":                   {ComponentOutcome{Result: RolledBack, To: "r1", ToCommit: shaA, From: "r0", FromCommit: shaB}, false},
		"web: production was out of service and runs aaaaaaa again.":                       {ComponentOutcome{Result: Promoted, To: "r1", ToCommit: shaA}, true},
		"web: production runs aaaaaaa now; it ran bbbbbbb before, and was out of service.": {ComponentOutcome{Result: Promoted, To: "r1", ToCommit: shaA, From: "r0", FromCommit: shaB}, true},
	} {
		c.o.Component = "web"
		assert.Equal(t, want, movedSentence(c.o, c.reactivated))
		assert.True(t, strings.HasSuffix(want, "."))
	}
}
