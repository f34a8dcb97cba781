package flowclient

import (
	"errors"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"platform.dev/platform/fixtures/goldenfile"
)

// drawFacts is drawSnapshot with everything else that a gate looks at.
func drawFacts(t *rapid.T) snapshot {
	s := drawSnapshot(t)
	if p := rapid.SampledFrom([]string{"", "auto", "manual", "manual", "sometimes"}).Draw(t, "promotion"); p != "" {
		s.Project.Metadata.Annotations[AnnotationPromotion] = p
	}
	for range rapid.IntRange(0, 2).Draw(t, "freezes") {
		from := friday.Add(time.Duration(rapid.IntRange(-48, 96).Draw(t, "from")) * time.Hour)
		s.Freezes = append(s.Freezes, Freeze{Project: "shop", From: from, Until: from.Add(time.Duration(rapid.IntRange(1, 72).Draw(t, "for")) * time.Hour),
			Reason: rapid.String().Draw(t, "reason"), Who: "ops"})
	}
	s.CellNote = "no quota is set for shop."
	if rapid.Bool().Draw(t, "quota") {
		s.Cell, s.CellNote, s.Margin = &Quota{Namespace: "dp", Hard: Quantities{Memory: 1000}, Used: Quantities{Memory: int64(rapid.IntRange(0, 1000).Draw(t, "used"))}}, "", 100
	}
	zone := time.FixedZone("", rapid.IntRange(-12, 14).Draw(t, "zone")*3600)
	for i := range s.Components {
		f := &s.Components[i]
		f.Since = friday.Add(-time.Duration(rapid.IntRange(-10, 200).Draw(t, "minutes")) * time.Minute).In(zone)
		f.Need = need{Replicas: 1, Each: Quantities{Memory: int64(rapid.IntRange(0, 500).Draw(t, "memory"))}, First: rapid.Bool().Draw(t, "first")}
		f.CheckFail = rapid.String().Draw(t, "failure")
		if rapid.IntRange(0, 3).Draw(t, "held") == 0 {
			f.Hold = &Hold{Project: "shop", Component: f.Name, Release: f.Name + "-1", Who: "sre", At: friday.Add(-time.Hour)}
		}
		if rapid.IntRange(0, 3).Draw(t, "resting") == 0 {
			until := friday.Add(time.Duration(rapid.IntRange(-5, 10).Draw(t, "until")) * time.Minute)
			f.Backoff = &until
		}
	}
	return s
}

func TestWhyAndPromoteAgree(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := drawFacts(t)
		why := whyOf(s, friday)
		plan, err := planPromotion(s, request, friday)
		var refusal *Refusal
		if err != nil {
			require.ErrorAs(t, err, &refusal)
			require.Contains(t, why.Sentence, refusal.Sentence)
		}
		require.Len(t, why.Components, len(s.Components))
		for i, w := range why.Components {
			require.NotEmpty(t, w.Sentence)
			switch {
			case err == nil:
				require.Equal(t, plan.Moves[i].Outcome.Result, w.Result)
				require.Equal(t, plan.Moves[i].Outcome.To, w.To)
			case s.Components[i].unchanged() && w.To != "":
				require.Equal(t, Unchanged, w.Result)
			default:
				require.Equal(t, Refused, w.Result)
			}
			if w.Result == Promoted {
				require.Equal(t, friday, *w.Earliest, "what nothing is against could move now")
			}
		}
	})
}

func TestTheEarliestInstantIsTheFirstAtWhichAPromotionMoves(t *testing.T) {
	moves := func(s snapshot, component string, at time.Time) bool {
		plan, err := planPromotion(s, request, at)
		return err == nil && slices.ContainsFunc(plan.Moves, func(m aMove) bool { return m.Outcome.Component == component && m.moves() })
	}
	rapid.Check(t, func(t *rapid.T) {
		s := drawFacts(t)
		for _, w := range whyOf(s, friday).Components {
			if w.Result == Unchanged {
				require.Nil(t, w.Earliest)
				continue
			}
			if w.Earliest == nil {
				for _, ahead := range []time.Duration{0, time.Minute, time.Hour, 2 * time.Hour, 24 * time.Hour, 63 * time.Hour, 64 * time.Hour, 30 * 24 * time.Hour} {
					require.False(t, moves(s, w.Component, friday.Add(ahead)), "%s moves after %s, and no instant was told", w.Component, ahead)
				}
				continue
			}
			require.False(t, w.Earliest.Before(friday))
			require.True(t, moves(s, w.Component, *w.Earliest), "%s moves at %s", w.Component, w.Earliest)
			for before := friday; before.Before(*w.Earliest); before = before.Add(7 * time.Minute) {
				require.False(t, moves(s, w.Component, before), "%s moves at %s already", w.Component, before)
			}
			if before := w.Earliest.Add(-1); !before.Before(friday) {
				require.False(t, moves(s, w.Component, before), "%s moves a nanosecond earlier", w.Component)
			}
		}
	})
}

