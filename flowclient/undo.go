package flowclient

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"
)

// UndoRequest asks to take back the newest promotion of a project that was
// asked for through the same door: the part of the origin key before its colon
// ("zulip" of "zulip:31").
type UndoRequest struct {
	Origin  Origin `json:"origin"`
	Project string `json:"project"`
	DryRun  bool   `json:"dryRun,omitempty"`
	// Intent is the promotion that is to be taken back, as Outcome.Undoes of a dry run names it, and no other; empty: whichever is the newest.
	Intent string `json:"intent,omitempty"`
}

// Undone is a promotion that an undo takes back.
type Undone struct {
	Intent string    `json:"intent"` // its id, by which evidence of the decision is found
	Who    string    `json:"who"`
	At     time.Time `json:"at"`             // when it was decided
	Link   string    `json:"link,omitempty"` // the message that asked for it
}

// Undo rolls back exactly what the newest move of a project promoted, in every
// component that it moved, as a rollback does it: locks and window bind. It is
// a *Refusal, which says what is different, unless that move is a promotion
// through the door of the request that displaced something, and production is
// still as it left it. A known origin key returns the outcome recorded for it.
// DryRun returns the outcome that the request would have now, and writes nothing.
func (c *Controller) Undo(ctx context.Context, r UndoRequest) (Outcome, error) {
	if err := check(r.Origin.check(), checkLabel("project", r.Project, maxLabel), checkText("intent", r.Intent, maxKey)); err != nil {
		return Outcome{}, err
	}
	if r.Origin.Who == Automatic {
		return Outcome{}, &Invalid{Field: "origin.who", Value: Automatic, Why: "is the automatic pass, which nobody else can be"}
	}
	if c.deps.History == nil {
		return Outcome{}, Refuse("this controller was given no history to find the newest promotion in; roll back by hand.")
	}
	if r.DryRun {
		plan, err := c.decideUndo(ctx, r)
		return plan.outcome(), err
	}
	asked := []any{"undo", r.Project}
	if r.Intent != "" {
		asked = append(asked, r.Intent)
	}
	return perform(ctx, c, kindRollback, projectSubject(r.Project), r.Origin, asked, func(ctx context.Context) (any, Outcome, bool, error) {
		plan, err := c.decideUndo(ctx, r)
		if refusal, ok := err.(*Refusal); ok { //nolint:errorlint // a decision is never wrapped
			return nil, Outcome{}, true, c.refused(ctx, plan, refusal)
		}
		return plan, plan.outcome(), false, err
	})
}

func (c *Controller) decideUndo(ctx context.Context, r UndoRequest) (movePlan, error) {
	s, err := c.snapshot(ctx, r.Project, "")
	if err != nil {
		return movePlan{}, err
	}
	past, err := c.lastMove(ctx, r.Project)
	if err != nil {
		return movePlan{}, err
	}
	if r.Intent != "" && past.Intent != "" && r.Intent != past.Intent {
		return movePlan{}, Refuse("the newest change of %s, by %s on %s, is not the one that was to be taken back; nothing was undone. Look, and ask again.", r.Project, past.Who, past.when())
	}
	s.Components = slices.DeleteFunc(s.Components, func(f componentFacts) bool { return !past.moved(f.Name) })
	if err := c.compareBack(ctx, &s); err != nil {
		return movePlan{}, err
	}
	plan := newPlan(s, Promotion{Origin: r.Origin, Project: r.Project}, c.deps.Now())
	plan.Rollback, plan.Undoes = true, &past
	return plan.decided()
}

// pastMove is a move that was carried out, as the journal has it.
type pastMove struct {
	Intent   string             `json:"intent,omitempty"` // id; "" when there was no move
	Key      string             `json:"key,omitempty"`    // origin key
	Who      string             `json:"who,omitempty"`
	Link     string             `json:"link,omitempty"` // the message that asked for it
	At       time.Time          `json:"at,omitzero"`    // when it was decided
	Rollback bool               `json:"rollback,omitempty"`
	Moved    []ComponentOutcome `json:"moved,omitempty"` // without gates
}

// undone is the move as an outcome tells of it; nil where there is none.
func (p *pastMove) undone() *Undone {
	if p == nil || p.Intent == "" {
		return nil
	}
	return &Undone{Intent: p.Intent, Who: p.Who, At: p.At, Link: p.Link}
}

// when is the instant of the move, for people.
func (p pastMove) when() string { return p.At.UTC().Format("Mon 2 Jan 15:04 MST") }

func (p pastMove) moved(component string) bool {
	return slices.ContainsFunc(p.Moved, func(o ComponentOutcome) bool { return o.Component == component })
}

// What lastMove looks through: a page at a time, since requests that found
// everything done are recorded too.
const (
	movesPage  = 50
	movesPages = 20
)

// lastMove is the newest move of a project that changed something, read newest
// first by the journal's index; one without an id when there is none.
func (c *Controller) lastMove(ctx context.Context, project string) (pastMove, error) {
	q := RecordQuery{Intents: []string{kindPromote, kindRollback}, Project: project, Limit: movesPage, Without: []string{"$.inputs", "$.moves"}}
	for range movesPages {
		records, err := c.deps.History.Records(ctx, q)
		if err != nil {
			return pastMove{}, err
		}
		for _, r := range records {
			if past, err := pastMoveOf(*r.Intent); err != nil || len(past.Moved) > 0 {
				return past, err
			}
		}
		if len(records) < movesPage {
			break
		}
		q.Before = records[len(records)-1].Mark()
	}
	return pastMove{}, nil
}

