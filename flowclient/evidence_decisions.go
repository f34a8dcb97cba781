package flowclient

import (
	"encoding/json"
	"fmt"
	"slices"
)

// How much evidence shows of the decisions that it finds, the newest: each
// comes with its inputs and with what it wrote.
const (
	maxShown      = 100
	maxShownBytes = 4 << 20
)

// shown is the newest of what is ordered oldest first, within the bounds.
func shown[T any](all []T, size func(T) int) []T {
	bytes := 0
	for i := len(all) - 1; i >= 0; i-- {
		if bytes += size(all[i]); len(all)-i > maxShown || bytes > maxShownBytes && i < len(all)-1 {
			return all[i+1:]
		}
	}
	return all
}

// refusalKinds are the events of decisions against something: of a person's
// request, and of the automatic pass.
var refusalKinds = []string{EventPromoteRefuse, EventRollbackRefuse, EventAutoParked, EventAutoRefused, EventAutoLeftOut, EventAutoLeftAlone, EventAutoBroken}

func isMove(in Intent) bool { return in.Kind == kindPromote || in.Kind == kindRollback }

// about is a recorded move as far as it says what it is about: without the
// inputs and the objects written, which name much that it did not touch.
type aboutMove struct {
	Moves  []aMove `json:"moves"`
	Inputs *struct {
		Components []componentFacts `json:"components"`
	} `json:"inputs"`
	Rollback bool `json:"rollback"`
}

// move tells whether an intent to move something is about the subjects.
func (s subjects) move(in Intent) (bool, error) {
	var plan aboutMove
	if err := json.Unmarshal(in.Body, &plan); err != nil {
		return false, fmt.Errorf("plan of %s: %w", in.ID, err)
	}
	for _, m := range plan.Moves {
		o := m.Outcome
		if m.moves() && s.moves && slices.Contains(s.components, o.Component) {
			return true, nil
		}
		if s.mentions(o.FromCommit, o.ToCommit) {
			return true, nil
		}
	}
	return false, nil
}

// refusal tells whether an event of a refusal is about the subjects: about a
// release of one of the commits that was to move, or about a component whose moves count.
func (s subjects) refusal(e Event) (bool, error) {
	var body struct {
		Set      []string        `json:"set"` // of the automatic pass
		Decision json.RawMessage `json:"decision"`
	}
	var plan aboutMove
	err := json.Unmarshal(e.Body, &body)
	if err == nil && body.Decision != nil {
		err = json.Unmarshal(body.Decision, &plan)
	}
	if err != nil {
		return false, fmt.Errorf("event %s: %w", e.Key, err)
	}
	if plan.Inputs == nil {
		return s.mentions(e.Key), nil
	}
	for _, f := range plan.Inputs.Components {
		target := f.Staging.spec.ReleaseName
		if plan.Rollback {
			target = f.Production.annotation(AnnotationDisplaced)
		}
		if target == "" || body.Set != nil && !slices.Contains(body.Set, f.Name) || !plan.Rollback && f.unchanged() {
			continue
		}
		if s.moves && slices.Contains(s.components, f.Name) || s.mentions(f.Releases[target].Commit) {
			return true, nil
		}
	}
	return false, nil
}

// evident is an intent as evidence shows it: who asked and where, what each
// gate said, what was written, and whether the decision can be made again.
func evident(in Intent) (EvidentIntent, error) {
	e := EvidentIntent{ID: in.ID, Kind: in.Kind, Key: in.Key, Who: in.Who, At: in.At, Link: originOf(in).Link, Plan: in.Body, Outcome: in.Outcome}
	if in.Outcome != nil {
		var s settled
		if err := json.Unmarshal(in.Outcome, &s); err != nil {
			return e, fmt.Errorf("outcome of %s: %w", in.ID, err)
		}
		e.Writes = s.Writes
	}
	if !isMove(in) {
		return e, nil
	}
	var plan aboutMove
	if err := json.Unmarshal(in.Body, &plan); err != nil {
		return e, fmt.Errorf("plan of %s: %w", in.ID, err)
	}
	for _, m := range plan.Moves {
		for _, v := range m.Outcome.Gates {
			e.Gates = withVerdict(e.Gates, v)
		}
	}
	again, err := replayIntent(in)
	e.Replayed = again.told()
	return e, err
}

// evidentRefusal is the event of a refusal, shown likewise.
func evidentRefusal(e Event) (EvidentIntent, error) {
	var body struct {
		Origin   Origin          `json:"origin"`
		Refusal  *Refusal        `json:"refusal"`
		Gates    []Verdict       `json:"gates"`    // of the automatic pass
		Sentence string          `json:"sentence"` // likewise
		Decision json.RawMessage `json:"decision"`
	}
	if err := json.Unmarshal(e.Body, &body); err != nil {
		return EvidentIntent{}, fmt.Errorf("event %s: %w", e.Key, err)
	}
	refusal := body.Refusal
	if refusal == nil {
		refusal = &Refusal{Sentence: body.Sentence, Gates: body.Gates}
	}
	outcome, err := json.Marshal(settled{Refusal: refusal})
	if err != nil {
		return EvidentIntent{}, err
	}
	again, err := replayEvent(e)
	return EvidentIntent{ID: e.Key, Kind: e.Kind, Key: body.Origin.Key, Who: again.Who, At: e.At, Link: body.Origin.Link,
		Plan: body.Decision, Outcome: outcome, Gates: refusal.Gates, Replayed: again.told()}, err
}

// told is whether a decision came to the same again; nil when there was nothing to decide it from.
func (r Replayed) told() *bool {
	if r.Replayed == nil {
		return nil
	}
	return &r.Same
}

// withVerdict adds a verdict, once.
func withVerdict(all []Verdict, v Verdict) []Verdict {
	if slices.ContainsFunc(all, func(known Verdict) bool { return known.Gate == v.Gate && known.Component == v.Component }) {
		return all
	}
	return append(all, v)
}

// CameTo is what a decision came to, a sentence each: the refusal, what became
// of each component, or what a sync applied. None while it is under way, and for
// other intents that move nothing: their events tell.
func (e EvidentIntent) CameTo() (sentences []string) {
	var ended settled
	if json.Unmarshal(e.Outcome, &ended) != nil {
		return nil
	}
	if ended.Refusal != nil {
		sentences = append(sentences, ended.Refusal.Sentence)
	}
	if e.Kind == kindSync && ended.Result != nil {
		if t, err := tellSync(e.Plan, ended.Result); err == nil {
			return append(sentences, t.sentence)
		}
	}
	var out Outcome
	if json.Unmarshal(ended.Result, &out) != nil {
		return sentences
	}
	for _, c := range out.Components {
		sentences = append(sentences, c.Sentence)
	}
	return sentences
}
