package markup

import (
	"fmt"
	"strings"
	"time"
)

// Ago says an age in one unit: "just now", "40 s ago", "3 min ago", "26 h ago",
// "3 days ago". An instant of the future (another machine's clock) is just now.
func Ago(age time.Duration) string {
	switch {
	case age < 5*time.Second:
		return "just now"
	case age < time.Minute:
		return fmt.Sprintf("%d s ago", int(age.Seconds()))
	case age < time.Hour:
		return fmt.Sprintf("%d min ago", int(age.Minutes()))
	case age < 48*time.Hour:
		return fmt.Sprintf("%d h ago", int(age.Hours()))
	}
	return fmt.Sprintf("%d days ago", int(age.Hours()/24))
}

// In says how far ahead something is, in its two largest units and rounded up:
// "in 2 d 15 h", "in 40 s". So whoever waits for as long has not come too early,
// and what is left never grows as time passes, whoever tells of it: it is the
// rounding of window.SpanUp. What is due is "now".
func In(ahead time.Duration) string {
	units := [...]struct {
		length time.Duration
		name   string
	}{{24 * time.Hour, "d"}, {time.Hour, "h"}, {time.Minute, "min"}, {time.Second, "s"}}
	if ahead > 0 {
		fine := time.Second
		for i, unit := range units[:len(units)-1] {
			if ahead >= unit.length {
				fine = units[i+1].length
				break
			}
		}
		ahead += (fine - ahead%fine) % fine
	}
	for i, unit := range units {
		n := ahead / unit.length
		if n <= 0 {
			continue
		}
		text := fmt.Sprintf("in %d %s", n, unit.name)
		if i+1 < len(units) {
			if rest := ahead % unit.length / units[i+1].length; rest > 0 {
				text += fmt.Sprintf(" %d %s", rest, units[i+1].name)
			}
		}
		return text
	}
	return "now"
}

// At is an instant in its own zone, with the year when it is another than
// now's: "Mon 23 Nov 09:00 GMT". A zone without a name shows its offset from UTC.
func At(at, now time.Time) string {
	zone := at.Format("MST")
	if strings.HasPrefix(zone, "+") || strings.HasPrefix(zone, "-") {
		zone = "UTC" + zone
	}
	layout := "Mon 2 Jan 15:04 "
	if at.Year() != now.In(at.Location()).Year() {
		layout = "Mon 2 Jan 2006 15:04 "
	}
	return at.Format(layout) + zone
}

// Took says how long something took: "14 ms", "4.2 s", "52 s", "1 min 5 s", "2 h 3 min".
func Took(d time.Duration) string {
	switch {
	case d < time.Second:
		return fmt.Sprintf("%d ms", d.Milliseconds())
	case d < 10*time.Second:
		return fmt.Sprintf("%.1f s", d.Truncate(100*time.Millisecond).Seconds())
	case d < time.Minute:
		return fmt.Sprintf("%d s", int(d.Seconds()))
	case d < time.Hour:
		return strings.TrimSuffix(fmt.Sprintf("%d min %d s", int(d.Minutes()), int(d.Seconds())%60), " 0 s")
	}
	return fmt.Sprintf("%d h %d min", int(d.Hours()), int(d.Minutes())%60)
}
