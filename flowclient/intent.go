package flowclient

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
)

// The kinds of intents.
const (
	kindPromote  = "promote"
	kindRollback = "rollback"
	kindScaffold = "scaffold"
	kindTeardown = "teardown"
	kindCommit   = "commit"
	kindOpenPull = "pull"
	kindMerge    = "merge"
	kindSync     = "sync"
)

// finisher carries out what is left of an intent, reading from the objects how
// far it came, and returns its result with the events to record. A *Refusal,
// *Invalid or *NotFound is an answer and ends the intent; any other error
// leaves it open for the next pass.
type finisher func(ctx context.Context, in Intent) (result any, events []Event, err error)

// settled is what Intent.Outcome holds.
type settled struct {
	Result  json.RawMessage `json:"result,omitempty"`
	Refusal *Refusal        `json:"refusal,omitempty"` // when it ended in a refusal after it had begun
	Invalid *Invalid        `json:"invalid,omitempty"` // when what was asked for turned out to be bad input
	Writes  []Written       `json:"writes,omitempty"`  // of a move or a sync: each object before and after
}

// settling is a finisher's result that says more than its answer.
type settling interface {
	// settle gives the answer and adds to what is recorded.
	settle(s *settled, to *Settlement) (answer any)
}

// perform carries one write request through the write protocol: a known
// origin key returns what was recorded, or finishes what was begun; else decide
// makes the plan, which is recorded before the first write. decide may answer
// by itself (answered true): then nothing is recorded. asked is the request
// without its origin: a key that was used for another one is bad input.
func perform[T any](ctx context.Context, c *Controller, kind, subject string, origin Origin, asked any, decide func(ctx context.Context) (plan any, answer T, answered bool, err error)) (T, error) {
	var none T
	unlock, err := c.subjects.lock(ctx, subject)
	if err != nil {
		return none, err
	}
	defer unlock()
	asks, err := fingerprint(kind, asked)
	if err != nil {
		return none, err
	}
	in, known, err := c.deps.Journal.Find(ctx, origin.Key)
	if err != nil {
		return none, err
	}
	if known && in.Asked != "" && in.Asked != asks {
		return none, reused(origin)
	}
	if in.Outcome == nil { // new, or begun before a crash: older effects on the subject go first
		if err := c.resolve(ctx, subject); err != nil {
			return none, err
		}
	}
	if !known {
		plan, answer, answered, err := decide(ctx)
		if err != nil || answered {
			return answer, err
		}
		body, err := json.Marshal(plan)
		if err != nil {
			return none, fmt.Errorf("%s: plan: %w", kind, err)
		}
		in, _, err = c.deps.Journal.Begin(ctx, Intent{Key: origin.Key, Kind: kind, Asked: asks, Who: origin.Who, At: c.deps.Now(), Body: body})
		if err != nil {
			return none, err
		}
	}
	if in.Kind != kind || in.Asked != "" && in.Asked != asks { // begun at the same time, about another subject
		return none, reused(origin)
	}
	if known && in.Outcome == nil {
		// resolve has just finished it.
		if in, _, err = c.deps.Journal.Find(ctx, origin.Key); err != nil {
			return none, err
		}
	}
	if in.Outcome == nil {
		if in.Outcome, err = c.finish(ctx, in); err != nil {
			c.wakeUp() // the next pass goes on where this stopped
			return none, err
		}
	}
	return resultOf[T](in)
}

// reused refuses a key that stands for another request already: to answer with
// that one's outcome would say that something was done which was not.
func reused(o Origin) *Invalid {
	return &Invalid{Field: "origin.key", Value: clip(o.Key), Why: "was used before, for another request; send a new key with a new request"}
}

// fingerprint tells requests apart; the same request has the same one in every process.
func fingerprint(kind string, asked any) (string, error) {
	text, err := json.Marshal(asked)
	if err != nil {
		return "", fmt.Errorf("%s: %w", kind, err)
	}
	sum := sha256.Sum256(append([]byte(kind+"\n"), text...))
	return hex.EncodeToString(sum[:12]), nil
}

// resultOf reads the answer out of a settled intent.
func resultOf[T any](in Intent) (result T, err error) {
	var s settled
	if err := json.Unmarshal(in.Outcome, &s); err != nil {
		return result, fmt.Errorf("outcome of %s: %w", in.ID, err)
	}
	switch {
	case s.Refusal != nil:
		return result, s.Refusal
	case s.Invalid != nil:
		return result, s.Invalid
	}
	if err := json.Unmarshal(s.Result, &result); err != nil {
		return result, fmt.Errorf("outcome of %s: %w", in.ID, err)
	}
	return result, nil
}

