package slack

import (
	"errors"
	"regexp"
	"strconv"
	"strings"
	"time"
)

// A message's id is its channel and its timestamps as Slack's own links write
// them, "C024BE91L/p1700000000000100"; one of several parts lists them,
// "C024BE91L/p1700000000000100,p1700000001000200".

var (
	errID      = errors.New("no id of a message of Slack")
	conversing = regexp.MustCompile(`^[CGD][A-Z0-9]{2,30}$`)
	accounts   = regexp.MustCompile(`^[UW][A-Z0-9]{2,30}$`)
	timestamp  = regexp.MustCompile(`^[0-9]{9,12}\.[0-9]{6}$`)
	linked     = regexp.MustCompile(`^p[0-9]{15,18}$`)
)

// joinID writes the id of a message.
func joinID(channel string, parts ...string) string {
	id := channel + "/"
	for i, ts := range parts {
		seconds, micros, _ := strings.Cut(ts, ".")
		if i > 0 {
			id += ",p" + seconds + micros
		} else {
			id += "p" + seconds + micros
		}
	}
	return id
}

// splitID reads the id of a message.
func splitID(id string) (channel string, parts []string, err error) {
	channel, list, ok := strings.Cut(id, "/")
	if !ok || !conversing.MatchString(channel) {
		return "", nil, errID
	}
	for p := range strings.SplitSeq(list, ",") {
		if !linked.MatchString(p) {
			return "", nil, errID
		}
		parts = append(parts, p[1:len(p)-6]+"."+p[len(p)-6:])
	}
	return channel, parts, nil
}

// instant is the time that a timestamp tells; zero when it is none.
func instant(ts string) time.Time {
	seconds, micros, _ := strings.Cut(ts, ".")
	s, err := strconv.ParseInt(seconds, 10, 64)
	if err != nil {
		return time.Time{}
	}
	us, err := strconv.ParseInt(micros, 10, 64)
	if err != nil {
		us = 0
	}
	return time.Unix(s, us*int64(time.Microsecond)).UTC()
}

// stamp is a timestamp as Slack writes instants.
func stamp(at time.Time) string {
	return strconv.FormatInt(at.Unix(), 10) + "." + leftPad(at.Nanosecond()/int(time.Microsecond))
}

func leftPad(micros int) string {
	digits := strconv.Itoa(micros)
	return strings.Repeat("0", 6-len(digits)) + digits
}
