package flowclient

import (
	"maps"
	"slices"
	"time"
)

// earliest is when each candidate could first move, at or after now, if nothing
// but time passed. One that no time brings there is not in it; nor is any when
// a gate that no time lifts refuses the whole request. then is what would keep
// those that only the whole set keeps, once nothing of their own does.
func earliest(q question, candidates []candidate, by way, now time.Time) (found map[string]time.Time, then map[string]Verdict) {
	own := map[string]time.Time{} // when its own gates let each go
	for _, c := range candidates {
		at, ok, refused := q.about(c).lets(by, now)
		if refused {
			return nil, nil
		}
		if ok {
			own[c.Component] = at
		}
	}
	// Between two of these instants nothing joins the set, so that only the gates
	// about the whole of it can open there.
	starts := slices.CompactFunc(slices.SortedFunc(maps.Values(own), time.Time.Compare), time.Time.Equal)
	found, then = map[string]time.Time{}, map[string]Verdict{}
	for _, t := range starts {
		for range gates {
			set := slices.DeleteFunc(slices.Clone(candidates), func(c candidate) bool {
				at, ok := own[c.Component]
				return !ok || at.After(t)
			})
			next, against := q.about(set...).opens(by, t)
			if against != nil { // not by time with this set
				for _, c := range set {
					then[c.Component] = *against
				}
				break
			}
			if !next.After(t) {
				for _, c := range set {
					if _, known := found[c.Component]; !known {
						found[c.Component] = t
					}
				}
				break
			}
			t = next
		}
	}
	return found, then
}

// lets is the first instant at or after t at which every gate of the
// component's own lets it move; ok is false when no time brings it there, and
// refused tells that such a gate refuses the whole request.
func (q question) lets(by way, t time.Time) (at time.Time, ok, refused bool) {
	for range len(gates) + 1 { // each turn ends the wait for one gate at least
		next, stuck := t, false
		for _, g := range gates {
			if g.whole || by(g) == notAsked {
				continue
			}
			switch v := g.ask(q, Promotion{}, t); {
			case v.passes():
			case v.Flips == nil || !v.Flips.After(t):
				stuck, refused = true, refused || by(g) == refuses
			case v.Flips.After(next):
				next = *v.Flips
			}
		}
		if stuck || !next.After(t) {
			return t, !stuck, refused
		}
		t = next
	}
	return t, false, false
}

// opens is the first instant at or after t at which the gates about the whole
// set could pass; against is the first of them that does not pass with time.
func (q question) opens(by way, t time.Time) (at time.Time, against *Verdict) {
	at = t
	for _, g := range gates {
		if !g.whole || by(g) == notAsked {
			continue
		}
		switch v := g.ask(q, Promotion{}, t); {
		case v.passes():
		case v.Flips == nil || !v.Flips.After(t):
			return t, &v
		case v.Flips.After(at):
			at = *v.Flips
		}
	}
	return at, nil
}
