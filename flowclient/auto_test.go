package flowclient

import (
	"encoding/json"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// drawPass draws what an automatic pass looks at: mostly of projects that it is for.
func drawPass(t *rapid.T) snapshot {
	s := drawFacts(t)
	if rapid.IntRange(0, 3).Draw(t, "automatic") > 0 {
		delete(s.Project.Metadata.Annotations, AnnotationPromotion)
	}
	return s
}

// stood is the snapshot as it is once a plan about it was remembered.
func (s snapshot) stood(p passPlan) snapshot {
	s.Components, s.Episodes = slices.Clone(s.Components), slices.Clone(p.Episodes)
	for i := range s.Episodes {
		s.Episodes[i].Event = nil
	}
	for _, b := range p.Backoffs {
		for i := range s.Components {
			if s.Components[i].Name == b.Component {
				s.Components[i].Backoff = &b.Until
			}
		}
	}
	return s
}

func bytesOf(t *rapid.T, p passPlan) string {
	raw, err := json.Marshal([]any{p.Move, p.Standing, p.Episodes, p.Opened, p.Backoffs, p.Wake, p.Asks})
	require.NoError(t, err)
	for _, e := range p.Episodes {
		if e.Event != nil {
			told, err := json.Marshal(e.Event)
			require.NoError(t, err)
			raw = append(raw, told...)
		}
	}
	return string(raw)
}

func TestAnAutomaticPassIsPure(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := drawPass(t)
		first := planPass(s, friday)
		require.Equal(t, bytesOf(t, first), bytesOf(t, planPass(s, friday)), "same snapshot and instant, same bytes")

		raw, err := json.Marshal(s)
		require.NoError(t, err)
		var read snapshot
		require.NoError(t, json.Unmarshal(raw, &read))
		require.Equal(t, bytesOf(t, first), bytesOf(t, planPass(read, friday)), "recorded and read again, the same bytes")

		mirrored := s
		mirrored.Components = slices.Clone(s.Components)
		slices.Reverse(mirrored.Components)
		other := planPass(mirrored, friday)
		require.Equal(t, first.Standing, other.Standing, "the order of components changes nothing")
		require.Equal(t, first.Wake, other.Wake)
		require.ElementsMatch(t, first.Backoffs, other.Backoffs)
		require.Len(t, other.Move.Moves, len(first.Move.Moves))
		for i := range first.Episodes {
			a, b := first.Episodes[i], other.Episodes[i]
			a.Event, b.Event = nil, nil // their inputs are in the order of the listing
			require.Equal(t, a, b)
		}
	})
}

func TestAnAutomaticPassKeepsItsInvariants(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := drawPass(t)
		p := planPass(s, friday)
		standing := map[string]ComponentStanding{}
		for _, c := range p.Standing {
			require.NotEmpty(t, c.Sentence)
			require.NotContains(t, standing, c.Component, "every component once")
			standing[c.Component] = c
		}
		differs := 0
		for _, f := range s.Components {
			if f.Staging.spec.ReleaseName != "" && !f.unchanged() {
				differs++
				require.Contains(t, standing, f.Name, "what differs stands somewhere")
			}
		}
		require.Len(t, standing, differs)
		require.True(t, len(p.Move.Moves) == 0 || len(p.Backoffs) == 0, "the set moves or it does not")
		if len(p.Move.Moves) == 0 {
			return
		}
		require.Equal(t, promotionAuto, s.promotion())
		require.True(t, windowOf(nil, "shop", s.annotation(AnnotationProductionWindow), s.Freezes, friday).Open)
		var set []candidate
		for _, m := range p.Move.Moves {
			i := slices.IndexFunc(s.Components, func(f componentFacts) bool { return f.Name == m.Outcome.Component })
			f := s.Components[i]
			require.Equal(t, Promoted, m.Outcome.Result)
			require.Equal(t, f.Staging.spec.ReleaseName, m.Outcome.To, "the pinned release is the one evaluated")
			require.False(t, m.Reactivate, "nothing is put back into service")
			ready, _, _ := f.Staging.ready()
			require.True(t, ready)
			soak := s.DefaultSoak
			if text := s.annotation(AnnotationSoak); text != "" {
				var err error
				soak, err = time.ParseDuration(text)
				require.NoError(t, err, "a soak that cannot be read fails closed")
			}
			require.True(t, soak == 0 || friday.Sub(f.Since) >= soak)
			require.True(t, f.Hold == nil || f.Hold.Release != m.Outcome.To, "what is held is not pinned again")
			require.True(t, f.Backoff == nil || !friday.Before(*f.Backoff), "capacity is not asked within the backoff")
			for _, l := range f.Locks {
				require.False(t, l.Commit == m.Outcome.ToCommit && l.Environment != Staging, "no pin of a locked release")
			}
			set = append(set, s.candidate(f, m.Outcome.To))
		}
		require.True(t, capacityGate(s.question().about(set...), friday).Pass)
		_, err := planPromotion(s.only(set), request, friday)
		require.NoError(t, err, "what moves by itself, a person could have moved")
	})
}

// only is the snapshot of the components of a set.
func (s snapshot) only(set []candidate) snapshot {
	s.Components = slices.DeleteFunc(slices.Clone(s.Components), func(f componentFacts) bool {
		return !slices.ContainsFunc(set, func(c candidate) bool { return c.Component == f.Name })
	})
	return s
}

func TestNothingMovesOrIsToldBeforeItWakes(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := drawPass(t)
		now := friday
		for range 12 {
			p := planPass(s, now)
			if len(p.Move.Moves) > 0 {
				return
			}
			s = s.stood(p)
			ahead := 400 * time.Hour
			if p.Wake != nil {
				require.True(t, p.Wake.After(now))
				ahead = p.Wake.Sub(now)
			}
			between := now.Add(time.Duration(rapid.Int64Range(0, int64(ahead)-1).Draw(t, "meanwhile")))
			q := planPass(s, between)
			require.Empty(t, q.Move.Moves, "at %s, though it wakes at %v only", between, p.Wake)
			require.Empty(t, q.Backoffs, "at least %s between attempts", capacityBackoff)
			for _, e := range q.Episodes {
				require.Nil(t, e.Event, "time alone tells nothing anew: %s %s", e.Subject, e.Cause)
			}
			if p.Wake == nil {
				return
			}
			now = *p.Wake
		}
	})
}

func TestALockOrAHoldNeverMovesMore(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := drawPass(t)
		moved := func(p passPlan) (names []string) {
			for _, m := range p.Move.Moves {
				names = append(names, m.Outcome.Component)
			}
			return names
		}
		s.Cell = nil // a lock may well make room for the rest of the set
		s.Components = slices.Clone(s.Components)
		for i := range s.Components {
			s.Components[i].Backoff = nil // nor does the rest wait for it then
		}
		before := moved(planPass(s, friday))
		f := &s.Components[rapid.IntRange(0, len(s.Components)-1).Draw(t, "component")]
		if rapid.Bool().Draw(t, "lock") {
			f.Locks = append(slices.Clone(f.Locks), Lock{Component: f.Name, Commit: rapid.SampledFrom([]string{shaA, shaB}).Draw(t, "sha"), Who: "sre"})
		} else {
			f.Hold = &Hold{Component: f.Name, Release: f.Staging.spec.ReleaseName, Who: "sre", At: friday}
		}
		require.Subset(t, before, moved(planPass(s, friday)))
	})
}
