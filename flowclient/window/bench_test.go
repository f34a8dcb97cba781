package window_test

import (
	"testing"
	"time"

	"platform.dev/platform/flowclient/window"
)

// byHand is a window as one would compare it by hand, were the offset from UTC
// known and never to change: what Contains is measured against.
type byHand struct {
	days       [7]bool
	start, end int
	offset     int64
}

func (w byHand) contains(at time.Time) bool {
	wall := at.Unix() + w.offset
	minute := int(wall / 60 % 1440)
	return w.days[(wall/86400+4)%7] && w.start <= minute && minute < w.end
}

// BenchmarkContains asks windows and calendars against the comparison by hand.
func BenchmarkContains(b *testing.B) {
	now := at(b, "2026-11-20T12:00:00Z")
	var freezes []window.Freeze
	for day := range 5 {
		from := now.AddDate(0, 0, 7*day+3)
		freezes = append(freezes, window.Freeze{From: from, Until: from.Add(time.Hour)})
	}
	w := parse(b, office)
	limit := byHand{days: [7]bool{false, true, true, true, true, true, false}, start: 540, end: 1020}
	var limitTook float64
	for _, bench := range []struct {
		name     string
		contains func(time.Time) bool
	}{
		{"limit", limit.contains},
		{"window", w.Contains},
		{"calendar of a window", window.Within(w).Contains},
		{"calendar with 5 freezes", window.Within(w, freezes...).Contains},
	} {
		b.Run(bench.name, func(b *testing.B) {
			b.ReportAllocs()
			open := 0
			for i := 0; b.Loop(); i++ {
				if bench.contains(now.Add(time.Duration(i&0xfff) * time.Second)) {
					open++
				}
			}
			if open == 0 {
				b.Fatal("never open")
			}
			took := float64(b.Elapsed()) / float64(b.N)
			if bench.name == "limit" {
				limitTook = took
			}
			b.ReportMetric(took/limitTook, "x-limit")
		})
	}
}

// BenchmarkASentence is what one project costs a reader of all of them: its text
// parsed, and the sentence made. The limit is the sentence of what is parsed already.
func BenchmarkASentence(b *testing.B) {
	now := at(b, "2026-11-20T18:00:00Z")
	w := parse(b, office)
	var known window.Parser
	var limitTook float64
	for _, bench := range []struct {
		name string
		read func() window.Window
	}{
		{"limit", func() window.Window { return w }},
		{"with a parser's memory", func() window.Window { w, _ := known.Parse(office); return w }},
		{"parsed anew", func() window.Window { return parse(b, office) }},
	} {
		b.Run(bench.name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if bench.read().Sentence("shop", now) == "" {
					b.Fatal("no sentence")
				}
			}
			took := float64(b.Elapsed()) / float64(b.N)
			if bench.name == "limit" {
				limitTook = took
			}
			b.ReportMetric(took/limitTook, "x-limit")
		})
	}
}
