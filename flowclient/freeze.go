package flowclient

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"
)

// Freezer freezes production: nothing is promoted or rolled back during a freeze.
type Freezer interface {
	// Freezes lists the freezes that hold or are to come, by when they begin.
	Freezes(ctx context.Context) ([]Freeze, error)
	// SetFreeze keeps production of a project, or of every one, as it is between two instants; *NotFound for
	// an unknown project, *Invalid for an end that is not after the beginning or more than 366 days ahead.
	SetFreeze(ctx context.Context, r FreezeRequest) (Freeze, error)
	// ClearFreeze ends the freeze of the request's ID, or calls it off, and returns it as it was; *NotFound
	// when none of that ID holds or is to come.
	ClearFreeze(ctx context.Context, r FreezeRequest) (Freeze, error)
}

// Freeze keeps production as it is between two instants, for one project or for all.
type Freeze struct {
	ID      int64     `json:"id"`
	Project string    `json:"project,omitempty"` // empty: every project
	From    time.Time `json:"from"`
	Until   time.Time `json:"until"` // the first instant that is free again
	Reason  string    `json:"reason"`
	Who     string    `json:"who"`
	At      time.Time `json:"at"` // when it was set
}

// FreezeRequest asks for a freeze, or (ID alone) for its end.
type FreezeRequest struct {
	Origin  Origin    `json:"origin"`
	ID      int64     `json:"id,omitempty"`
	Project string    `json:"project,omitempty"`
	From    time.Time `json:"from,omitzero"` // zero: now
	Until   time.Time `json:"until,omitzero"`
	Reason  string    `json:"reason,omitempty"`
}

// FreezeStore keeps freezes (port). Rows are never removed: a freeze that was
// cleared or has ended is history. A method returns after its commit.
type FreezeStore interface {
	// SetFreeze records a freeze under a key, with the event made of it as it is recorded. The same key
	// again, also after the freeze was cleared, changes nothing and returns what was recorded under it.
	SetFreeze(ctx context.Context, key string, f Freeze, event func(Freeze) Event) (recorded Freeze, fresh bool, err error)
	// FreezeSet is the freeze that was recorded under the key, cleared or not; found is false when there is none.
	FreezeSet(ctx context.Context, key string) (f Freeze, found bool, err error)
	// ClearFreeze clears a freeze that ends after at, with the event made of it. A key that cleared one
	// before clears nothing more and returns that one. found is false when there is nothing to clear.
	ClearFreeze(ctx context.Context, key string, id int64, who string, at time.Time, event func(Freeze) Event) (cleared Freeze, found bool, err error)
	// Freezes lists those that end after now and were not cleared, by From.
	Freezes(ctx context.Context, now time.Time) ([]Freeze, error)
}

// freezeAhead is how far ahead a freeze may end: what is kept for longer is a window.
const freezeAhead = 366 * 24 * time.Hour

// concerns tells whether the freeze is of the project.
func (f Freeze) concerns(project string) bool { return f.Project == "" || f.Project == project }

// Freezes lists the freezes that hold or are to come, by when they begin.
func (c *Controller) Freezes(ctx context.Context) ([]Freeze, error) {
	if c.deps.Freezes == nil {
		return []Freeze{}, nil
	}
	freezes, err := c.deps.Freezes.Freezes(ctx, c.deps.Now())
	if freezes == nil && err == nil {
		freezes = []Freeze{}
	}
	return freezes, err
}

// freezesOf lists the freezes that concern a project and end after now.
func (c *Controller) freezesOf(ctx context.Context, project string, now time.Time) (of []Freeze, err error) {
	if c.deps.Freezes == nil {
		return nil, nil
	}
	freezes, err := c.deps.Freezes.Freezes(ctx, now)
	for _, f := range freezes {
		if f.concerns(project) {
			of = append(of, f)
		}
	}
	return of, err
}

// SetFreeze freezes production of a project, or of every one, from an instant
// (now where none is given) until another. The same request heard again returns
// the freeze that it set the first time.
func (c *Controller) SetFreeze(ctx context.Context, r FreezeRequest) (Freeze, error) {
	if err := r.check(); err != nil {
		return Freeze{}, err
	}
	if c.deps.Freezes == nil {
		return Freeze{}, Refuse("This controller keeps no freezes; narrow the project's production window instead.")
	}
	key := "freeze/" + r.Origin.Key + "/set"
	// Asked first: what was in time when it was heard may have passed by now.
	if recorded, found, err := c.deps.Freezes.FreezeSet(ctx, key); err != nil || found {
		return r.answered(recorded, err)
	}
	f, err := r.freeze(c.deps.Now())
	if err != nil {
		return Freeze{}, err
	}
	if f.Project != "" {
		if _, err := c.deps.ControlPlane.Get(ctx, KindProject, f.Project); err != nil {
			return Freeze{}, err
		}
	}
	walkthrough, err := c.isWalkthrough(ctx, f.Project)
	if err != nil {
		return Freeze{}, err
	}
	told := &freezeEvents{key: key, kind: EventFreezeSet, who: f.Who, link: r.Origin.Link, trace: r.Origin.Trace, at: f.At, walkthrough: walkthrough}
	recorded, fresh, err := c.deps.Freezes.SetFreeze(ctx, key, f, told.of)
	if err = errors.Join(err, told.failed); fresh {
		c.frozen(f.Project)
	}
	return r.answered(recorded, err)
}

