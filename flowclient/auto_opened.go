package flowclient

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
)

// brokenPrint begins the fingerprint of an episode of an annotation that cannot
// be read. Its cause is the gate that reads it, so that an unreadable window
// is told apart by this alone from a closed one.
const brokenPrint = "unread:"

// opened tells that the window opened for what was parked by it, with what
// becomes of each component now: it moves, or something else keeps it. It is the
// end of an episode, and is named after that: each is told once, however often
// the same is decided. What production runs by now, or what is promoted by hand
// from now on, has nothing to be told of.
func (d *deciding) opened() {
	window := slices.IndexFunc(d.said, func(v Verdict) bool { return v.Gate == "window" })
	if window < 0 || !d.said[window].Pass {
		return
	}
	for _, e := range d.Episodes {
		if e.Cause != "window" || strings.HasPrefix(e.Fingerprint, brokenPrint) {
			continue
		}
		if told := d.tellOpened(e, d.said[window]); told != nil {
			d.plan.Opened = append(d.plan.Opened, *told)
		}
	}
}

// tellOpened is the event; nil when nothing of the set differs any more, and
// when it cannot be encoded: announcing never changes a decision.
func (d *deciding) tellOpened(e Episode, open Verdict) *Event {
	project := d.Project.Metadata.Name
	plan := newPlan(d.snapshot, Promotion{Project: project, Origin: Origin{Who: Automatic}}, d.now)
	plan.Automatic = true
	body := AutoEvent{Cause: e.Cause, Sentence: open.Sentence, Flips: open.Flips, Gates: []Verdict{open}}
	for _, name := range strings.Split(e.Subject, ",") {
		i := slices.IndexFunc(d.kept, func(k kept) bool { return k.Name == name })
		if i < 0 {
			continue
		}
		m := aMove{Outcome: d.kept[i].stays()}
		if j := slices.IndexFunc(d.plan.Move.Moves, func(m aMove) bool { return m.Outcome.Component == name }); j >= 0 {
			m = d.plan.Move.Moves[j]
			m.Outcome.Gates = nil // the promotion tells them
		}
		body.Set, body.Moves, plan.Moves = append(body.Set, name), append(body.Moves, m.Outcome), append(plan.Moves, m)
	}
	about := Event{At: d.now, Project: project, Walkthrough: d.Walkthrough}
	switch len(body.Set) {
	case 0:
		return nil
	case 1:
		about.Component = body.Set[0]
	}
	var err error
	if body.Decision, err = json.Marshal(plan); err != nil {
		return nil
	}
	told, err := event(fmt.Sprintf("auto/%s/%s/%s/%d/opened", project, e.Subject, e.Cause, e.Since.UnixNano()), EventAutoOpened, about, body)
	if err != nil {
		return nil
	}
	return &told
}
