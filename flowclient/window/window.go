// Package window is the rules of production windows and freezes: when
// production changes to a project are allowed. A window is written
// "<day-range> <HH:MM>-<HH:MM> <IANA zone>"; membership is by the wall clock
// of its zone. A freeze closes it between two instants. Everything is a pure
// function of the text, the freezes and an instant.
//
// It knows nothing of projects, promotions or where texts and freezes are kept.
package window

import (
	"errors"
	"fmt"
	"math"
	"regexp"
	"strings"
	"time"
	_ "time/tzdata" // zones are known on machines that have no zone files
)

// maxText bounds what Parse reads, in bytes; the longest IANA zone leaves ample room.
const maxText = 120

// Window is a parsed production window. The zero value holds no instant. It
// may be used by many goroutines at once, and copied.
type Window struct {
	text       string
	first      time.Weekday // of the day range
	days       int          // how many days the range has, 1 to 7
	start, end int          // minutes of the day; end up to 1440; end < start runs into the next day
	zone       *zone
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
func Parse(text string) (Window, error) { return parse(text, loadZone) }

func parse(text string, zoneOf func(name string) (*zone, error)) (Window, error) {
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
	z, err := zoneOf(m[7])
	if err != nil {
		return bad("%q is no time zone known here", m[7])
	}
	days := (int(last)-int(first)+daysOfWeek)%daysOfWeek + 1
	return Window{text: strings.TrimSpace(text), first: first, days: days, start: start, end: end, zone: z}, nil
}

// loadZone reads a zone. The machine's own is none, whatever it is called: what
// it means depends on where it is read. Nor are the copies of every zone that
// some machines have, of which one counts leap seconds.
func loadZone(name string) (*zone, error) {
	top, _, _ := strings.Cut(name, "/")
	switch top {
	case "Local", "localtime", "posixrules", "posix", "right":
		return nil, errLocal
	}
	location, err := time.LoadLocation(name)
	if err != nil {
		return nil, err
	}
	return &zone{location: location}, nil
}

var errLocal = errors.New("the machine's own zone has no meaning elsewhere")

// String is the window as written.
func (w Window) String() string { return w.text }

// Zone is the window's time zone, nil for the zero value.
func (w Window) Zone() *time.Location {
	if w.zone == nil {
		return nil
	}
	return w.zone.location
}

// Contains tells whether production changes are allowed at the instant: the
// window's zone shows a time within [start, end). An overnight window belongs
// to the day it starts on. A spring gap shortens it, an autumn fold repeats it.
func (w Window) Contains(at time.Time) bool {
	if w.zone == nil {
		return false
	}
	unix := at.Unix()
	return w.shows(unix + w.zone.span(unix).offset)
}

// shows tells whether a wall clock is within the window; it is given what the clock has counted, in seconds.
func (w Window) shows(wall int64) bool {
	day, minute := clock(wall)
	if w.start < w.end {
		return w.covers(day) && w.start <= minute && minute < w.end
	}
	return w.covers(day) && minute >= w.start || w.covers((day+daysOfWeek-1)%daysOfWeek) && minute < w.end
}

// Next is the first instant after at, at which Contains changes; ok is false
// for a window that never changes (every day, all day).
func (w Window) Next(at time.Time) (flip time.Time, ok bool) {
	if w.zone == nil || w.days == daysOfWeek && w.start == 0 && w.end == minutesOfDay {
		return time.Time{}, false
	}
	unix := at.Unix()
	now := w.shows(unix + w.zone.span(unix).offset)
	for {
		s := w.zone.span(unix)
		if edge, ok := w.edge(unix, s, now); ok {
			return time.Unix(edge, 0).UTC(), true
		}
		if s.until == math.MaxInt64 {
			return time.Time{}, false
		}
		unix = s.until // a change of offset may itself jump over an edge
		if w.shows(unix+w.zone.span(unix).offset) != now {
			return time.Unix(unix, 0).UTC(), true
		}
	}
}

// edge is the first instant after unix, and within the span that holds it, at
// which the window is other than now. Between two changes of the offset the wall
// clock runs evenly, and membership changes at the window's start, its end and
// midnight alone: within eight days, unless the span ends first.
func (w Window) edge(unix int64, s span, now bool) (edge int64, ok bool) {
	day := unix + s.offset
	if day -= day % secondsOfDay; day > unix+s.offset {
		day -= secondsOfDay // before 1970
	}
	low, high := int64(min(w.start, w.end)), int64(max(w.start, w.end))
	for range daysOfWeek + 2 {
		for _, minute := range [...]int64{0, low, high} {
			wall := day + minute*60
			switch edge = wall - s.offset; {
			case edge <= unix:
			case edge >= s.until:
				return 0, false
			case w.shows(wall) != now:
				return edge, true
			}
		}
		day += secondsOfDay
	}
	return 0, false
}

// covers tells whether the day is in the window's day range.
func (w Window) covers(day time.Weekday) bool {
	return (int(day)-int(w.first)+daysOfWeek)%daysOfWeek < w.days
}

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
