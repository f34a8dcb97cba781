package flowclient

import (
	"cmp"
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"time"

	"platform.dev/platform/flowclient/window"
)

// Dora measures the period from (included) to to (not included) by the events
// of one project: pure. Their order does not matter, other kinds are passed
// over, and those from before the period tell which changes were delivered
// already. An event that cannot be read counts for nothing. Project and Soak
// are left to the caller.
func Dora(events []Event, from, to time.Time) DoraReport {
	j := readJournal(events)
	in := func(at time.Time) bool { return !at.Before(from) && at.Before(to) }
	r := DoraReport{From: from, To: to}

	lead, unmeasured := j.leadTimes(in)
	r.LeadTime, r.Unmeasured = spread(lead), unmeasured
	for _, m := range j.moves {
		switch {
		case !in(m.at):
		case m.back:
			r.Rollbacks++
		default:
			r.Promotions++
		}
	}
	restored := j.restored(in)
	r.Failed, r.Restore = len(restored), spread(restored)
	if to.After(from) {
		r.PerDay = float64(r.Promotions) / to.Sub(from).Hours() * 24
	}
	if r.Promotions > 0 {
		rate := float64(r.Failed) / float64(r.Promotions)
		r.FailureRate = &rate
	}
	r.Merges, r.MergesPerHour = j.merges(in)
	r.Measures = r.measures()
	return r
}

// doraJournal is what the measures look at.
type doraJournal struct {
	built map[string][]commitBuilt // by component, oldest first; each commit once, at its first build
	first map[string]time.Time     // by component and commit, as of builtKey
	moves []doraMove               // oldest first
}

type commitBuilt struct {
	commit string
	at     time.Time
}

// doraMove is a promotion, or (back) a rollback, with the components that it moved.
type doraMove struct {
	at    time.Time
	back  bool
	parts []ComponentOutcome
}

func builtKey(component, commit string) string { return component + "\n" + commit }

// readJournal reads events in the order in which they happened.
func readJournal(events []Event) doraJournal {
	events = slices.Clone(events)
	slices.SortStableFunc(events, func(a, b Event) int { return cmp.Or(a.At.Compare(b.At), cmp.Compare(a.Seq, b.Seq)) })
	j := doraJournal{built: map[string][]commitBuilt{}, first: map[string]time.Time{}}
	for _, e := range events {
		switch e.Kind {
		case EventBuildStarted, EventBuildPassed, EventBuildFailed:
			var body struct {
				Build struct{ Component, Commit string }
			}
			if json.Unmarshal(e.Body, &body) != nil || body.Build.Commit == "" {
				continue
			}
			b := body.Build
			if _, known := j.first[builtKey(b.Component, b.Commit)]; !known {
				j.first[builtKey(b.Component, b.Commit)] = e.At
				j.built[b.Component] = append(j.built[b.Component], commitBuilt{commit: b.Commit, at: e.At})
			}
		case EventPromoted, EventRolledBack:
			var body MoveEvent
			if json.Unmarshal(e.Body, &body) != nil {
				continue
			}
			m := doraMove{at: e.At, back: e.Kind == EventRolledBack}
			for _, o := range body.Outcome.Components {
				if o.Result == Promoted && !m.back || o.Result == RolledBack && m.back {
					m.parts = append(m.parts, o)
				}
			}
			if len(m.parts) > 0 {
				j.moves = append(j.moves, m)
			}
		}
	}
	return j
}

// leadTimes are those of the changes that promotions within the period were
// the first to carry. A promotion carries the commit that it moves and every
// commit of the component that was built before it and not yet carried: a
// release holds all of them, and it is those which waited longest.
func (j doraJournal) leadTimes(in func(time.Time) bool) (lead []time.Duration, unmeasured int) {
	next := map[string]int{} // into built: what is before it was carried
	unknown := map[string]bool{}
	for _, m := range j.moves {
		if m.back {
			continue
		}
		for _, p := range m.parts {
			until, known := j.first[builtKey(p.Component, p.ToCommit)]
			if !known {
				if key := builtKey(p.Component, p.ToCommit); !unknown[key] && in(m.at) {
					unmeasured++
				}
				unknown[builtKey(p.Component, p.ToCommit)] = true
				continue
			}
			for _, b := range j.built[p.Component][next[p.Component]:] {
				if b.at.After(until) {
					break
				}
				next[p.Component]++
				if in(m.at) {
					lead = append(lead, max(m.at.Sub(b.at), 0))
				}
			}
		}
	}
	return lead, unmeasured
}

