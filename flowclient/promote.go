package flowclient

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
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

// movePlan is the body of a promote or rollback intent: what was decided and on
// which inputs, with the outcome that it has when nothing changes until it is
// carried out.
type movePlan struct {
	Project     string    `json:"project"`
	Component   string    `json:"component,omitempty"`
	Origin      Origin    `json:"origin"`
	Rollback    bool      `json:"rollback,omitempty"`
	Automatic   bool      `json:"automatic,omitempty"`
	Force       bool      `json:"force,omitempty"`
	SkipSoak    string    `json:"skipSoak,omitempty"`
	Walkthrough bool      `json:"walkthrough,omitempty"`
	Moves       []aMove   `json:"moves"`
	Note        string    `json:"note,omitempty"`
	At          time.Time `json:"at"`
	Inputs      *snapshot `json:"inputs,omitempty"` // nil in plans of before they were kept
	Undoes      *pastMove `json:"undoes,omitempty"` // of a rollback that takes back one move
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
	out := Outcome{Project: p.Project, Note: p.Note, Undoes: p.Undoes.undone(), Components: make([]ComponentOutcome, 0, len(p.Moves))}
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
	if err := c.checkPromotion(ctx, kind, r); err != nil {
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
			return nil, Outcome{}, true, c.refused(ctx, plan, refusal)
		}
		return plan, plan.outcome(), err == nil && !plan.records(), err
	})
}

// checkPromotion checks what a request says by itself.
func (c *Controller) checkPromotion(ctx context.Context, kind string, r Promotion) error {
	if err := check(r.Origin.check(), checkLabel("project", r.Project, maxLabel), checkOptional("component", r.Component),
		checkOptional("environment", r.Environment), checkText("skipSoak", r.SkipSoak, maxText)); err != nil {
		return err
	}
	switch {
	case r.Origin.Who == Automatic:
		return &Invalid{Field: "origin.who", Value: Automatic, Why: "is the automatic pass, which nobody else can be"}
	case r.SkipSoak != "" && strings.TrimSpace(r.SkipSoak) == "":
		return &Invalid{Field: "skipSoak", Value: r.SkipSoak, Why: "is the reason, which is recorded; say why"}
	case kind == kindRollback && (r.Force || r.SkipSoak != ""):
		return &Invalid{Field: "rollback", Value: "true", Why: "asks neither capacity nor soak; leave force and skipSoak out"}
	case r.SkipSoak != "" && !c.deps.Settings.AllowSkipSoak:
		return Refuse("skipping the soak is not allowed here; wait for it, or ask whoever runs the controller to allow skipSoak.")
	case r.Environment == "" || r.Environment == Production:
		return nil
	case r.Environment == Staging && kind == kindRollback:
		return Refuse("%s is the root of the pipeline and cannot be rolled back while autoDeploy holds it there: revert the commit and push.", Staging)
	case r.Environment == Staging:
		return Refuse("%s is the root of the pipeline: it takes what is built by itself; push a commit.", Staging)
	}
	if _, err := c.deps.ControlPlane.Get(ctx, KindEnvironment, r.Environment); err != nil {
		return err
	}
	return Refuse("the pipeline does not promote to %s; leave the environment out to promote to %s.", r.Environment, Production)
}

// decide reads the world and plans. What was asked comes back with a refusal too.
func (c *Controller) decide(ctx context.Context, kind string, r Promotion) (movePlan, error) {
	s, err := c.snapshot(ctx, r.Project, r.Component)
	if err != nil {
		return movePlan{}, err
	}
	if kind == kindRollback {
		err = c.compareBack(ctx, &s)
	} else if err = c.observe(ctx, &s, false); err == nil {
		err = c.compareForward(ctx, &s)
	}
	if err != nil {
		return movePlan{}, err
	}
	plan := newPlan(s, r, c.deps.Now())
	plan.Rollback = kind == kindRollback
	return plan.decided()
}

// refused notes a refusal of a person's request and returns it. What cannot be
// noted is not announced; the refusal is the answer all the same.
func (c *Controller) refused(ctx context.Context, asked movePlan, refusal *Refusal) error {
	if refusal.Gate == "" {
		return refusal
	}
	if err := c.noteRefusal(ctx, asked, refusal); err != nil {
		c.deps.Log.WarnContext(ctx, "a refusal is not announced", "key", asked.Origin.Key, "err", err)
	}
	return refusal
}

