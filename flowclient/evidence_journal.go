package flowclient

import (
	"cmp"
	"context"
	"slices"
	"strings"
)

// subjects is what intents and events are evidence about.
type subjects struct {
	commits    []string
	components []string
	runs       []string
	intents    []string // ids
	events     []Event  // of requests made in the trace that is asked about
	moves      bool     // every promotion and rollback of the components counts
}

// mentions tells whether a recorded text is about one of the commits, runs or intents.
func (s subjects) mentions(texts ...string) bool {
	for _, known := range [][]string{s.commits, s.runs, s.intents} {
		for _, name := range known {
			for _, text := range texts {
				if name != "" && strings.Contains(text, name) {
					return true
				}
			}
		}
	}
	return false
}

func (s subjects) intent(in Intent) (bool, error) {
	switch {
	case slices.Contains(s.intents, in.ID):
		return true, nil
	case isMove(in):
		return s.move(in)
	}
	return s.mentions(string(in.Outcome), string(in.Body)), nil
}

// close adds what the journal knows of a project about the subjects, the
// commits themselves, their traces, those of the builds and the links of who asked.
func (q *inquiry) close(ctx context.Context, project string, about subjects) (Evidence, error) {
	e := &q.evidence
	ids, err := q.intents(ctx, project, about)
	if err != nil {
		return Evidence{}, err
	}
	about.intents = ids
	if err := q.happened(ctx, project, about); err != nil {
		return Evidence{}, err
	}
	var built []string // the traces that builds have to themselves, made at their ends
	for _, b := range e.Builds {
		e.Links = append(e.Links, b.URL)
		if b.CompletedAt != nil {
			built = append(built, TraceIDOf(TraceBuild, b.Run))
		}
	}
	if err := q.commits(ctx, project, about.commits); err != nil {
		return Evidence{}, err
	}
	traces, err := q.c.tracesOf(ctx, about.commits)
	if err != nil {
		return Evidence{}, err
	}
	e.Traces, e.Links = unique(slices.Concat(e.Traces, traces, built)), unique(e.Links)
	return *e, nil
}

// intents adds the newest intents about the subjects, and gives the ids of all.
func (q *inquiry) intents(ctx context.Context, project string, about subjects) (ids []string, err error) {
	intents, err := q.c.deps.History.IntentsOf(ctx, project, maxEvidence)
	if err != nil {
		return nil, err
	}
	ids = slices.Clone(about.intents)
	var found []Intent
	for _, in := range intents {
		ok, err := about.intent(in)
		if err != nil {
			return nil, err
		}
		if ok {
			ids, found = append(ids, in.ID), append(found, in)
		}
	}
	newest := shown(found, func(in Intent) int { return len(in.Body) + 2*len(in.Outcome) })
	if len(newest) < len(found) {
		q.note("Of %d decisions about %s the newest %d are shown; the audit trail has all of them.", len(found), project, len(newest))
	}
	for _, in := range newest {
		one, err := evident(in)
		if err != nil {
			return nil, err
		}
		q.evidence.Intents = append(q.evidence.Intents, one)
		q.evidence.Links = append(q.evidence.Links, one.Link)
	}
	return ids, nil
}

// happened adds the events about the subjects, and the refusals among them as decisions.
func (q *inquiry) happened(ctx context.Context, project string, about subjects) error {
	e := &q.evidence
	events, err := q.c.deps.History.EventsOf(ctx, project, maxEvidence)
	if err != nil {
		return err
	}
	traced := map[string]bool{}
	for _, event := range about.events {
		traced[event.Key] = event.Project == project
		if event.Project == project && !slices.ContainsFunc(events, func(other Event) bool { return other.Key == event.Key }) {
			events = append(events, event) // older than the newest that were read
		}
	}
	var refusals []Event
	for _, event := range events {
		if !slices.Contains(refusalKinds, event.Kind) {
			if traced[event.Key] || about.mentions(event.Key, string(event.Body)) {
				e.Events, e.Links = append(e.Events, event), append(e.Links, pullLink(event))
			}
			continue
		}
		ok, err := about.refusal(event)
		if err != nil {
			return err
		}
		if ok || traced[event.Key] {
			refusals = append(refusals, event)
		}
	}
	newest := shown(refusals, func(e Event) int { return 2 * len(e.Body) })
	if len(newest) < len(refusals) {
		q.note("Of %d refusals about %s the newest %d are shown; the audit trail has all of them.", len(refusals), project, len(newest))
	}
	for _, event := range newest {
		one, err := evidentRefusal(event)
		if err != nil {
			return err
		}
		e.Events = append(e.Events, event)
		e.Refused, e.Links = append(e.Refused, one), append(e.Links, one.Link)
	}
	slices.SortFunc(e.Events, func(a, b Event) int { return cmp.Compare(a.Seq, b.Seq) })
	return nil
}
