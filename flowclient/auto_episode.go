package flowclient

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
)

// episodes are the stretches in which something stays for one cause. One that
// lasts already keeps its begin, so that it is told once.
func (d *deciding) episodes() {
	var order []string
	groups := map[string][]kept{}
	for _, k := range d.kept {
		if !k.lasts {
			continue
		}
		key := k.Gate
		if !k.whole {
			key += "/" + k.Name
		}
		if groups[key] == nil {
			order = append(order, key)
		}
		groups[key] = append(groups[key], k)
	}
	for _, key := range order {
		d.plan.Episodes = append(d.plan.Episodes, d.episode(groups[key]))
	}
	d.resting()
	slices.SortFunc(d.plan.Episodes, func(a, b Episode) int {
		return cmp.Or(strings.Compare(a.Subject, b.Subject), strings.Compare(a.Cause, b.Cause))
	})
}

// resting goes on with the episode of a refusal for as long as capacity is not
// asked again: what is not asked has not ended. When that is over it is looked
// at again, whatever else keeps its components by then.
func (d *deciding) resting() {
	for _, e := range d.Episodes {
		rests := slices.IndexFunc(d.kept, func(k kept) bool {
			return k.Backoff != nil && d.now.Before(*k.Backoff) && slices.Contains(strings.Split(e.Subject, ","), k.Name)
		})
		known := slices.ContainsFunc(d.plan.Episodes, func(other Episode) bool { return other.Cause == e.Cause && other.Subject == e.Subject })
		if e.Cause == "capacity" && rests >= 0 && !known && d.promotion() != promotionManual {
			d.plan.Episodes = append(d.plan.Episodes, e)
			d.wakeAt(d.kept[rests].Backoff)
		}
	}
}

// episode is one of a set that a gate keeps, with what announces its begin.
func (d *deciding) episode(set []kept) Episode {
	set = slices.SortedFunc(slices.Values(set), func(a, b kept) int { return strings.Compare(a.Name, b.Name) })
	first := set[0]
	names := make([]string, len(set))
	for i, k := range set {
		names[i] = k.Name
	}
	e := Episode{Project: d.Project.Metadata.Name, Subject: strings.Join(names, ","), Cause: first.Gate, Fingerprint: d.fingerprint(set), Since: d.now}
	for _, known := range d.Episodes {
		if known.Subject == e.Subject && known.Cause == e.Cause && known.Fingerprint == e.Fingerprint {
			e.Since = known.Since
			return e
		}
	}
	if first.event != "" {
		e.Event = d.announce(e, names, set)
	}
	return e
}

// fingerprint is what an episode is told again for: another set or release, or
// other numbers. What changes by itself with time is not part of it.
func (d *deciding) fingerprint(set []kept) string {
	var releases []string
	for _, k := range set {
		releases = append(releases, k.Name+"@"+k.Staging.spec.ReleaseName)
	}
	var numbers any = set[0].Numbers
	switch gate := set[0].Gate; {
	case set[0].standing == StandBroken:
		numbers = d.unread[gate]
	case gate == "window":
		// Until when it is closed: as long as nobody changes window or freezes, that stays.
		numbers = []any{d.annotation(AnnotationProductionWindow), set[0].Flips}
	}
	mark := digest([]any{releases, set[0].Gate, numbers})
	if set[0].standing == StandBroken {
		mark = brokenPrint + mark
	}
	return mark
}

// digest is a short name for values that encode alike.
func digest(of any) string {
	text, err := json.Marshal(of)
	if err != nil {
		text = fmt.Append(nil, of) // nothing here fails to encode; if it did, a changing text would announce too much rather than nothing
	}
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:12])
}

// announce is the event that an episode begins with; nil when it cannot be
// encoded: announcing never changes a decision.
func (d *deciding) announce(e Episode, names []string, set []kept) *Event {
	project := d.Project.Metadata.Name
	plan := newPlan(d.snapshot, Promotion{Project: project, Origin: Origin{Who: Automatic}}, d.now)
	plan.Automatic = true
	body := AutoEvent{Set: names, Cause: e.Cause, Sentence: set[0].Sentence, Flips: set[0].Flips, Gates: []Verdict{}}
	for _, k := range set {
		m := aMove{Outcome: k.stays()}
		plan.Moves, body.Moves = append(plan.Moves, m), append(body.Moves, m.Outcome)
	}
	for _, v := range d.said {
		if v.Component == "" || slices.Contains(names, v.Component) {
			body.Gates = append(body.Gates, v)
		}
	}
	about := Event{At: d.now, Project: project, Walkthrough: d.Walkthrough}
	if len(names) == 1 {
		about.Component = names[0]
	}
	key := fmt.Sprintf("auto/%s/%s/%s/%d", project, e.Subject, e.Cause, d.now.UnixNano())
	var err error
	if body.Decision, err = json.Marshal(plan); err != nil {
		return nil
	}
	told, err := event(key, set[0].event, about, body)
	if err != nil {
		return nil
	}
	return &told
}

// stays is the outcome of a component that would have moved.
func (k kept) stays() ComponentOutcome {
	to, from := k.target(), k.Production.spec.ReleaseName
	o := ComponentOutcome{Component: k.Name, Result: Retry, Sentence: k.Sentence, To: to.Name, ToCommit: to.Commit, URL: k.Production.url()}
	if from != to.Name {
		o.From, o.FromCommit = from, k.Releases[from].Commit
	}
	return o
}
