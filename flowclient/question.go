package flowclient

import (
	"slices"
	"strings"
	"time"

	"platform.dev/platform/flowclient/window"
)

// question is what a gate is asked about: a project and those of its
// components that would move. A gate of a component finds that one in Set.
type question struct {
	Project  string
	Window   string   // the annotation; "" allows every instant
	Freezes  []Freeze // those that concern the project
	Cell     *Quota   // of the target; nil: none
	CellNote string   // why there is none, a sentence
	Margin   int64    // bytes of memory that capacity keeps free
	Set      []candidate

	windows *window.Parser // see snapshot
}

// about is the question about these components alone.
func (q question) about(set ...candidate) question {
	q.Set = set
	return q
}

// one is the component that a gate of a component is asked about.
func (q question) one() candidate { return q.Set[0] }

// candidate is one component on its way to a release in an environment, with
// everything that the gates look at.
type candidate struct {
	Project     string
	Component   string
	Environment string  // where it is to go
	Target      release // what is to run there; Name "" when staging runs nothing

	Locks    []Lock    // that hold on the component
	Releases []release // of the component: locks match by digest across them

	Ready     bool // in staging, for the release that staging names
	Reason    string
	Message   string
	Since     time.Time // when the target was first seen in staging
	Soak      string    // the annotation; "" is Default
	Default   time.Duration
	Check     string // the annotation; "" asks for no check
	URL       string // of staging
	Status    int    // what it answered; 0 when it did not
	Unbound   bool   // the gateway answered, not the application
	CheckFail string // why it did not answer
	Unasked   bool   // the page was not fetched, since another gate keeps the component anyway

	Undeployed bool       // production is out of service
	Held       *Hold      // after a rollback
	Backoff    *time.Time // until when capacity is not asked again
	Need       need       // of the target cell
}

// label is the component with what it would run, as people know it.
func (c candidate) label() string { return strings.TrimSpace(c.Component + " " + c.Target.label()) }

// question puts the project's facts before the gates.
func (s snapshot) question() question {
	return question{Project: s.Project.Metadata.Name, Window: s.annotation(AnnotationProductionWindow), Freezes: s.Freezes,
		Cell: s.Cell, CellNote: s.CellNote, Margin: s.Margin, windows: s.windows}
}

func (s snapshot) annotation(name string) string { return s.Project.Metadata.Annotations[name] }

// candidate puts the facts of a component on its way to target before the gates.
func (s snapshot) candidate(f componentFacts, target string) candidate {
	c := candidate{
		Project: s.Project.Metadata.Name, Component: f.Name, Environment: Production,
		Target: release{Name: target, Of: f.Name}, Locks: f.Locks,
		Soak: s.annotation(AnnotationSoak), Default: s.DefaultSoak, Check: s.annotation(AnnotationPromotionCheck), Since: f.Since,
		URL: f.Staging.url(), Status: f.Status, Unbound: f.Unbound, CheckFail: f.CheckFail, Unasked: f.Unasked,
		Undeployed: f.undeployed(), Held: f.Hold, Backoff: f.Backoff, Need: f.Need,
	}
	c.Ready, c.Reason, c.Message = f.Staging.ready()
	for _, r := range f.Releases {
		c.Releases = append(c.Releases, r)
	}
	slices.SortFunc(c.Releases, func(a, b release) int { return strings.Compare(a.Name, b.Name) })
	if r, ok := f.Releases[target]; ok {
		c.Target = r
	}
	return c
}
