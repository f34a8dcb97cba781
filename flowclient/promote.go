package flowclient

import (
	"context"
	"fmt"
	"time"
)

// Promote moves what staging runs to production: a project's components, or
// one. A *Refusal is for the whole request and nothing was written; components
// that a gate makes wait are told as Retry beside those that moved. A known
// origin key returns the outcome recorded for it. DryRun returns the outcome
// that the request would have now, and writes nothing.
func (c *Controller) Promote(ctx context.Context, r Promotion) (Outcome, error) {
	return c.move(ctx, kindPromote, r)
}

// movePlan is the body of a promote or rollback intent: what was decided, with
// the outcome that it has when nothing changes until it is carried out.
type movePlan struct {
	Project     string    `json:"project"`
	Component   string    `json:"component,omitempty"`
	Origin      Origin    `json:"origin"`
	Rollback    bool      `json:"rollback,omitempty"`
	Walkthrough bool      `json:"walkthrough,omitempty"`
	Moves       []aMove   `json:"moves"`
	Note        string    `json:"note,omitempty"`
	At          time.Time `json:"at"`
}

// aMove is one requested component; those that move have the result Promoted or RolledBack.
type aMove struct {
	Outcome    ComponentOutcome `json:"outcome"`
	Reactivate bool             `json:"reactivate,omitempty"` // production was out of service
}

// moves tells whether the component is to be pinned.
func (m aMove) moves() bool { return m.Outcome.Result == Promoted || m.Outcome.Result == RolledBack }

// outcome is the plan's outcome when nothing changes.
func (p movePlan) outcome() Outcome {
	out := Outcome{Project: p.Project, Note: p.Note, Components: make([]ComponentOutcome, 0, len(p.Moves))}
	for _, m := range p.Moves {
		out.Components = append(out.Components, m.Outcome)
	}
	return out
}

// records tells whether the plan is an effect to remember: it moves something,
// or it found everything done. A request that only has to wait may be repeated.
func (p movePlan) records() bool {
	for _, m := range p.Moves {
		if m.moves() {
			return true
		}
	}
	return p.outcome().Complete()
}

// move is what promote and rollback share: checks, decision, record, writes.
func (c *Controller) move(ctx context.Context, kind string, r Promotion) (Outcome, error) {
	if err := check(r.Origin.check(), checkLabel("project", r.Project, maxLabel), checkOptional("component", r.Component)); err != nil {
		return Outcome{}, err
	}
	if r.DryRun {
		plan, err := c.decide(ctx, kind, r)
		return plan.outcome(), err
	}
	asked := r
	asked.Origin = Origin{}
	return perform(ctx, c, kind, projectSubject(r.Project), r.Origin, asked, func(ctx context.Context) (any, Outcome, bool, error) {
		plan, err := c.decide(ctx, kind, r)
		if refusal, ok := err.(*Refusal); ok { //nolint:errorlint // a decision is never wrapped
			return nil, Outcome{}, true, c.refused(ctx, kind, r, refusal)
		}
		return plan, plan.outcome(), err == nil && !plan.records(), err
	})
}

// decide reads the world and plans.
func (c *Controller) decide(ctx context.Context, kind string, r Promotion) (movePlan, error) {
	s, err := c.snapshot(ctx, r.Project, r.Component)
	if err != nil {
		return movePlan{}, err
	}
	if kind == kindRollback {
		return planRollback(s, r, c.deps.Now())
	}
	if err := c.observe(ctx, &s); err != nil {
		return movePlan{}, err
	}
	return planPromotion(s, r, c.deps.Now())
}

// refused notes a refusal of a person's request and returns it. What cannot be
// noted is not announced; the refusal is the answer all the same.
func (c *Controller) refused(ctx context.Context, kind string, r Promotion, refusal *Refusal) error {
	if refusal.Gate == "" || kind != kindPromote {
		return refusal
	}
	if err := c.noteRefusal(ctx, r, refusal); err != nil {
		c.deps.Log.WarnContext(ctx, "a refusal is not announced", "key", r.Origin.Key, "err", err)
	}
	return refusal
}

