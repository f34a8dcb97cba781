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
		if target == "" {
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
	all, refused, _ := verdicts(candidates, true, now)
	if refused != nil {
		return movePlan{}, &Refusal{Sentence: refused.Sentence, Gate: refused.Gate, Gates: all}
	}
	for _, f := range s.Components {
		from := f.Production.spec.ReleaseName
		target, recorded := f.Releases[f.Production.annotation(AnnotationDisplaced)]
		o := ComponentOutcome{Component: f.Name, URL: f.Production.url(), Gates: verdictsOf(all, f.Name)}
		if recorded {
			o.Result, o.To, o.ToCommit, o.From, o.FromCommit = RolledBack, target.Name, target.Commit, from, f.Releases[from].Commit
			o.Sentence = movedSentence(o, false)
			if f.undeployed() {
				o.Sentence += " It is out of service; promote to bring it back."
			}
		} else {
			o.Result, o.To, o.ToCommit = Unchanged, from, f.Releases[from].Commit
			o.Sentence = fmt.Sprintf("%s: nothing is recorded to return to.", f.Name)
		}
		plan.Moves = append(plan.Moves, aMove{Outcome: o})
	}
	if s.Resources > 0 {
		plan.Note = "A rollback moves code only: schema changes and resources stay as they are."
	}
	return plan, nil
}
