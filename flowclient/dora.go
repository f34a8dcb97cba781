package flowclient

import (
	"context"
	"fmt"
	"time"
)

// Limits of a DoraReport.
const (
	DefaultDoraDays = 30
	MaxDoraDays     = 365
	maxDora         = 50_000 // builds and moves that one report reads
	// HistoryNeeded is how long events have to be kept for the longest DoraReport.
	HistoryNeeded = MaxDoraDays*24*time.Hour + doraLookback
	// doraLookback is how long before the period builds and promotions are read: a
	// change that was built earlier than that is counted as unmeasured.
	doraLookback = 90 * 24 * time.Hour
)

// DoraReport is how a project delivered in a period, by the four measures of
// the DORA programme. It is made from the journal's events alone; Measures says
// the same for people, with what each number means.
type DoraReport struct {
	Project string    `json:"project"`
	From    time.Time `json:"from"`
	To      time.Time `json:"to"` // not part of the period

	Promotions int     `json:"promotions"` // that moved at least one component
	PerDay     float64 `json:"perDay"`
	LeadTime   Spread  `json:"leadTime"`   // of each commit of a component
	Unmeasured int     `json:"unmeasured"` // promoted commits whose first build is not known

	Failed      int      `json:"failed"`                // promotions that were rolled back
	FailureRate *float64 `json:"failureRate,omitempty"` // of the promotions, 0 to 1; absent without promotions
	Restore     Spread   `json:"restore"`               // of each failed promotion
	Rollbacks   int      `json:"rollbacks"`

	Merges        int     `json:"merges"`        // commits that were built for the first time
	MergesPerHour float64 `json:"mergesPerHour"` // in the hours in which anything was merged

	Soak     *SoakEstimate `json:"soak,omitempty"` // absent where no soak is asked for, or the project is gone
	Measures []Measure     `json:"measures"`
}

// Spread is how durations are spread, by nearest rank: each number is one that
// occurred. Both are 0 when Count is.
type Spread struct {
	Count         int   `json:"count"`
	MedianSeconds int64 `json:"medianSeconds"`
	P90Seconds    int64 `json:"p90Seconds"`
}

// SoakEstimate is how many of a project's merges get through its soak.
type SoakEstimate struct {
	Seconds  int64   `json:"seconds"`        // the soak
	Survives float64 `json:"survives"`       // promotions an hour; see Starvation
	Note     string  `json:"note,omitempty"` // a sentence, where merging more means delivering less
}

// Measure is one number of a DoraReport for people.
type Measure struct {
	Name  string `json:"name"`
	Value string `json:"value"`
	Means string `json:"means"` // its definition, a sentence
}

// doraKinds are the events that a DoraReport is made of.
var doraKinds = []string{EventBuildStarted, EventPromoted, EventRolledBack}

// Dora is how a project delivered in the days before now (1 to MaxDoraDays),
// from its journal; what is recorded outlives the project. *NotFound when there
// is neither.
func (c *Controller) Dora(ctx context.Context, project string, days int) (DoraReport, error) {
	if err := checkLabel("project", project, maxLabel); err != nil {
		return DoraReport{}, err
	}
	if days < 1 || days > MaxDoraDays {
		return DoraReport{}, &Invalid{Field: "days", Value: fmt.Sprint(days), Why: fmt.Sprintf("must be 1 to %d", MaxDoraDays)}
	}
	if c.deps.History == nil {
		return DoraReport{}, noHistory()
	}
	to := c.deps.Now().UTC()
	from := to.AddDate(0, 0, -days)
	events, err := c.deps.History.Happened(ctx, project, doraKinds, from.Add(-doraLookback), to, maxDora+1)
	if err != nil {
		return DoraReport{}, err
	}
	if len(events) > maxDora {
		return DoraReport{}, Refuse("%s has more than %d builds and moves in %d days; ask for fewer days.", project, maxDora, days)
	}
	soak, known, err := c.soakOf(ctx, project)
	gone := IsNotFound(err) && len(events) > 0
	if err != nil && !gone {
		return DoraReport{}, err
	}
	report := Dora(events, from, to)
	report.Project = project
	if known && soak > 0 {
		report.Soak = &SoakEstimate{Seconds: int64(soak.Seconds()), Survives: Starvation(report.MergesPerHour, soak),
			Note: starvationNote(project, report.MergesPerHour, soak)}
	}
	report.Measures = report.measures()
	return report, nil
}

// soakOf is the soak that a project asks for; known is false when its text is none.
func (c *Controller) soakOf(ctx context.Context, project string) (soak time.Duration, known bool, err error) {
	o, err := c.deps.ControlPlane.Get(ctx, KindProject, project)
	if err != nil {
		return 0, false, err
	}
	text := o.Metadata.Annotations[AnnotationSoak]
	if text == "" {
		return c.deps.Settings.DefaultSoak, true, nil
	}
	soak, failed := time.ParseDuration(text)
	return soak, failed == nil, nil
}

// noHistory refuses what is made from the journal's history, where there is none.
func noHistory() *Refusal {
	return Refuse("this controller was given no history to read from; configure one and ask again.")
}
