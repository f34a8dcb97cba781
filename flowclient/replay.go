package flowclient

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"
)

// Replayed is a decision, and the one that the rules of this program make of
// the inputs that were recorded with it, at its instant.
type Replayed struct {
	ID       string          `json:"id"`   // of the intent, or the key of the event of a refusal
	Kind     string          `json:"kind"` // promote, rollback, or the kind of the event
	Project  string          `json:"project"`
	Who      string          `json:"who"`
	At       time.Time       `json:"at"`
	Recorded json.RawMessage `json:"recorded"`           // the plan, or the refusal
	Replayed json.RawMessage `json:"replayed,omitempty"` // likewise; absent when the inputs were not kept
	Same     bool            `json:"same"`               // both are the same bytes
	Sentence string          `json:"sentence"`
}

// Replay decides again what was decided before, from the inputs recorded with
// it: id is that of a promote or rollback intent, the key of the event that
// tells of a refusal, or a Ref of the audit trail. *NotFound for everything
// that no rule decided.
func (c *Controller) Replay(ctx context.Context, id string) (Replayed, error) {
	if err := required("id", id, maxDecision); err != nil {
		return Replayed{}, err
	}
	if c.deps.History == nil {
		return Replayed{}, noHistory()
	}
	in, err := c.deps.History.Intent(ctx, strings.TrimPrefix(id, "intent/"))
	if err == nil {
		return replayIntent(in)
	}
	if !IsNotFound(err) {
		return Replayed{}, err
	}
	e, err := c.deps.History.Event(ctx, strings.TrimPrefix(id, "event/"))
	if IsNotFound(err) {
		return Replayed{}, noDecision(id)
	}
	if err != nil {
		return Replayed{}, err
	}
	return replayEvent(e)
}

// maxDecision is the length of a decision's id in bytes: an event's key holds an origin's.
const maxDecision = 2 * maxKey

func noDecision(id string) *NotFound { return &NotFound{Kind: "decision", Name: clip(id)} }

// replayIntent decides a move's plan again.
func replayIntent(in Intent) (Replayed, error) {
	if in.Kind != kindPromote && in.Kind != kindRollback {
		return Replayed{}, noDecision(in.ID)
	}
	var plan movePlan
	if err := json.Unmarshal(in.Body, &plan); err != nil {
		return Replayed{}, fmt.Errorf("plan of %s: %w", in.ID, err)
	}
	r := Replayed{ID: in.ID, Kind: in.Kind, Project: plan.Project, Who: in.Who, At: in.At, Recorded: in.Body}
	return r.of(plan)
}

// replayEvent decides a refused request again, or what the automatic pass left
// where it was.
func replayEvent(e Event) (Replayed, error) {
	switch e.Kind {
	case EventPromoteRefuse, EventRollbackRefuse:
		return replayRefusal(e)
	case EventAutoParked, EventAutoOpened, EventAutoRefused, EventAutoLeftOut, EventAutoLeftAlone, EventAutoBroken:
		return replayEpisode(e)
	}
	return Replayed{}, noDecision(e.Key)
}

func replayRefusal(e Event) (Replayed, error) {
	var body MoveEvent
	if err := json.Unmarshal(e.Body, &body); err != nil {
		return Replayed{}, fmt.Errorf("event %s: %w", e.Key, err)
	}
	recorded, err := json.Marshal(body.Refusal)
	if err != nil {
		return Replayed{}, err
	}
	var plan movePlan
	if body.Decision != nil {
		if err := json.Unmarshal(body.Decision, &plan); err != nil {
			return Replayed{}, fmt.Errorf("decision of %s: %w", e.Key, err)
		}
	}
	r := Replayed{ID: e.Key, Kind: e.Kind, Project: e.Project, Who: body.Origin.Who, At: e.At, Recorded: recorded}
	return r.of(plan)
}

// replayEpisode decides again what a set was left where it is for: the whole
// body of its event is what was decided.
func replayEpisode(e Event) (Replayed, error) {
	var body AutoEvent
	var plan movePlan
	err := json.Unmarshal(e.Body, &body)
	if err == nil {
		err = json.Unmarshal(body.Decision, &plan)
	}
	if err != nil {
		return Replayed{}, fmt.Errorf("event %s: %w", e.Key, err)
	}
	r := Replayed{ID: e.Key, Kind: e.Kind, Project: e.Project, Who: Automatic, At: e.At, Recorded: e.Body}
	if plan.Inputs == nil {
		return r.unkept(), nil
	}
	again := planPass(*plan.Inputs, plan.At)
	for _, episode := range again.Episodes {
		if episode.Event != nil && episode.Event.Key == e.Key {
			r.Replayed = episode.Event.Body
		}
	}
	for _, opened := range again.Opened {
		if opened.Key == e.Key {
			r.Replayed = opened.Body
		}
	}
	return r.compared(), nil
}

// of decides a plan again: it comes to a plan or to a refusal.
func (r Replayed) of(plan movePlan) (Replayed, error) {
	if plan.Inputs == nil {
		return r.unkept(), nil
	}
	again, err := plan.decided()
	var refusal *Refusal
	switch {
	case errors.As(err, &refusal):
		r.Replayed, err = json.Marshal(refusal)
	case err == nil:
		r.Replayed, err = json.Marshal(again)
	}
	if err != nil {
		return Replayed{}, fmt.Errorf("decide %s again: %w", r.ID, err)
	}
	return r.compared(), nil
}

// unkept is a decision without inputs.
func (r Replayed) unkept() Replayed {
	r.Sentence = "This was decided before the inputs of decisions were kept: it cannot be decided again."
	return r
}

func (r Replayed) compared() Replayed {
	if r.Same = bytes.Equal(r.Recorded, r.Replayed); r.Same {
		r.Sentence = "Decided again from the same inputs, it comes to the same, byte for byte."
	} else {
		r.Sentence = "Decided again from the same inputs, it comes to something else: the rules of this program are not those that decided it."
	}
	return r
}

// decided makes the decision that a plan asks for, of its inputs at its
// instant and of nothing else: pure. It is what decides, and what decides again
// (Replay). With a refusal the plan comes back as it was asked.
func (p movePlan) decided() (movePlan, error) {
	r := Promotion{Origin: p.Origin, Project: p.Project, Component: p.Component, Force: p.Force, SkipSoak: p.SkipSoak}
	var plan movePlan
	var err error
	switch {
	case p.Automatic:
		plan = planPass(*p.Inputs, p.At).Move
	case p.Undoes != nil:
		plan, err = planUndo(*p.Inputs, *p.Undoes, r, p.At)
	case p.Rollback:
		plan, err = planRollback(*p.Inputs, r, p.At)
	default:
		plan, err = planPromotion(*p.Inputs, r, p.At)
	}
	if err != nil {
		return p, err
	}
	return plan, nil
}
