package flowclient

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"
)

// Unlocking is what clearing a lock would do now, or did.
type Unlocking struct {
	Locks []Lock `json:"locks"` // that are cleared, or would be
	// Moves is what a promotion of the component alone would come to without
	// them; its Result may also be Refused. Empty when there is no such component any more.
	Moves []ComponentOutcome `json:"moves"`
	// Sentence says it for people: what would move, when, and whether by itself.
	Sentence string `json:"sentence"`
}

// Unlocking tells what ClearLock with the same request would clear and what
// could move then, and writes nothing; *NotFound when no such lock holds. The
// request needs no origin.
func (c *Controller) Unlocking(ctx context.Context, r LockRequest) (Unlocking, error) {
	if err := r.checkNames(); err != nil {
		return Unlocking{}, err
	}
	sha, err := c.lockedCommit(ctx, r)
	if err != nil {
		return Unlocking{}, err
	}
	locks, err := c.deps.Locks.Locks(ctx)
	if err != nil {
		return Unlocking{}, err
	}
	locks = slices.DeleteFunc(slices.Clone(locks), func(l Lock) bool {
		return l.Component != r.Component || l.Commit != sha || r.Environment != "" && l.Environment != r.Environment
	})
	if len(locks) == 0 {
		return Unlocking{}, noLock(r, sha)
	}
	project, _, err := c.ownerOf(ctx, r.Component)
	if err != nil {
		return Unlocking{}, err
	}
	var s snapshot
	if project != "" {
		s, err = c.snapshot(ctx, project, r.Component)
		var none *Refusal
		if IsNotFound(err) || errors.As(err, &none) {
			s, err = snapshot{}, nil // of a review environment, or being removed
		}
		if err == nil && len(s.Components) > 0 {
			err = c.observe(ctx, &s, false)
		}
		if err != nil {
			return Unlocking{}, err
		}
	}
	return unlockingOf(s, locks, c.deps.Now().UTC()), nil
}

// noLock says that nothing is there to be cleared.
func noLock(r LockRequest, sha string) *NotFound {
	return &NotFound{Kind: "lock", Name: strings.TrimSpace(fmt.Sprintf("%s %s %s", r.Component, ShortSHA(sha), r.Environment))}
}

// unlockingOf tells what clearing locks of one component does: pure. s is that
// component's, or empty.
func unlockingOf(s snapshot, locks []Lock, now time.Time) Unlocking {
	u := Unlocking{Locks: locks, Moves: []ComponentOutcome{}}
	it := "it"
	if len(locks) > 1 {
		it = "them"
	}
	if len(s.Components) == 0 {
		u.Sentence = fmt.Sprintf("Clearing %s moves nothing: %s is no component of the pipeline any more.", it, locks[0].Component)
		return u
	}
	with := s.Components[0]
	without := with
	without.Locks = slices.DeleteFunc(slices.Clone(with.Locks), func(l Lock) bool {
		return slices.ContainsFunc(locks, func(cleared Lock) bool { return cleared.ID == l.ID })
	})
	holds := func(f componentFacts, target string) bool {
		return target != "" && !lockGate(question{}.about(s.candidate(f, target)), now).Pass
	}
	frees := func(target string) bool { return holds(with, target) && !holds(without, target) }

	s.Components = []componentFacts{without}
	w := whyOf(s, now).Components[0]
	u.Moves = append(u.Moves, ComponentOutcome{Component: w.Component, Result: w.Result, Sentence: w.Sentence,
		From: w.From, To: w.To, FromCommit: w.FromCommit, ToCommit: w.ToCommit, URL: with.Production.url(), Gates: w.Gates})
	target, back := with.Staging.spec.ReleaseName, with.Production.annotation(AnnotationDisplaced)
	to := release{Name: w.To, Commit: w.ToCommit}.label()
	switch {
	case w.Result == Unchanged:
		u.Sentence = fmt.Sprintf("Clearing %s moves nothing forward: %s of %s runs what %s runs.", it, Production, w.Component, Staging)
	case target == "" || !holds(with, target):
		u.Sentence = fmt.Sprintf("Clearing %s moves nothing forward: what %s runs of %s is not held by %s.", it, Staging, w.Component, it)
	case holds(without, target):
		u.Sentence = fmt.Sprintf("Clearing %s moves nothing: %s", it, w.Sentence)
	case w.Result == Promoted:
		u.Sentence = fmt.Sprintf("Without %s, a promotion would move %s to %s now. %s", it, w.Component, to, byItself(w, s.promotion()))
	case w.Earliest != nil:
		x := explained{q: s.question(), now: now}
		u.Sentence = fmt.Sprintf("Without %s, %s could move to %s %s if nothing else changes. %s", it, w.Component, to, x.from(*w.Earliest), byItself(w, s.promotion()))
	default:
		u.Sentence = fmt.Sprintf("Without %s, %s still does not move to %s: %s %s", it, w.Component, to, w.Sentence, byItself(w, s.promotion()))
	}
	if r, known := with.Releases[back]; known && frees(back) {
		u.Sentence += fmt.Sprintf(" A rollback to %s would be possible again.", r.label())
	}
	return u
}

// byItself tells what the automatic pass does with a component.
func byItself(w WhyComponent, promotion string) string {
	return cmp.Or(w.Automatic, fmt.Sprintf("It does not move by itself: the promotion of its project is %s.", promotion))
}

// OldLocks are the locks that have held for at least an age, oldest first: what
// somebody ought to look at.
func OldLocks(locks []Lock, now time.Time, age time.Duration) []Lock {
	old := []Lock{}
	for _, l := range locks {
		if now.Sub(l.At) >= age {
			old = append(old, l)
		}
	}
	slices.SortStableFunc(old, func(a, b Lock) int { return a.At.Compare(b.At) })
	return old
}
