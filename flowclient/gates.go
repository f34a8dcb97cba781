package flowclient

import (
	"slices"
	"time"
)

// A gate is one rule that a move to production must pass. The rules are facts
// about a question and an instant: same question and instant, same verdict.
type gate struct {
	name      string
	whole     bool   // asked once about everything that would move, not about each component
	automatic effect // what a failing gate means for the automatic pass
	promote   effect // ... for a promotion that a person or a label asked for
	rollback  effect // ... for a rollback
	lift      lift   // what a person may ask for, so that a move passes all the same
	verdict   func(q question, now time.Time) Verdict
}

// effect is what a failing gate means.
type effect string

const (
	refuses   effect = "refused"    // 409: the whole request is refused and nothing is written
	retries   effect = "retry"      // 207: the component is left where it is and may be asked for again
	leavesOut effect = "left out"   // the component stays where it is, which is said once; the others go on
	waits     effect = "waiting"    // the component stays until this passes by itself
	parks     effect = "parked"     // the set waits for the gate, as the last thing that it waits for
	backsOff  effect = "backed off" // the set is refused, said once, and asked about again after capacityBackoff
	notAsked  effect = "-"
)

// lift is what lets a move pass a gate all the same: of a manual promotion alone, and recorded.
type lift string

const (
	nothing  lift = ""
	force    lift = "force"
	skipSoak lift = "skipSoak"
)

// gates is the whole policy, in the order in which refusals are named.
var gates = []gate{
	// name       whole  automatic  promote   rollback  lifted by  the rule
	{"lock", false, leavesOut, refuses, refuses, nothing, lockGate},
	{"window", true, parks, refuses, refuses, nothing, windowGate},
	{"capacity", true, backsOff, refuses, notAsked, force, capacityGate},
	{"hold", false, leavesOut, notAsked, notAsked, nothing, holdGate},
	{"service", false, leavesOut, notAsked, notAsked, nothing, serviceGate},
	{"ready", false, waits, retries, notAsked, nothing, readyGate},
	{"soak", false, waits, retries, notAsked, skipSoak, soakGate},
	{"check", false, leavesOut, retries, notAsked, skipSoak, checkGate},
	{"backoff", true, waits, notAsked, notAsked, nothing, backoffGate},
}

// way is who asks: a column of the table.
type way func(g gate) effect

func automatically(g gate) effect { return g.automatic }
func promoting(g gate) effect     { return g.promote }
func rollingBack(g gate) effect   { return g.rollback }

// stop is a failing gate with what it means.
type stop struct {
	Verdict
	Effect effect
}

// judgement is what all gates said.
type judgement struct {
	All      []Verdict       // in the order of the table
	Refused  *Verdict        // the first that refuses the whole request
	Stops    map[string]stop // by component: the first gate that keeps it where it is
	Eligible []candidate     // those that no gate of their own keeps
	Whole    []stop          // failing gates about everything that would move
}

// judge asks every gate that the way asks: those of each component first, and
// then those of the whole, which look at what is left. Nothing to move asks nothing.
func judge(q question, candidates []candidate, by way, r Promotion, now time.Time) judgement {
	j := judgement{Stops: map[string]stop{}}
	said := make([][]Verdict, len(gates))
	for i, g := range gates {
		means := by(g)
		if g.whole || means == notAsked {
			continue
		}
		for _, c := range candidates {
			v := g.ask(q.about(c), r, now)
			v.Component = c.Component
			said[i] = append(said[i], v)
			if _, known := j.Stops[c.Component]; !v.passes() && !known {
				j.Stops[c.Component] = stop{v, means}
			}
		}
	}
	for _, c := range candidates {
		if _, stopped := j.Stops[c.Component]; !stopped {
			j.Eligible = append(j.Eligible, c)
		}
	}
	for i, g := range gates {
		means := by(g)
		if !g.whole || means == notAsked || len(candidates) == 0 {
			continue
		}
		v := g.ask(q.about(j.Eligible...), r, now)
		said[i] = append(said[i], v)
		if !v.passes() {
			j.Whole = append(j.Whole, stop{v, means})
		}
	}
	j.All = slices.Concat(said...)
	for _, v := range j.All {
		if i := slices.IndexFunc(gates, func(g gate) bool { return g.name == v.Gate }); !v.passes() && by(gates[i]) == refuses {
			j.Refused = &v
			break
		}
	}
	return j
}

// ask is the gate's verdict, with what lifted it.
func (g gate) ask(q question, r Promotion, now time.Time) Verdict {
	v := g.verdict(q, now)
	v.Gate = g.name
	if !v.Pass {
		v.Lifted = r.lifts(g.lift)
	}
	return v
}

// passes tells whether the gate lets the move pass, by itself or lifted.
func (v Verdict) passes() bool { return v.Pass || v.Lifted != "" }

// lifts says what the request has that lifts such a gate, "" for nothing.
func (r Promotion) lifts(l lift) string {
	switch {
	case l == force && r.Force:
		return string(force)
	case l == skipSoak && r.SkipSoak != "":
		return string(skipSoak) + ": " + r.SkipSoak
	}
	return ""
}
