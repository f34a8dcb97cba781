package window

import (
	"slices"
	"sort"
	"time"
)

// Freeze keeps production as it is at every instant of [From, Until). One that
// does not end after it begins holds none.
type Freeze struct {
	From, Until time.Time
	Reason, Who string // for people; foreign text
	All         bool   // of every project, not of one alone
}

// Calendar is when production changes are allowed: within a window, or at any
// time where there is none, and never during a freeze. The zero value holds no
// instant. It may be used by many goroutines at once, and copied.
type Calendar struct {
	window  Window
	anytime bool     // there is no window
	freezes []Freeze // by From
	shut    []shut   // what the freezes cover together, in order, apart from each other
}

// shut is a stretch [from, until) that freezes cover.
type shut struct{ from, until time.Time }

// Within is the calendar of a window and freezes.
func Within(w Window, freezes ...Freeze) Calendar {
	c := Calendar{window: w}
	c.freeze(freezes)
	return c
}

// Anytime is the calendar of freezes where there is no window.
func Anytime(freezes ...Freeze) Calendar {
	c := Calendar{anytime: true}
	c.freeze(freezes)
	return c
}

func (c *Calendar) freeze(freezes []Freeze) {
	for _, f := range freezes {
		if f.From.Before(f.Until) {
			f.From, f.Until = f.From.UTC(), f.Until.UTC()
			c.freezes = append(c.freezes, f)
		}
	}
	slices.SortStableFunc(c.freezes, func(a, b Freeze) int { return a.From.Compare(b.From) })
	for _, f := range c.freezes {
		if last := len(c.shut) - 1; last >= 0 && !f.From.After(c.shut[last].until) {
			if f.Until.After(c.shut[last].until) {
				c.shut[last].until = f.Until
			}
			continue
		}
		c.shut = append(c.shut, shut{f.From, f.Until})
	}
}

// Contains tells whether production changes are allowed at the instant.
func (c Calendar) Contains(at time.Time) bool {
	if !c.anytime && !c.window.Contains(at) {
		return false
	}
	if len(c.shut) == 0 {
		return true
	}
	i := c.stretch(at)
	return i == len(c.shut) || at.Before(c.shut[i].from)
}

// stretch is the index of the first stretch that ends after at.
func (c Calendar) stretch(at time.Time) int {
	return sort.Search(len(c.shut), func(i int) bool { return at.Before(c.shut[i].until) })
}

// Next is the first instant after at, at which Contains changes; ok is false
// when it never does.
func (c Calendar) Next(at time.Time) (flip time.Time, ok bool) {
	if c.Contains(at) {
		return c.NextClose(at)
	}
	return c.NextOpen(at)
}

// NextOpen is the first instant at or after at, at which production changes are
// allowed; ok is false when there is none.
func (c Calendar) NextOpen(at time.Time) (opens time.Time, ok bool) {
	// Each turn ends a stretch of freezes or comes to the start of the window, so
	// that there are at most two for each stretch.
	for {
		if i := c.stretch(at); i < len(c.shut) && !at.Before(c.shut[i].from) {
			at = c.shut[i].until
			continue
		}
		if c.anytime || c.window.Contains(at) {
			return at.UTC(), true
		}
		if at, ok = c.window.Next(at); !ok {
			return time.Time{}, false
		}
	}
}

// NextClose is the first instant at or after at, at which production changes
// are not allowed; ok is false when there is none.
func (c Calendar) NextClose(at time.Time) (closes time.Time, ok bool) {
	if !c.Contains(at) {
		return at.UTC(), true
	}
	if !c.anytime {
		closes, ok = c.window.Next(at)
	}
	if i := c.stretch(at); i < len(c.shut) && (!ok || c.shut[i].from.Before(closes)) {
		return c.shut[i].from, true
	}
	return closes, ok
}

// zone is where the calendar's instants are shown to people.
func (c Calendar) zone() *time.Location {
	if zone := c.window.Zone(); zone != nil {
		return zone
	}
	return time.UTC
}