// restored is, for each promotion of the period that failed, how long its
// components took to be restored, the last of them: until the rollback, or
// until the component's next promotion where that came first. A promotion
// failed when a component of it was rolled back, within the period, to what it
// had displaced.
func (j doraJournal) restored(in func(time.Time) bool) (after []time.Duration) {
	failed := map[int]time.Duration{} // by the promotion's index
	for r, back := range j.moves {
		if !back.back || !in(back.at) {
			continue
		}
		for _, p := range back.parts {
			i := j.undone(r, p)
			if i < 0 || !in(j.moves[i].at) {
				continue
			}
			until := back.at
			if next, ok := j.nextPromotion(i, p.Component); ok && next.Before(until) {
				until = next
			}
			failed[i] = max(failed[i], until.Sub(j.moves[i].at))
		}
	}
	for _, d := range failed {
		after = append(after, d)
	}
	return after
}

// undone is the index of the promotion that a rollback's part takes back: the
// last one before it of the same component with the same two releases; -1 when
// there is none.
func (j doraJournal) undone(rollback int, p ComponentOutcome) int {
	for i := rollback - 1; i >= 0; i-- {
		if j.moves[i].back {
			continue
		}
		for _, o := range j.moves[i].parts {
			if o.Component == p.Component && o.From != "" && o.From == p.To && o.To == p.From {
				return i
			}
		}
	}
	return -1
}

// nextPromotion is when a component was promoted next after a move.
func (j doraJournal) nextPromotion(i int, component string) (at time.Time, ok bool) {
	for _, m := range j.moves[i+1:] {
		if !m.back && slices.ContainsFunc(m.parts, func(o ComponentOutcome) bool { return o.Component == component }) {
			return m.at, true
		}
	}
	return time.Time{}, false
}

// merges counts the commits that were built for the first time in the period,
// and how many there were in an hour by the clock in which there was one.
func (j doraJournal) merges(in func(time.Time) bool) (count int, perHour float64) {
	at := map[string]time.Time{}
	for _, built := range j.built {
		for _, b := range built {
			if known, ok := at[b.commit]; !ok || b.at.Before(known) {
				at[b.commit] = b.at
			}
		}
	}
	hours := map[time.Time]bool{}
	for _, first := range at {
		if in(first) {
			count++
			hours[first.UTC().Truncate(time.Hour)] = true
		}
	}
	if count > 0 {
		perHour = float64(count) / float64(len(hours))
	}
	return count, perHour
}

// spread is the median and the ninetieth percentile by nearest rank.
func spread(all []time.Duration) Spread {
	if len(all) == 0 {
		return Spread{}
	}
	slices.Sort(all)
	rank := func(percent int) int64 { return int64(all[(percent*len(all)+99)/100-1].Seconds()) }
	return Spread{Count: len(all), MedianSeconds: rank(50), P90Seconds: rank(90)}
}

// Starvation is how many promotions an hour survive a soak when perHour merges
// an hour reach staging: about L*exp(-L*s). A release survives when no other
// arrives within its soak; merges that arrive independently leave such a gap
// with the chance exp(-L*s). Six an hour against 30 min leave 0.3.
func Starvation(perHour float64, soak time.Duration) float64 {
	if perHour <= 0 {
		return 0
	}
	return perHour * math.Exp(-perHour*max(soak, 0).Hours())
}

// starvationNote says that a project merges more often than its soak lets
// through, "" while it does not: past one merge per soak every further merge
// means fewer promotions.
func starvationNote(project string, perHour float64, soak time.Duration) string {
	if perHour*soak.Hours() <= 1 {
		return ""
	}
	return fmt.Sprintf("About %s merges an hour into %s meet a soak of %s: each begins the soak anew, and %s promotions an hour get through. Merge in larger batches, or shorten the soak.",
		decimal(perHour), project, window.Span(soak), about(Starvation(perHour, soak)))
}

// decimal writes a small number for people: one digit behind the point, two below 0.1.
func decimal(n float64) string {
	if n > 0 && n < 0.095 {
		return fmt.Sprintf("%.2f", n)
	}
	return fmt.Sprintf("%.1f", n)
}

// about writes an estimate for people.
func about(n float64) string {
	if n < 0.005 {
		return "fewer than 0.01"
	}
	return "about " + decimal(n)
}
