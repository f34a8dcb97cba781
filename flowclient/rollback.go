package flowclient

import (
	"context"
	"fmt"
	"time"
)

// Rollback repoints production to the release that the last promotion
// displaced, and consumes the record of it: a second rollback in a row is
// refused. Without a component every component that has such a record goes
// back. Only a lock on the release that production would return to refuses it.
func (c *Controller) Rollback(ctx context.Context, r Promotion) (Outcome, error) {
	return c.move(ctx, kindRollback, r)
}

// planRollback decides a rollback: pure.
func planRollback(s snapshot, r Promotion, now time.Time) (movePlan, error) {
	plan := newPlan(s, r, now)
	plan.Rollback = true
	var candidates []candidate
	for _, f := range s.Components {
		target := f.Production.annotation(AnnotationDisplaced)
		if target == "" || f.returned() {
			continue
		}
		if _, known := f.Releases[target]; !known {
			return movePlan{}, Refuse("%s displaced release %s of %s, which does not exist any more; promote another instead.", Production, target, f.Name)
		}
		candidates = append(candidates, s.candidate(f, target))
	}
	if len(candidates) == 0 {
		what := r.Project
		if r.Component != "" {
			what = r.Component
		}
		return movePlan{}, Refuse("nothing recorded: no promotion of %s has left a release behind that it could return to; promote one first.", what)
	}
	j := judge(s.question(), candidates, rollingBack, r, now)
	if j.Refused != nil {
		return movePlan{}, &Refusal{Sentence: j.Refused.Sentence, Gate: j.Refused.Gate, Gates: j.All}
	}
	for _, f := range s.Components {
		from := f.Production.spec.ReleaseName
		target, recorded := f.Releases[f.Production.annotation(AnnotationDisplaced)]
		o := ComponentOutcome{Component: f.Name, URL: f.Production.url(), Gates: verdictsOf(j.All, f.Name)}
		if recorded && !f.returned() {
			o.Result, o.To, o.ToCommit, o.From, o.FromCommit = RolledBack, target.Name, target.Commit, from, f.Releases[from].Commit
			o.Sentence = movedSentence(o, false)
			if f.undeployed() {
				o.Sentence += " It is out of service; promote to bring it back."
			}
		} else {
			o.Result, o.To, o.ToCommit = Unchanged, from, f.Releases[from].Commit
			o.Sentence = fmt.Sprintf("%s: nothing is recorded to return to.", f.Name)
			if recorded {
				o.Sentence = fmt.Sprintf("%s: %s runs what its last promotion displaced already.", f.Name, Production)
			}
		}
		plan.Moves = append(plan.Moves, aMove{Outcome: o})
	}
	plan.Note = codeOnly(s)
	return plan, nil
}

// returned tells whether production runs what its last promotion displaced:
// somebody put it back past the controller.
func (f componentFacts) returned() bool {
	return f.Production.spec.ReleaseName == f.Production.annotation(AnnotationDisplaced)
}