func TestWhatMovesByItselfIsWhatThePassMoves(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := drawFacts(t)
		why := whyOf(s, friday)
		if _, err := s.candidates(); err != nil {
			return
		}
		pass := planPass(s, friday)
		for _, w := range why.Components {
			moved := slices.ContainsFunc(pass.Move.Moves, func(m aMove) bool { return m.Outcome.Component == w.Component && m.moves() })
			require.Equal(t, moved, w.Automatic == movesNow, "%s: %s", w.Component, w.Automatic)
		}
	})
}

func TestThePassMovesAtTheInstantThatWasTold(t *testing.T) {
	moves := func(s snapshot, component string, at time.Time) bool {
		return slices.ContainsFunc(planPass(s, at).Move.Moves, func(m aMove) bool { return m.Outcome.Component == component && m.moves() })
	}
	rapid.Check(t, func(t *rapid.T) {
		s := drawFacts(t)
		s.Project.Metadata.Annotations[AnnotationPromotion] = promotionAuto
		candidates, err := s.candidates()
		if err != nil {
			return
		}
		would, _ := earliest(s.question(), candidates, automatically, friday)
		for _, c := range candidates {
			at, ok := would[c.Component]
			if !ok {
				require.False(t, moves(s, c.Component, friday.Add(64*time.Hour)), "%s moves, and no instant was told", c.Component)
				continue
			}
			require.True(t, moves(s, c.Component, at), "%s moves at %s", c.Component, at)
			if before := at.Add(-1); !before.Before(friday) {
				require.False(t, moves(s, c.Component, before), "%s moves a nanosecond earlier", c.Component)
			}
		}
	})
}

func TestWhyAndStateNameTheSameGate(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := drawFacts(t)
		s.Project.Metadata.Annotations[AnnotationPromotion] = promotionAuto
		if _, err := s.candidates(); err != nil {
			return
		}
		why := whyOf(s, friday)
		for _, stands := range planPass(s, friday).Standing {
			i := slices.IndexFunc(why.Components, func(w WhyComponent) bool { return w.Component == stands.Component })
			require.GreaterOrEqual(t, i, 0)
			w := why.Components[i]
			require.Equal(t, stands.To, w.To)
			if stands.Gate == "" {
				require.Equal(t, movesNow, w.Automatic)
				continue
			}
			require.NotEqual(t, movesNow, w.Automatic)
			if stands.Gate == "capacity" || stands.Gate == "backoff" {
				continue // the set that the pass asks about may be smaller than a person's
			}
			require.True(t, slices.ContainsFunc(w.Gates, func(v Verdict) bool { return v.Gate == stands.Gate && !v.Pass && v.Sentence == stands.Sentence }),
				"%s: %s", stands.Gate, stands.Sentence)
		}
	})
}

func TestEveryGateIsToldOnceInTheOrderOfTheTable(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := drawFacts(t)
		if _, err := s.candidates(); err != nil {
			return
		}
		for _, w := range whyOf(s, friday).Components {
			if w.Result == Unchanged {
				require.Empty(t, w.Gates)
				continue
			}
			var names []string
			for _, v := range w.Gates {
				names = append(names, v.Gate)
			}
			var all []string
			for _, g := range gates {
				all = append(all, g.name)
			}
			require.Equal(t, all, names)
		}
	})
}

// site is a project with the components named, of which staging has b and production a.
func site(components ...string) snapshot {
	s := snapshot{Project: Object{Metadata: Metadata{Name: "shop", Annotations: map[string]string{}}}, CellNote: "no quota is set for shop."}
	for _, name := range components {
		f := componentFacts{Name: name, Since: friday.Add(-time.Hour), Status: 200, Releases: map[string]release{
			name + "-0": {Name: name + "-0", Of: name, Commit: shaA}, name + "-1": {Name: name + "-1", Of: name, Commit: shaB}}}
		f.Staging, f.Production = runs(name, Staging, name+"-1"), runs(name, Production, name+"-0")
		s.Components = append(s.Components, f)
	}
	return s
}

// runs is a binding that is Ready with a release.
func runs(component, environment, release string) binding {
	b, err := bindingOf(Object{Kind: KindReleaseBinding, Metadata: Metadata{Name: bindingName(component, environment), Annotations: map[string]string{}},
		Spec:   []byte(`{"owner":{"projectName":"shop","componentName":"` + component + `"},"environment":"` + environment + `","releaseName":"` + release + `","state":"Active"}`),
		Status: []byte(`{"conditions":[{"type":"Ready","status":"True"}]}`)})
	if err != nil {
		panic(err)
	}
	return b
}

