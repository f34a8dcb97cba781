package window

import (
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode"
)

// soon is how far ahead a freeze is told of.
const soon = 7 * 24 * time.Hour

// told is how many freezes of a kind a sentence spells out; it counts the rest.
const told = 2

// Sentence says in one line for people when production changes to the project
// are allowed, whether they are at now, and when that changes: "Production
// changes to shop are allowed Mon-Fri 09:00-17:00 Europe/London. Closed now;
// opens Mon 23 Nov 09:00 GMT, in 2 d 15 h."
func (w Window) Sentence(project string, now time.Time) string {
	return Within(w).Sentence(project, now)
}

// Sentence is Window.Sentence with freezes: "Frozen until Mon 4 Jan 2027 09:00
// GMT by ops: end of year; opens then, in 44 d 15 h." stands for open or closed
// while one holds. A freeze to come is told of when it begins within a week, or
// before the calendar closes next (once it has opened).
func (c Calendar) Sentence(project string, now time.Time) string {
	holding, coming := c.sight(now)
	text := "Production changes to " + project + " are allowed "
	switch {
	case !c.anytime:
		text += c.window.String()
	case len(holding)+len(coming) == 0:
		return text + "at any time."
	default:
		text += "at any time outside freezes"
	}
	state := c.state(now)
	if len(holding) > 0 {
		state = c.frozen(holding, now)
	}
	return text + ". " + state + c.ahead(coming, now)
}

// Always is the sentence for a project without a window.
func Always(project string) string { return Anytime().Sentence(project, time.Time{}) }

// Broken is the sentence for a project whose window cannot be read: err is
// Parse's. It fails closed until the text is corrected.
func Broken(project string, err error) string {
	return fmt.Sprintf("Production changes to %s are refused: %v. Correct the text to allow them.", project, err)
}

// sight is the freezes that hold, the one that ends last first, and those to come, by their beginning.
func (c Calendar) sight(now time.Time) (holding, coming []Freeze) {
	for _, f := range c.freezes {
		switch {
		case f.From.After(now):
			coming = append(coming, f)
		case f.Until.After(now):
			holding = append(holding, f)
		}
	}
	slices.SortStableFunc(holding, func(a, b Freeze) int { return b.Until.Compare(a.Until) })
	return holding, coming
}

// state says whether the calendar is open, and until when.
func (c Calendar) state(now time.Time) string {
	state, change := "Closed", "opens"
	if c.Contains(now) {
		state, change = "Open", "closes"
	}
	flip, ok := c.Next(now)
	if !ok {
		return state + " now."
	}
	return fmt.Sprintf("%s now; %s %s, in %s.", state, change, c.Instant(flip, now), SpanUp(flip.Sub(now)))
}

// frozen tells of the freezes that hold.
func (c Calendar) frozen(holding []Freeze, now time.Time) string {
	last := holding[0]
	text := fmt.Sprintf("Frozen until %s%s", c.Instant(last.Until, now), last.whose())
	if opens, ok := c.NextOpen(now); ok {
		at := "then"
		if !opens.Equal(last.Until) {
			at = c.Instant(opens, now)
		}
		text += fmt.Sprintf("; opens %s, in %s", at, SpanUp(opens.Sub(now)))
	}
	text += "."
	for _, f := range holding[1:min(len(holding), told)] {
		text += fmt.Sprintf(" Also frozen until %s%s.", c.Instant(f.Until, now), f.whose())
	}
	return text + rest(len(holding)-told, "holds", "hold")
}

// ahead tells of the freezes to come that matter now.
func (c Calendar) ahead(coming []Freeze, now time.Time) (text string) {
	near := now.Add(soon)
	if opens, ok := c.NextOpen(now); ok {
		if closes, ok := c.NextClose(opens); ok && closes.After(near) {
			near = closes
		}
	}
	coming = slices.DeleteFunc(coming, func(f Freeze) bool { return f.From.After(near) })
	for _, f := range coming[:min(len(coming), told)] {
		text += fmt.Sprintf(" Freeze from %s until %s%s.", c.Instant(f.From, now), c.Instant(f.Until, now), f.whose())
	}
	return text + rest(len(coming)-told, "follows", "follow")
}

// rest counts the freezes that are not spelt out.
func rest(n int, one, many string) string {
	switch {
	case n <= 0:
		return ""
	case n == 1:
		return fmt.Sprintf(" One more freeze %s.", one)
	}
	return fmt.Sprintf(" %d more freezes %s.", n, many)
}

// whose says whom a freeze holds, who set it and why, on one line and without
// a full stop of its own.
func (f Freeze) whose() string {
	text := " by " + words(f.Who, "somebody") + ": " + words(f.Reason, "no reason given")
	if f.All {
		text = " in every project" + text
	}
	return text
}

// words is foreign text on one line; none is what stands in its place.
func words(text, none string) string {
	parts := strings.FieldsFunc(text, func(r rune) bool { return unicode.IsSpace(r) || unicode.IsControl(r) })
	if text = strings.TrimRight(strings.Join(parts, " "), ".;,: "); text == "" {
		return none
	}
	return text
}

// units are what a span is told in.
var units = [...]struct {
	length time.Duration
	name   string
}{{24 * time.Hour, "d"}, {time.Hour, "h"}, {time.Minute, "min"}, {time.Second, "s"}}

// SpanUp is Span rounded up. All that is left of a time is told so, by whoever
// tells of it: whoever waits for as long as it says has not come too early, and
// two who tell of the same instant never make it grow as time passes.
func SpanUp(d time.Duration) string {
	fine := time.Second
	for i, unit := range units[:len(units)-1] {
		if d >= unit.length {
			fine = units[i+1].length
			break
		}
	}
	if over := d % fine; over > 0 {
		d += fine - over
	}
	return Span(d)
}

// Span writes a duration in its two largest units, rounded down: "2 d 15 h",
// "5 min 10 s", "40 s".
func Span(d time.Duration) string {
	if d < time.Second {
		return "less than a second"
	}
	for i, unit := range units {
		n := d / unit.length
		if n == 0 {
			continue
		}
		span := fmt.Sprintf("%d %s", n, unit.name)
		if i+1 < len(units) {
			next := units[i+1]
			if rest := d % unit.length / next.length; rest > 0 {
				span += fmt.Sprintf(" %d %s", rest, next.name)
			}
		}
		return span
	}
	return ""
}

// Instant is an instant for people as the sentences write it, "Mon 23 Nov 09:00
// GMT": in the window's zone (UTC where there is none), with the year when it is
// another than now's. A zone without an abbreviation shows its offset from UTC.
func (c Calendar) Instant(at, now time.Time) string {
	local := at.In(c.zone())
	zone := local.Format("MST")
	if strings.HasPrefix(zone, "+") || strings.HasPrefix(zone, "-") {
		zone = "UTC" + zone
	}
	layout := "Mon 2 Jan 15:04 "
	if local.Year() != now.In(c.zone()).Year() {
		layout = "Mon 2 Jan 2006 15:04 "
	}
	return local.Format(layout) + zone
}
