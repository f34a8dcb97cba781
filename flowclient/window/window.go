// Package window is the rules of production windows: when production changes
// to a project are allowed. A window is written
// "<day-range> <HH:MM>-<HH:MM> <IANA zone>"; membership is by the wall clock
// of its zone and everything is a pure function of the text and an instant.
//
// It knows nothing of projects, promotions or where the text is kept.
package window

import (
	"fmt"
	"regexp"
	"strings"
	"time"
	_ "time/tzdata" // zones are known on machines that have no zone files
)

// maxText bounds what Parse reads, in bytes; the longest IANA zone leaves ample room.
const maxText = 120

// Window is a parsed production window. The zero value holds no instant.
type Window struct {
	text       string
	first      time.Weekday // of the day range
	days       int          // how many days the range has, 1 to 7
	start, end int          // minutes of the day; end up to 1440; end < start runs into the next day
	zone       *time.Location
}

// SyntaxError is a text that is no window. It fails closed: Error quotes the text.
type SyntaxError struct {
	Text string
	Why  string
}

// Error quotes the text and says what is wrong with it.
func (e *SyntaxError) Error() string {
	return fmt.Sprintf("the production window %q cannot be read: %s", e.Text, e.Why)
}

var layout = regexp.MustCompile(`^([A-Za-z]{3})(?:-([A-Za-z]{3}))? ([0-9]{2}):([0-9]{2})-([0-9]{2}):([0-9]{2}) (\S+)$`)

// Parse reads "<day-range> <HH:MM>-<HH:MM> <IANA zone>": "Mon-Fri 09:00-17:00
// Europe/London", "Fri-Mon 22:00-06:00 UTC", "Sun 00:00-24:00 Asia/Tokyo". Days
// may wrap, a single day is a range, the end may lie on the next day, 24:00 is
// a legal end and equal times are an error. Any error is a *SyntaxError.
func Parse(text string) (Window, error) {
	bad := func(format string, args ...any) (Window, error) {
		quoted := text
		if len(quoted) > maxText {
			quoted = strings.ToValidUTF8(quoted[:maxText], "") + "…"
		}
		return Window{}, &SyntaxError{Text: quoted, Why: fmt.Sprintf(format, args...)}
	}
	if len(text) > maxText {
		return bad("it is longer than %d bytes", maxText)
	}
	m := layout.FindStringSubmatch(strings.TrimSpace(text))
	if m == nil {
		return bad("write it as <day-range> <HH:MM>-<HH:MM> <IANA zone>, for example Mon-Fri 09:00-17:00 Europe/London")
	}
	first, ok := weekday(m[1])
	if !ok {
		return bad("%q is no day; days are Mon Tue Wed Thu Fri Sat Sun", m[1])
	}
	last := first
	if m[2] != "" {
		if last, ok = weekday(m[2]); !ok {
			return bad("%q is no day; days are Mon Tue Wed Thu Fri Sat Sun", m[2])
		}
	}
	start, ok := minutes(m[3], m[4])
	if !ok || start == minutesOfDay {
		return bad("%s:%s is no time that a window can start at", m[3], m[4])
	}
	end, ok := minutes(m[5], m[6])
	if !ok {
		return bad("%s:%s is no time of day", m[5], m[6])
	}
	if start == end {
		return bad("it starts and ends at the same time")
	}
	zone, err := time.LoadLocation(m[7])
	if err != nil || m[7] == "Local" {
		return bad("%q is no time zone known here", m[7])
	}
	days := (int(last)-int(first)+7)%7 + 1
	return Window{text: strings.TrimSpace(text), first: first, days: days, start: start, end: end, zone: zone}, nil
}

// String is the window as written.
func (w Window) String() string { return w.text }

// Zone is the window's time zone.
func (w Window) Zone() *time.Location { return w.zone }

// Contains tells whether production changes are allowed at the instant: the
// window's zone shows a time within [start, end). An overnight window belongs
// to the day it starts on.
func (w Window) Contains(at time.Time) bool {
	if w.zone == nil {
		return false
	}
	local := at.In(w.zone)
	minute := local.Hour()*60 + local.Minute()
	today := w.covers(local.Weekday())
	if w.start < w.end {
		return today && w.start <= minute && minute < w.end
	}
	yesterday := w.covers((local.Weekday() + 6) % 7)
	return today && minute >= w.start || yesterday && minute < w.end
}

// Next is the first instant after at, at which Contains changes; ok is false
// for a window that never changes (every day, all day).
func (w Window) Next(at time.Time) (flip time.Time, ok bool) {
	if w.zone == nil || w.days == 7 && w.start == 0 && w.end == minutesOfDay {
		return time.Time{}, false
	}
	now := w.Contains(at)
	// Between two changes of the zone's offset the wall clock runs evenly, and
	// membership can change at the window's start, its end and midnight alone.
	// It does within eight days, unless the offset changes first; a change of
	// offset may itself jump over an edge.
	for {
		_, until := at.In(w.zone).ZoneBounds()
		for _, edge := range w.edges(at) {
			if !until.IsZero() && !edge.Before(until) {
				break
			}
			if w.Contains(edge) != now {
				return edge, true
			}
		}
		if until.IsZero() {
			return time.Time{}, false
		}
		if w.Contains(until) != now {
			return until, true
		}
		at = until
	}
}

// edges lists the instants after at where the wall clock shows midnight, the
// window's start or its end, in order, for eight days, as though the zone kept
// the offset that it has at at.
func (w Window) edges(at time.Time) []time.Time {
	_, offset := at.In(w.zone).Zone()
	wall := at.UTC().Add(time.Duration(offset) * time.Second)
	midnight := time.Date(wall.Year(), wall.Month(), wall.Day(), 0, 0, 0, 0, time.UTC)
	low, high := min(w.start, w.end), max(w.start, w.end)
	edges := make([]time.Time, 0, 27)
	for day := range 9 {
		for _, minute := range [...]int{0, low, high} {
			edge := midnight.AddDate(0, 0, day).Add(time.Duration(minute)*time.Minute - time.Duration(offset)*time.Second)
			if edge.After(at) {
				edges = append(edges, edge)
			}
		}
	}
	return edges
}

// covers tells whether the day is in the window's day range.
func (w Window) covers(day time.Weekday) bool { return (int(day)-int(w.first)+7)%7 < w.days }

const minutesOfDay = 24 * 60

func weekday(name string) (time.Weekday, bool) {
	for day := time.Sunday; day <= time.Saturday; day++ {
		if strings.EqualFold(name, day.String()[:3]) {
			return day, true
		}
	}
	return 0, false
}

// minutes is a time of day of two two-digit numbers; 24:00 counts as one.
func minutes(hour, minute string) (int, bool) {
	h := int(hour[0]-'0')*10 + int(hour[1]-'0')
	m := int(minute[0]-'0')*10 + int(minute[1]-'0')
	total := h*60 + m
	return total, m < 60 && total <= minutesOfDay
}
