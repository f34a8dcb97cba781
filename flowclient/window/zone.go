package window

import (
	"math"
	"sync/atomic"
	"time"
)

// zone is a time zone that remembers the spans of constant offset it was asked
// about last: time.Time.In searches them anew at every call. It may be used by
// many goroutines at once, and is shared by the copies of a Window.
type zone struct {
	location *time.Location
	spans    atomic.Pointer[[]span] // what it points to is never changed
}

// span is a stretch [from, until) of Unix seconds in which a zone keeps one offset from UTC.
type span struct{ from, until, offset int64 }

// maxSpans is how many spans a zone remembers: two years of instants at least.
const maxSpans = 8

// span is the one that holds the instant, in Unix seconds.
func (z *zone) span(unix int64) span {
	if known := z.spans.Load(); known != nil {
		for i := range *known {
			if s := &(*known)[i]; s.from <= unix && unix < s.until {
				return *s
			}
		}
	}
	return z.learn(unix)
}

// learn reads a span from the zone and puts it first. Of two goroutines that
// learn at once one may be forgotten, and is learnt again.
func (z *zone) learn(unix int64) span {
	at := time.Unix(unix, 0).In(z.location)
	_, offset := at.Zone()
	s := span{from: math.MinInt64, until: math.MaxInt64, offset: int64(offset)}
	from, until := at.ZoneBounds()
	if !from.IsZero() {
		s.from = from.Unix()
	}
	if !until.IsZero() {
		s.until = until.Unix()
	}
	if unix < s.from || s.until <= unix {
		// The last day (in UTC) of a leap year is given an end before it where the zone's last
		// rule is in force: go.dev/issue/81583. The offset is right, and nothing changes that day.
		s.from, s.until = unix, unix+secondsOfDay-(unix%secondsOfDay+secondsOfDay)%secondsOfDay
	}
	spans := []span{s}
	if known := z.spans.Load(); known != nil && len(*known) < maxSpans {
		spans = append(spans, *known...)
	}
	z.spans.Store(&spans)
	return s
}

// clock is what a wall clock shows at a number of seconds that it has counted
// since Thursday, 1 January 1970.
func clock(wall int64) (day time.Weekday, minute int) {
	days, second := wall/secondsOfDay, wall%secondsOfDay
	if second < 0 {
		days, second = days-1, second+secondsOfDay
	}
	weekday := (days + int64(time.Thursday)) % daysOfWeek
	if weekday < 0 {
		weekday += daysOfWeek
	}
	return time.Weekday(weekday), int(second / 60)
}

const (
	daysOfWeek   = 7
	minutesOfDay = 24 * 60
	secondsOfDay = minutesOfDay * 60
)
