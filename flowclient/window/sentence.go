package window

import (
	"fmt"
	"strings"
	"time"
)

// Sentence says in one line for people when production changes to the project
// are allowed, whether they are at now, and when that changes: "Production
// changes to shop are allowed Mon-Fri 09:00-17:00 Europe/London. Closed now;
// opens Mon 23 Nov 09:00 GMT, in 2 d 15 h."
func (w Window) Sentence(project string, now time.Time) string {
	state, change := "Closed", "opens"
	if w.Contains(now) {
		state, change = "Open", "closes"
	}
	flip, ok := w.Next(now)
	if !ok {
		return fmt.Sprintf("Production changes to %s are allowed %s. %s now.", project, w, state)
	}
	return fmt.Sprintf("Production changes to %s are allowed %s. %s now; %s %s, in %s.",
		project, w, state, change, instant(flip.In(w.zone)), Span(flip.Sub(now)))
}

// Always is the sentence for a project without a window.
func Always(project string) string {
	return fmt.Sprintf("Production changes to %s are allowed at any time.", project)
}

// Broken is the sentence for a project whose window cannot be read: err is
// Parse's. It fails closed until the text is corrected.
func Broken(project string, err error) string {
	return fmt.Sprintf("Production changes to %s are refused: %v. Correct the text to allow them.", project, err)
}

// Span writes a duration in its two largest units, rounded down: "2 d 15 h",
// "5 min 10 s", "40 s".
func Span(d time.Duration) string {
	if d < time.Second {
		return "less than a second"
	}
	units := [...]struct {
		length time.Duration
		name   string
	}{{24 * time.Hour, "d"}, {time.Hour, "h"}, {time.Minute, "min"}, {time.Second, "s"}}
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

// instant is a local instant for people; zones without an abbreviation show their offset from UTC.
func instant(local time.Time) string {
	zone := local.Format("MST")
	if strings.HasPrefix(zone, "+") || strings.HasPrefix(zone, "-") {
		zone = "UTC" + zone
	}
	return local.Format("Mon 2 Jan 15:04 ") + zone
}