func (c *Controller) noteRefusal(ctx context.Context, asked movePlan, refusal *Refusal) error {
	kind, refused := kindPromote, EventPromoteRefuse
	if asked.Rollback {
		kind, refused = kindRollback, EventRollbackRefuse
	}
	decision, err := json.Marshal(asked)
	if err != nil {
		return err
	}
	e, err := event(kind+"/"+asked.Origin.Key+"/refused", refused,
		Event{At: asked.At, Project: asked.Project, Component: asked.Component, Walkthrough: asked.Walkthrough},
		MoveEvent{Origin: asked.Origin, Outcome: Outcome{Project: asked.Project, Components: []ComponentOutcome{}}, Refusal: refusal, Decision: decision})
	if err != nil {
		return err
	}
	if err := c.deps.Journal.Note(ctx, e); err != nil {
		return err
	}
	c.deps.Noted()
	return nil
}

// planPromotion decides a promotion that was asked for: pure.
func planPromotion(s snapshot, r Promotion, now time.Time) (movePlan, error) {
	plan := newPlan(s, r, now)
	candidates, err := s.candidates()
	if err != nil {
		return movePlan{}, err
	}
	j := judge(s.question(), candidates, promoting, r, now)
	if j.Refused != nil {
		return movePlan{}, &Refusal{Sentence: j.Refused.Sentence, Gate: j.Refused.Gate, Gates: j.All}
	}
	for _, f := range s.Components {
		plan.Moves = append(plan.Moves, f.promotion(j))
	}
	plan.Note = note(s, candidates, j, plan.Moves)
	return plan, nil
}

// candidates are the components that production does not run as staging does.
func (s snapshot) candidates() (all []candidate, err error) {
	for _, f := range s.Components {
		target := f.Staging.spec.ReleaseName
		if _, known := f.Releases[target]; target != "" && !known {
			return nil, Refuse("%s runs release %s of %s, which does not exist; push a commit to build another.", Staging, target, f.Name)
		}
		if target == "" || !f.unchanged() {
			all = append(all, s.candidate(f, target))
		}
	}
	return all, nil
}

// promotion is what becomes of one component, once its request is not refused.
func (f componentFacts) promotion(j judgement) aMove {
	target := f.Releases[f.Staging.spec.ReleaseName]
	from := f.Production.spec.ReleaseName
	o := ComponentOutcome{Component: f.Name, To: target.Name, ToCommit: target.Commit, URL: f.Production.url(), Gates: verdictsOf(j.All, f.Name)}
	stop, stopped := j.Stops[f.Name]
	switch {
	case stopped:
		o.Result, o.Sentence = Retry, stop.Sentence
	case f.unchanged():
		o.Result, o.Sentence = Unchanged, fmt.Sprintf("%s: %s runs %s already.", f.Name, Production, target.label())
	default:
		if from != target.Name {
			o.From, o.FromCommit = from, f.Releases[from].Commit
		}
		o.Result, o.Sentence = Promoted, movedSentence(o, f.undeployed())
	}
	return aMove{Outcome: o, Reactivate: o.Result == Promoted && f.undeployed()}
}

// note is what a person should know besides: what was lifted, a check that the
// application did not answer itself, and what moves besides the code.
func note(s snapshot, candidates []candidate, j judgement, moves []aMove) string {
	var sentences []string
	for _, v := range j.All {
		if v.Lifted != "" {
			sentences = append(sentences, fmt.Sprintf("Lifted by %s: %s", v.Lifted, v.Sentence))
		}
	}
	for _, c := range candidates {
		if c.Check == checkHTTP && c.Unbound {
			sentences = append(sentences, fmt.Sprintf("The URL check of %s was answered by the gateway, not by the application.", c.Component))
		}
	}
	if more := moreThanCode(s, moves); more != "" {
		sentences = append(sentences, more)
	}
	return strings.Join(sentences, " ")
}

// newPlan is what is asked of a snapshot at an instant, kept as JSON keeps it:
// without a zone's name and without the reading of a clock that only this
// process has, so that the decision can be made again from what was recorded.
func newPlan(s snapshot, r Promotion, now time.Time) movePlan {
	now = now.UTC().Round(0)
	return movePlan{Project: r.Project, Component: r.Component, Origin: r.Origin, Force: r.Force, SkipSoak: r.SkipSoak,
		Walkthrough: s.Walkthrough, At: now, Inputs: &s}
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