// ClearFreeze ends a freeze before its time, or calls it off before it begins.
func (c *Controller) ClearFreeze(ctx context.Context, r FreezeRequest) (Freeze, error) {
	if err := r.Origin.check(); err != nil {
		return Freeze{}, err
	}
	name := strconv.FormatInt(r.ID, 10)
	if r.ID <= 0 {
		return Freeze{}, &Invalid{Field: "id", Value: name, Why: "must be the number of a freeze"}
	}
	missing := &NotFound{Kind: "freeze", Name: name}
	if c.deps.Freezes == nil {
		return Freeze{}, missing
	}
	now := c.deps.Now()
	walkthrough, err := c.freezesWalkthrough(ctx, r.ID, now)
	if err != nil {
		return Freeze{}, err
	}
	told := &freezeEvents{key: "freeze/" + r.Origin.Key + "/cleared", kind: EventFreezeCleared, who: r.Origin.Who, link: r.Origin.Link, trace: r.Origin.Trace, at: now, walkthrough: walkthrough}
	cleared, found, err := c.deps.Freezes.ClearFreeze(ctx, told.key, r.ID, r.Origin.Who, now, told.of)
	switch err = errors.Join(err, told.failed); {
	case err != nil:
		return Freeze{}, err
	case !found:
		return Freeze{}, missing
	case cleared.ID != r.ID:
		return Freeze{}, reused(r.Origin)
	}
	c.frozen(cleared.Project)
	return cleared, nil
}

// freezeEvents makes the event of a freeze that a store has recorded.
type freezeEvents struct {
	key, kind, who, link, trace string
	at                          time.Time
	walkthrough                 bool
	failed                      error
}

func (t *freezeEvents) of(f Freeze) Event {
	e, err := event(t.key, t.kind, Event{At: t.at, Project: f.Project, Walkthrough: t.walkthrough}, FreezeEvent{Who: t.who, Link: t.link, Trace: t.trace, Freeze: f})
	t.failed = errors.Join(t.failed, err)
	return e
}

// freezesWalkthrough tells whether a freeze that has not ended is of a walkthrough's project.
func (c *Controller) freezesWalkthrough(ctx context.Context, id int64, now time.Time) (bool, error) {
	freezes, err := c.deps.Freezes.Freezes(ctx, now)
	if err != nil {
		return false, err
	}
	for _, f := range freezes {
		if f.ID == id {
			return c.isWalkthrough(ctx, f.Project)
		}
	}
	return false, nil
}

// frozen tells whoever waits that a project's calendar changed, "" for all of them.
func (c *Controller) frozen(project string) {
	c.recalls.Add(1)
	c.deps.Noted()
	c.Changed(KindProject, project)
}

// check checks the form of a request for a freeze; its instants are the business of freeze.
func (r FreezeRequest) check() error {
	err := check(r.Origin.check(), checkOptional("project", r.Project), required("reason", r.Reason, maxText))
	switch {
	case err != nil:
		return err
	case r.ID != 0:
		return &Invalid{Field: "id", Value: strconv.FormatInt(r.ID, 10), Why: "is given by the controller; leave it out"}
	case r.Until.IsZero():
		return &Invalid{Field: "until", Why: "is missing"}
	}
	return nil
}

// freeze is what is asked for at an instant.
func (r FreezeRequest) freeze(now time.Time) (Freeze, error) {
	now = now.UTC()
	f := Freeze{Project: r.Project, From: r.From.UTC(), Until: r.Until.UTC(), Reason: strings.TrimSpace(r.Reason), Who: r.Origin.Who, At: now}
	if r.From.IsZero() {
		f.From = now
	}
	until := &Invalid{Field: "until", Value: written(f.Until)}
	switch {
	case f.From.Before(now):
		return Freeze{}, &Invalid{Field: "from", Value: written(f.From), Why: "has passed; leave it out to freeze from now on"}
	case !f.Until.After(now):
		until.Why = "has passed"
	case !f.Until.After(f.From):
		until.Why = fmt.Sprintf("is not after the beginning, %s", written(f.From))
	case f.Until.Sub(now) > freezeAhead:
		until.Why = fmt.Sprintf("is more than %d days ahead", freezeAhead/(24*time.Hour))
	default:
		return f, nil
	}
	return Freeze{}, until
}

// answered is the answer to a request for which that was recorded: a key with
// another request is a mistake of the caller's.
func (r FreezeRequest) answered(recorded Freeze, err error) (Freeze, error) {
	if err != nil {
		return Freeze{}, err
	}
	if recorded.Project != r.Project || !recorded.Until.Equal(r.Until) || !r.From.IsZero() && !recorded.From.Equal(r.From) {
		return Freeze{}, reused(r.Origin)
	}
	return recorded, nil
}

// written is an instant as requests write it.
func written(at time.Time) string { return at.UTC().Format(time.RFC3339) }