// pastMoveOf is what an intent moved: nothing while it is open, or ended otherwise.
func pastMoveOf(in Intent) (pastMove, error) {
	p := pastMove{Intent: in.ID, Key: in.Key, Who: in.Who, Link: originOf(in).Link, At: in.At.UTC(), Rollback: in.Kind == kindRollback}
	if in.Outcome == nil {
		return p, nil
	}
	var s settled
	err := json.Unmarshal(in.Outcome, &s)
	var out Outcome
	if err == nil && s.Result != nil {
		err = json.Unmarshal(s.Result, &out)
	}
	if err != nil {
		return p, fmt.Errorf("outcome of %s: %w", in.ID, err)
	}
	for _, o := range out.Components {
		if o.Result == Promoted || o.Result == RolledBack {
			o.Gates = nil
			p.Moved = append(p.Moved, o)
		}
	}
	return p, nil
}

// The doors of keys without a colon: the controller's own, which begin with
// what made them, and those that programs choose for themselves.
const (
	doorAuto = "auto" // the automatic pass
	doorPull = "pull" // the label on a pull request
	doorAPI  = "api"
)

// door is where a request came in: the part of its origin key before the colon.
func door(key string) string {
	for _, own := range []string{doorAuto, doorPull} {
		if strings.HasPrefix(key, own+"/") {
			return own
		}
	}
	if before, _, ok := strings.Cut(key, ":"); ok {
		return clip(before)
	}
	return doorAPI
}

// planUndo decides to take back a move: pure. s has the components that the
// move moved, as far as they are there.
func planUndo(s snapshot, past pastMove, r Promotion, now time.Time) (movePlan, error) {
	if against := past.against(s, door(r.Origin.Key)); against != "" {
		return movePlan{}, Refuse("%s", against)
	}
	plan, err := planRollback(s, r, now)
	plan.Undoes = &past
	return plan, err
}

// against says in a sentence what keeps a move from being taken back through a
// door, "" when nothing does but the gates.
func (p pastMove) against(s snapshot, through string) string {
	const end = "nothing was undone. Roll back by hand."
	name, at := s.Project.Metadata.Name, p.when()
	switch from := door(p.Key); {
	case p.Intent == "":
		return fmt.Sprintf("nothing of %s was moved in %s yet; there is nothing to undo. Promote it first.", name, Production)
	case p.Rollback:
		was := "was"
		if len(p.Moved) > 1 {
			was = "were"
		}
		return fmt.Sprintf("%s %s rolled back by %s on %s, which is the newest change; nothing was undone. Promote to go forward again.", listOf(p.components()), was, p.Who, at)
	case from != through:
		return fmt.Sprintf("the newest promotion of %s, of %s on %s, was %s, and not asked for through %s; %s", name, listOf(p.components()), at, p.made(from), through, end)
	}
	for _, o := range p.Moved {
		if o.From == "" {
			return fmt.Sprintf("the promotion of %s by %s displaced nothing of %s, so that there is nothing to return to; nothing was undone. Take it out of service in %s, or promote another commit.", at, p.Who, o.Component, Production)
		}
		i := slices.IndexFunc(s.Components, func(f componentFacts) bool { return f.Name == o.Component })
		if i < 0 {
			return fmt.Sprintf("%s, which was moved by %s on %s, is no component of %s any more; %s", o.Component, p.Who, at, name, end)
		}
		if changed := o.changed(s.Components[i], p.Intent); changed != "" {
			return changed + "; " + end
		}
	}
	return ""
}

// made tells how a promotion came about.
func (p pastMove) made(door string) string {
	switch door {
	case doorAuto:
		return "made by the automatic pass"
	case doorPull:
		return "asked for by " + p.Who
	}
	return "asked for through " + door + " by " + p.Who
}

func (p pastMove) components() (names []string) {
	for _, o := range p.Moved {
		names = append(names, o.Component)
	}
	return names
}

// changed says how production differs from what a move left there, and who
// changed it, as far as the binding tells.
func (o ComponentOutcome) changed(f componentFacts, intent string) string {
	b := f.Production
	who := "by hand"
	if by := b.annotation(AnnotationIntent); by != intent && b.annotation(AnnotationPromotedBy) != "" {
		who = "by " + b.annotation(AnnotationPromotedBy)
	}
	label := func(name string) string {
		if r, known := f.Releases[name]; known {
			return r.label()
		}
		return name
	}
	switch now := b.spec.ReleaseName; {
	case now == "":
		return fmt.Sprintf("%s runs nothing in %s any more; it was taken away %s", o.Component, Production, who)
	case now != o.To:
		return fmt.Sprintf("%s runs %s in %s now and not %s; it was changed %s", o.Component, label(now), Production, release{Name: o.To, Commit: o.ToCommit}.label(), who)
	}
	if displaced := b.annotation(AnnotationDisplaced); displaced != o.From {
		record := "is gone"
		if displaced != "" {
			record = "names " + label(displaced)
		}
		return fmt.Sprintf("the record of what %s displaced in %s was changed %s: it %s, not %s", o.Component, Production, who, record, release{Name: o.From, Commit: o.FromCommit}.label())
	}
	return ""
}
