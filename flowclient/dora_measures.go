package flowclient

import (
	"fmt"
	"time"

	"platform.dev/platform/flowclient/window"
)

// doraMeasures says how each measure is told and what it means.
var doraMeasures = []struct {
	name  string
	value func(r DoraReport) string
	means string
}{
	{"deployment frequency", func(r DoraReport) string {
		if r.Promotions == 0 {
			return "no promotion"
		}
		return fmt.Sprintf("%s, %s a day", counted(r.Promotions, "promotion", "promotions"), decimal(r.PerDay))
	}, "Promotions that moved at least one component to production, by hand or by the automatic pass."},
	{"lead time for changes", func(r DoraReport) string {
		value := "no change was delivered"
		if r.LeadTime.Count > 0 {
			value = fmt.Sprintf("%s, of %s", r.LeadTime, counted(r.LeadTime.Count, "change", "changes"))
		}
		if r.Unmeasured > 0 {
			value += fmt.Sprintf("; %d more without a known build", r.Unmeasured)
		}
		return value
	}, "From the push that started a commit's build (its first build event) to the first promotion that carried the commit: as the release itself, or inside a later one of the component. A commit of two components counts for each. Builds of more than 90 days before the period are not looked for."},
	{"change failure rate", func(r DoraReport) string {
		if r.FailureRate == nil {
			return "no promotion"
		}
		return fmt.Sprintf("%.0f %%, %d of %s", *r.FailureRate*100, r.Failed, counted(r.Promotions, "promotion", "promotions"))
	}, "Promotions of which a component was rolled back, within the period, to what the promotion had displaced."},
	{"time to restore", func(r DoraReport) string {
		if r.Restore.Count == 0 {
			return "nothing had to be restored"
		}
		return fmt.Sprintf("%s, of %s", r.Restore, counted(r.Restore.Count, "failed promotion", "failed promotions"))
	}, "From a failed promotion to the rollback of its last component, or to that component's next promotion where that came first."},
	{"merges against soak", func(r DoraReport) string {
		switch {
		case r.Merges == 0:
			return "nothing was merged"
		case r.Soak == nil:
			return fmt.Sprintf("%s, %s an hour", counted(r.Merges, "merge", "merges"), decimal(r.MergesPerHour))
		}
		return fmt.Sprintf("%s, %s an hour; %s an hour get through a soak of %s", counted(r.Merges, "merge", "merges"), decimal(r.MergesPerHour),
			about(r.Soak.Survives), window.Span(time.Duration(r.Soak.Seconds)*time.Second))
	}, "Commits that were built for the first time, in the hours in which there were any (L), and what a soak of s lets through of them: L x exp(-L x s), since each new release in staging begins the soak anew."},
}

// measures says the report for people.
func (r DoraReport) measures() []Measure {
	out := make([]Measure, 0, len(doraMeasures))
	for _, m := range doraMeasures {
		out = append(out, Measure{Name: m.name, Value: m.value(r), Means: m.means})
	}
	return out
}

// String is the spread for people: "median 2 h 10 min, p90 1 d 3 h".
func (s Spread) String() string {
	span := func(seconds int64) string { return window.Span(time.Duration(seconds) * time.Second) }
	return fmt.Sprintf("median %s, p90 %s", span(s.MedianSeconds), span(s.P90Seconds))
}

// counted is a number with its noun.
func counted(n int, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return fmt.Sprintf("%d %s", n, many)
}