// golden compares lines with a file of fixtures/golden/flowclient.
func golden(t *testing.T, name string, lines []string) {
	t.Helper()
	goldenfile.Compare(t, filepath.Join("..", "fixtures", "golden", "flowclient", name+".txt"), strings.Join(lines, "\n")+"\n")
}

func TestWhySaysWhatIsAgainstAPromotion(t *testing.T) {
	set := func(s snapshot, annotation, value string) snapshot {
		s.Project.Metadata.Annotations[annotation] = value
		return s
	}
	lock := func(s snapshot, i int) snapshot {
		f := &s.Components[i]
		f.Locks = append(f.Locks, Lock{ID: 7, Component: f.Name, Commit: shaB, Reason: "breaks the cart", Who: "sre", At: friday.Add(-48 * time.Hour)})
		return s
	}
	var lines []string
	for _, c := range []struct {
		name string
		s    snapshot
	}{
		{"nothing to promote", func() snapshot {
			s := site("shop-web")
			s.Components[0].Staging = runs("shop-web", Staging, "shop-web-0")
			return s
		}()},
		{"no components", site()},
		{"everything could move", site("shop-api", "shop-web")},
		{"by hand alone", set(site("shop-web"), AnnotationPromotion, "manual")},
		{"an annotation that is neither", set(site("shop-web"), AnnotationPromotion, "sometimes")},
		{"the first deployment", func() snapshot { s := site("shop-web"); s.Components[0].Production = binding{}; return s }()},
		{"nothing in staging yet", func() snapshot {
			s := site("shop-web")
			s.Components[0].Staging, s.Components[0].Production = binding{}, binding{}
			return s
		}()},
		{"the window is closed", set(site("shop-api", "shop-web"), AnnotationProductionWindow, "Mon-Fri 09:00-17:00 Europe/London")},
		{"the window cannot be read", set(site("shop-web"), AnnotationProductionWindow, "weekdays")},
		{"soaking", set(site("shop-web"), AnnotationSoak, "2h")},
		{"soaking into the closed window", set(set(site("shop-web"), AnnotationSoak, "2h"), AnnotationProductionWindow, "Mon-Fri 09:00-19:00 UTC")},
		{"one soaks longer than the other", func() snapshot {
			s := set(site("shop-api", "shop-web"), AnnotationSoak, "2h")
			s.Components[1].Since = friday.Add(-90 * time.Minute)
			return s
		}()},
		{"one is ready and one is not", func() snapshot {
			s := site("shop-api", "shop-web")
			s.Components[0].Staging.status.Conditions = nil
			return s
		}()},
		{"locked", lock(site("shop-web"), 0)},
		{"one of two is locked", lock(site("shop-api", "shop-web"), 0)},
		{"it does not fit", func() snapshot {
			s := site("shop-api", "shop-web")
			s.Cell, s.Margin = &Quota{Namespace: "dp", Hard: Quantities{Memory: 4 << 30}, Used: Quantities{Memory: 3584 << 20}}, 307<<20
			for i := range s.Components {
				s.Components[i].Need = need{Replicas: 1, Each: Quantities{Memory: 150 << 20}}
			}
			return s
		}()},
		{"it soaks, and would not fit then", func() snapshot {
			s := set(site("shop-web"), AnnotationSoak, "2h")
			s.Cell, s.Margin = &Quota{Namespace: "dp", Hard: Quantities{Memory: 4 << 30}, Used: Quantities{Memory: 3584 << 20}}, 307<<20
			s.Components[0].Need = need{Replicas: 1, Each: Quantities{Memory: 300 << 20}}
			return s
		}()},
		{"held after a rollback", func() snapshot {
			s := site("shop-web")
			s.Components[0].Hold = &Hold{Component: "shop-web", Release: "shop-web-1", Who: "sre", At: friday.Add(-time.Hour)}
			return s
		}()},
		{"out of service", func() snapshot {
			s := site("shop-web")
			s.Components[0].Production.spec.State = stateUndeploy
			return s
		}()},
		{"the page does not answer", func() snapshot {
			s := set(site("shop-web"), AnnotationPromotionCheck, "http")
			s.Components[0].Staging.status.Endpoints = []EndpointURL{{Name: "http", ExternalURLs: map[string]URL{"http": {Scheme: "http", Host: "staging-shop"}}}}
			s.Components[0].Status = 502
			return s
		}()},
		{"a release that is gone", func() snapshot { s := site("shop-web"); delete(s.Components[0].Releases, "shop-web-1"); return s }()},
	} {
		why := whyOf(c.s, friday)
		lines = append(lines, "# "+c.name, why.Sentence)
		for _, w := range why.Components {
			earliest := "never by time alone"
			if w.Earliest != nil {
				earliest = w.Earliest.Format(time.RFC3339)
			}
			lines = append(lines, "- "+w.Result+": "+w.Sentence, "  automatic: "+w.Automatic, "  earliest: "+earliest)
		}
		lines = append(lines, "")
	}
	golden(t, "why", lines)
}