// finish carries out what is left of an open intent and settles it.
func (c *Controller) finish(ctx context.Context, in Intent) (json.RawMessage, error) {
	finish, ok := c.finishers[in.Kind]
	if !ok {
		return nil, fmt.Errorf("intent %s: nothing here carries out a %q", in.ID, in.Kind)
	}
	result, events, err := finish(ctx, in)
	var s settled
	settlement := Settlement{At: c.deps.Now(), Events: events}
	if more, ok := result.(settling); ok && err == nil {
		result = more.settle(&s, &settlement)
	}
	if err := s.of(result, err); err != nil {
		return nil, fmt.Errorf("%s %s: %w", in.Kind, in.Key, err)
	}
	if settlement.Outcome, err = json.Marshal(s); err != nil {
		return nil, fmt.Errorf("outcome of %s: %w", in.ID, err)
	}
	// What was done is recorded, whoever stopped waiting for it.
	if err := c.deps.Journal.Settle(context.WithoutCancel(ctx), in.ID, settlement); err != nil {
		return nil, err
	}
	if len(settlement.Hold) > 0 {
		c.recalls.Add(1)
	}
	if len(events) > 0 {
		c.deps.Noted()
	}
	if project, ok := strings.CutPrefix(subjectOf(in), projectSubject("")); ok {
		c.Changed(KindProject, project) // holds and backoffs changed with it
	}
	return settlement.Outcome, nil
}

// of takes a finisher's result; its error comes back when the intent may still succeed.
func (s *settled) of(result any, err error) error {
	var missing *NotFound
	switch {
	case errors.As(err, &s.Refusal), errors.As(err, &s.Invalid):
	case errors.As(err, &missing):
		s.Refusal = Refuse("this could not be finished: %v any more. Look at what is there and ask again.", missing)
	case err != nil:
		return err
	default:
		s.Result, err = json.Marshal(result)
		return err
	}
	return nil
}

// resolve finishes the open intents of a subject whose turn the caller holds,
// oldest first.
func (c *Controller) resolve(ctx context.Context, subject string) error {
	open, err := c.deps.Journal.Open(ctx)
	if err != nil {
		return err
	}
	for _, in := range open {
		if subjectOf(in) != subject {
			continue
		}
		if _, err := c.finish(ctx, in); err != nil {
			return err
		}
	}
	return nil
}

// resolveAll finishes every open intent that no request is at work on; one
// that cannot be finished yet does not hold up the others.
func (c *Controller) resolveAll(ctx context.Context) error {
	open, err := c.deps.Journal.Open(ctx)
	if err != nil {
		return err
	}
	var failed []error
	seen := map[string]bool{}
	for _, in := range open {
		subject := subjectOf(in)
		if seen[subject] {
			continue
		}
		seen[subject] = true
		unlock, free := c.subjects.tryLock(subject)
		if !free {
			continue // whoever has the turn finishes it first, or a later pass does
		}
		failed = append(failed, c.resolve(ctx, subject)) // reads the open ones again: a request may have finished them
		unlock()
	}
	return errors.Join(failed...)
}

// subjectOf is what an intent's effect is serialised by.
func subjectOf(in Intent) string {
	var body struct {
		Project string `json:"project"`
		Repo    string `json:"repo"`
	}
	err := json.Unmarshal(in.Body, &body)
	switch {
	case err == nil && in.Kind == kindSync:
		return syncSubject(body.Repo)
	case err != nil || body.Project == "":
		return in.Kind
	}
	switch in.Kind {
	case kindCommit, kindOpenPull, kindMerge:
		return commitSubject(body.Project)
	}
	return projectSubject(body.Project)
}

// syncSubject serialises the manifests of one repository.
func syncSubject(repo string) string { return "sync/" + repo }

// commitSubject serialises pushes to one project's repository. They wait for
// the git server alone, and no promotion waits for them.
func commitSubject(project string) string { return "commit/" + project }

// projectSubject serialises what changes one project.
func projectSubject(project string) string { return "project/" + project }

// event makes an event with its body.
func event(key, kind string, e Event, body any) (Event, error) {
	raw, err := json.Marshal(body)
	if err != nil {
		return Event{}, fmt.Errorf("event %s: %w", key, err)
	}
	e.Key, e.Kind, e.Body = key, kind, raw
	return e, nil
}
