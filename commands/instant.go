package commands

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"time"
)

// howInstants are written, for those who wrote one in another way.
const howInstants = `write a day (2026-12-24), a day with a time (2026-12-24T17:00), a weekday ("fri" or "fri 17:00"), a time (17:00) or how long from now (2h, 3d)`

// MaxAhead is the longest duration that is read: what is further away is written as a day.
const MaxAhead = 366 * 24 * time.Hour

// ParseInstant reads an instant as a person writes it, seen from now: a day
// ("2026-12-24", its first instant), a day with a time ("2026-12-24T17:00", or
// with a space), a weekday ("fri", "fri 17:00") or a time ("17:00"), which are
// the next such instant after now, and how long from now ("2h", "3d", "1d12h").
// They are read in the zone, unless the text ends in an offset of its own as
// RFC 3339 writes it. A time that the zone's clocks leave out is refused; of one
// that they show twice, the first is meant. Years are 2000 to 2999. The error says how
// to write it.
func ParseInstant(text string, now time.Time, zone *time.Location) (time.Time, error) {
	at, err := parseInstant(text, now, zone)
	if err == nil && (at.Year() < 2000 || at.Year() > 2999) {
		return time.Time{}, fmt.Errorf("the year %d is too far away; write one from 2000 to 2999", at.Year())
	}
	return at, err
}

func parseInstant(text string, now time.Time, zone *time.Location) (time.Time, error) {
	text = strings.Join(strings.Fields(text), " ")
	if len(text) > maxInstant {
		return time.Time{}, fmt.Errorf("it is longer than %d bytes; %s", maxInstant, howInstants)
	}
	for _, layout := range []string{time.RFC3339, "2006-01-02T15:04Z07:00"} {
		if at, err := time.Parse(layout, strings.ToUpper(text)); err == nil {
			return at, nil
		}
	}
	if d, err := ParseSpan(text); err == nil {
		return now.Add(d).In(zone), nil
	}
	m := dayForm.FindStringSubmatch(strings.ToLower(text))
	if m == nil || strings.TrimSpace(text) == "" {
		return time.Time{}, fmt.Errorf("it is no instant; %s", howInstants)
	}
	today := now.In(zone)
	clock, err := parseClock(m[3], m[4])
	if err != nil {
		return time.Time{}, err
	}
	switch {
	case m[1] != "":
		day, err := time.ParseInLocation(time.DateOnly, m[1], zone)
		if err != nil {
			return time.Time{}, fmt.Errorf("there is no such day; %s", howInstants)
		}
		year, month, date := day.Date()
		if day.Format(time.DateOnly) != m[1] { // the zone's clocks leave midnight out
			written, _ := time.Parse(time.DateOnly, m[1])
			year, month, date = written.Date()
		}
		return clock.on(year, month, date, zone)
	case m[2] != "":
		for ahead := range 8 { // today's may have passed: then it is the one of next week
			at, err := clock.on(today.Year(), today.Month(), today.Day()+ahead, zone)
			if weekday(today.Weekday(), ahead) == m[2] && (err != nil || at.After(now)) {
				return at, err
			}
		}
	default:
		for ahead := range 2 {
			at, err := clock.on(today.Year(), today.Month(), today.Day()+ahead, zone)
			if err != nil || at.After(now) {
				return at, err
			}
		}
	}
	return time.Time{}, fmt.Errorf("it is no instant; %s", howInstants)
}

// maxInstant bounds what ParseInstant reads, in bytes.
const maxInstant = 40

// dayForm is a day, a weekday or neither, and a time of day or none.
var dayForm = regexp.MustCompile(`^(?:([0-9]{4}-[0-9]{2}-[0-9]{2})|(sun|mon|tue|wed|thu|fri|sat)(?:day|sday|nesday|rsday|urday)?)?(?:(?:^|t| )([0-9]{1,2}):([0-9]{2}))?$`)

// weekday names the day so many days after one, in three letters.
func weekday(from time.Weekday, ahead int) string {
	return strings.ToLower(((from + time.Weekday(ahead)) % 7).String()[:3])
}

// clock is a time of day; the zero value is the first instant of a day.
type clock struct {
	given        bool
	hour, minute int
}

func parseClock(hour, minute string) (clock, error) {
	if hour == "" {
		return clock{}, nil
	}
	h, _ := strconv.Atoi(hour) // two digits at most
	m, _ := strconv.Atoi(minute)
	if h > 23 || m > 59 {
		return clock{}, fmt.Errorf("%s:%s is no time of day; %s", hour, minute, howInstants)
	}
	return clock{given: true, hour: h, minute: m}, nil
}

// on is the instant of a day of a zone at which its clocks show the time.
func (c clock) on(year int, month time.Month, day int, zone *time.Location) (time.Time, error) {
	at := time.Date(year, month, day, c.hour, c.minute, 0, 0, zone)
	if at.Hour() == c.hour && at.Minute() == c.minute {
		// Of the two instants of an hour that is shown twice, Date may give either.
		if from, _ := at.ZoneBounds(); !from.IsZero() {
			_, before := from.Add(-time.Second).Zone()
			_, after := at.Zone()
			if earlier := at.Add(-time.Duration(before-after) * time.Second); before > after && earlier.Before(from) {
				return earlier, nil
			}
		}
		return at, nil
	}
	if c.given {
		return time.Time{}, fmt.Errorf("no clock of %s shows %02d:%02d on that day: they are put forward over it", zone, c.hour, c.minute)
	}
	// Midnight is left out: the day begins where the clocks are put forward.
	from, until := at.ZoneBounds()
	if at.Hour() >= 12 {
		return until, nil
	}
	return from, nil
}

// spanForm is a duration: numbers with their units, the largest first.
var spanForm = regexp.MustCompile(`^(?:([0-9]{1,4})w)?(?:([0-9]{1,4})d)?(?:([0-9]{1,5})h)?(?:([0-9]{1,6})m)?(?:([0-9]{1,7})s)?$`)

// spanUnits are those of spanForm, in its order.
var spanUnits = []time.Duration{7 * 24 * time.Hour, 24 * time.Hour, time.Hour, time.Minute, time.Second}

// ParseSpan reads a duration as a person writes it: "14d", "2h", "1d12h",
// "2w". It is longer than nothing and at most MaxAhead. The error says how to
// write it.
func ParseSpan(text string) (time.Duration, error) {
	const how = "write it in weeks, days, hours and minutes, such as 14d or 1h30m"
	m := spanForm.FindStringSubmatch(strings.ToLower(strings.TrimSpace(text)))
	if m == nil || strings.TrimSpace(text) == "" {
		return 0, fmt.Errorf("it is no duration; %s", how)
	}
	var sum time.Duration
	for i, unit := range spanUnits {
		n, _ := strconv.Atoi(m[i+1]) // nothing is 0; the digits are counted
		sum += time.Duration(n) * unit
	}
	switch {
	case sum <= 0:
		return 0, fmt.Errorf("it lasts no time; %s", how)
	case sum > MaxAhead:
		return 0, fmt.Errorf("it is longer than %d days; write less", MaxAhead/(24*time.Hour))
	}
	return sum, nil
}