func TestOldLocksAreThoseOfAnAgeOldestFirst(t *testing.T) {
	day := 24 * time.Hour
	locks := []Lock{{ID: 1, At: friday.Add(-13 * day)}, {ID: 2, At: friday.Add(-14 * day)}, {ID: 3, At: friday.Add(-30 * day)}, {ID: 4, At: friday.Add(day)}}
	var ids []int64
	for _, l := range OldLocks(locks, friday, 14*day) {
		ids = append(ids, l.ID)
	}
	assert.Equal(t, []int64{3, 2}, ids)
	assert.Equal(t, []Lock{}, OldLocks(nil, friday, 0))
	assert.EqualValues(t, 1, locks[0].ID, "the list given stays as it is")
}

func TestClearingALockSaysWhatMovesThen(t *testing.T) {
	locks := []Lock{{ID: 7, Component: "shop-web", Commit: shaB, Reason: "breaks the cart", Who: "sre", At: friday.Add(-48 * time.Hour)}}
	locked := func() snapshot { s := site("shop-web"); s.Components[0].Locks = slices.Clone(locks); return s }
	set := func(s snapshot, annotation, value string) snapshot {
		s.Project.Metadata.Annotations[annotation] = value
		return s
	}
	var lines []string
	for _, c := range []struct {
		name   string
		s      snapshot
		result string
	}{
		{"it moves by itself", locked(), Promoted},
		{"a person has to promote it", set(locked(), AnnotationPromotion, "manual"), Promoted},
		{"when the window opens", set(locked(), AnnotationProductionWindow, "Mon-Fri 09:00-17:00 Europe/London"), Refused},
		{"when it has soaked, by hand", set(set(locked(), AnnotationSoak, "2h"), AnnotationPromotion, "manual"), Retry},
		{"something else is against it too", func() snapshot { s := locked(); s.Components[0].Staging.status.Conditions = nil; return s }(), Retry},
		{"another lock holds it too", func() snapshot {
			s := locked()
			s.Components[0].Locks = append(s.Components[0].Locks, Lock{ID: 8, Component: "shop-web", Commit: shaB, Environment: Production, Who: "ops", Reason: "fair", At: friday})
			return s
		}(), Refused},
		{"staging has moved on", func() snapshot {
			s := locked()
			s.Components[0].Staging = runs("shop-web", Staging, "shop-web-2")
			s.Components[0].Releases["shop-web-2"] = release{Name: "shop-web-2", Of: "shop-web", Commit: strings.Repeat("c", 40)}
			return s
		}(), Promoted},
		{"production runs it already", func() snapshot {
			s := locked()
			s.Components[0].Production = runs("shop-web", Production, "shop-web-1")
			return s
		}(), Unchanged},
		{"a rollback would be possible", func() snapshot {
			s := locked()
			f := &s.Components[0]
			f.Locks[0].Commit = shaA
			f.Staging, f.Production = runs("shop-web", Staging, "shop-web-1"), runs("shop-web", Production, "shop-web-1")
			f.Production.Metadata.Annotations[AnnotationDisplaced] = "shop-web-0"
			return s
		}(), Unchanged},
		{"the component is gone", snapshot{}, ""},
	} {
		u := unlockingOf(c.s, locks, friday)
		assert.Equal(t, locks, u.Locks)
		if c.result != "" {
			require.Len(t, u.Moves, 1, c.name)
			assert.Equal(t, c.result, u.Moves[0].Result, c.name)
		}
		lines = append(lines, "# "+c.name, u.Sentence, "")
	}
	golden(t, "unlocking", lines)
}

func TestClearingALockMovesWhatAPromotionWithoutItMoves(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := drawFacts(t)
		s.Components = s.Components[:1]
		f := s.Components[0]
		for i := range f.Locks {
			f.Locks[i].ID = int64(i + 1)
		}
		if len(f.Locks) == 0 {
			return
		}
		u := unlockingOf(s, f.Locks[:1], friday)
		s.Components[0].Locks = f.Locks[1:]
		plan, err := planPromotion(s, request, friday)
		if errors.As(err, new(*Refusal)) {
			require.Contains(t, []string{Refused, Unchanged}, u.Moves[0].Result)
			return
		}
		require.NoError(t, err)
		require.Equal(t, plan.Moves[0].Outcome.Result, u.Moves[0].Result)
	})
}