func (c *Controller) noteRefusal(ctx context.Context, r Promotion, refusal *Refusal) error {
	walkthrough, err := c.isWalkthrough(ctx, r.Project)
	if err != nil {
		return err
	}
	e, err := event("promote/"+r.Origin.Key+"/refused", EventPromoteRefuse,
		Event{At: c.deps.Now(), Project: r.Project, Component: r.Component, Walkthrough: walkthrough},
		MoveEvent{Origin: r.Origin, Outcome: Outcome{Project: r.Project, Components: []ComponentOutcome{}}, Refusal: refusal})
	if err != nil {
		return err
	}
	if err := c.deps.Journal.Note(ctx, e); err != nil {
		return err
	}
	c.deps.Noted()
	return nil
}

// planPromotion decides a promotion: pure.
func planPromotion(s snapshot, r Promotion, now time.Time) (movePlan, error) {
	plan := newPlan(s, r, now)
	var candidates []candidate
	for _, f := range s.Components {
		target := f.Staging.spec.ReleaseName
		if _, known := f.Releases[target]; target != "" && !known {
			return movePlan{}, Refuse("%s runs release %s of %s, which does not exist; push a commit to build another.", Staging, target, f.Name)
		}
		if target == "" || !f.unchanged() {
			candidates = append(candidates, s.candidate(f, target))
		}
	}
	all, refused, waiting := verdicts(candidates, false, now)
	if refused != nil {
		return movePlan{}, &Refusal{Sentence: refused.Sentence, Gate: refused.Gate, Gates: all}
	}
	for _, f := range s.Components {
		target := f.Releases[f.Staging.spec.ReleaseName]
		from := f.Production.spec.ReleaseName
		o := ComponentOutcome{Component: f.Name, To: target.Name, ToCommit: target.Commit, URL: f.Production.url(), Gates: verdictsOf(all, f.Name)}
		wait, waits := waiting[f.Name]
		switch {
		case waits:
			o.Result, o.Sentence = Retry, wait.Sentence
		case f.unchanged():
			o.Result, o.Sentence = Unchanged, fmt.Sprintf("%s: %s runs %s already.", f.Name, Production, target.label())
		default:
			if from != target.Name {
				o.From, o.FromCommit = from, f.Releases[from].Commit
			}
			o.Result, o.Sentence = Promoted, movedSentence(o, f.undeployed())
		}
		plan.Moves = append(plan.Moves, aMove{Outcome: o, Reactivate: o.Result == Promoted && f.undeployed()})
	}
	for _, c := range candidates {
		if c.Check == checkHTTP && c.Unbound {
			plan.Note = fmt.Sprintf("The URL check of %s was answered by the gateway, not by the application.", c.Component)
		}
	}
	return plan, nil
}

func newPlan(s snapshot, r Promotion, now time.Time) movePlan {
	return movePlan{Project: r.Project, Component: r.Component, Origin: r.Origin, Walkthrough: s.Walkthrough, At: now}
}

// verdictsOf are the verdicts about one component and those about the request.
func verdictsOf(all []Verdict, component string) (own []Verdict) {
	for _, v := range all {
		if v.Component == component || v.Component == "" {
			own = append(own, v)
		}
	}
	return own
}

// movedSentence tells what a pin did.
func movedSentence(o ComponentOutcome, reactivated bool) string {
	to := release{Name: o.To, Commit: o.ToCommit}.label()
	before := "it ran nothing before"
	if o.From != "" {
		before = "it ran " + release{Name: o.From, Commit: o.FromCommit}.label() + " before"
	}
	verb := "runs"
	if o.Result == RolledBack {
		verb = "is back at"
	}
	switch {
	case reactivated && o.From == "":
		return fmt.Sprintf("%s: %s was out of service and runs %s again.", o.Component, Production, to)
	case reactivated:
		return fmt.Sprintf("%s: %s %s %s now; %s, and was out of service.", o.Component, Production, verb, to, before)
	}
	return fmt.Sprintf("%s: %s %s %s now; %s.", o.Component, Production, verb, to, before)
}
