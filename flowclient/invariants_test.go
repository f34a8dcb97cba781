package flowclient

import (
	"errors"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

func TestAddingALockOrANeedNeverTurnsARefusalIntoAPass(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s, r := drawFacts(t), request
		r.Force = rapid.Bool().Draw(t, "force")
		_, err := planPromotion(s, r, friday)
		var before, after *Refusal
		if !errors.As(err, &before) || before.Gate == "" {
			t.Skip("nothing is refused")
		}
		f := &s.Components[rapid.IntRange(0, len(s.Components)-1).Draw(t, "component")]
		if rapid.Bool().Draw(t, "lock") {
			target := f.Releases[f.Staging.spec.ReleaseName]
			f.Locks = append(f.Locks, Lock{ID: 99, Component: f.Name, Commit: target.Commit, Reason: "breaks", Who: "sre", At: friday})
		} else {
			f.Need.Each = Quantities{Memory: f.Need.Each[Memory] + int64(rapid.IntRange(1, 2000).Draw(t, "more"))}
		}
		_, err = planPromotion(s, r, friday)
		require.ErrorAs(t, err, &after, "it was refused by %s before", before.Gate)
		require.NotEmpty(t, after.Gate)
	})
}
