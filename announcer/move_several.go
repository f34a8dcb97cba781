package announcer

import (
	"encoding/json"
	"slices"
	"strings"

	"platform.dev/platform/bots/markup"
	"platform.dev/platform/flowclient"
)

const (
	// maxMoving is how many components one message of moves names; what comes after them is told in another.
	maxMoving = 50
	// maxMovings is how many such messages are remembered.
	maxMovings = 64
)

// moving is what the automatic pass moved of a project within Together. The
// components of one push are through their soaks a moment apart, and each pass
// takes those that are: to people it is one thing that happened, and is told as
// one promotion, in the words of promotion.done.
type moving struct {
	growing
	project string
	body    flowclient.MoveEvent
}

func (m *moving) tell(people) (markup.Message, any) {
	told := promoted(flowclient.Event{Project: m.project}, m.body)
	told.Kind = kindPrefix + flowclient.EventPromoted
	return told, m.body
}

// takes tells whether an event's outcome can be told with what is known: a
// component that moves once more is another promotion.
func (m *moving) takes(e flowclient.Event, o flowclient.Outcome) bool {
	known := m.body.Outcome.Components
	if m.ended || m.project != e.Project || !m.within(e) || len(known)+len(o.Components) > maxMoving {
		return false
	}
	return !slices.ContainsFunc(o.Components, func(c flowclient.ComponentOutcome) bool {
		return slices.ContainsFunc(known, func(k flowclient.ComponentOutcome) bool {
			return k.Component == c.Component && k.Result == flowclient.Promoted
		})
	})
}

// add takes an outcome in. What waited before and is told of anew is told as it is now.
func (m *moving) add(o flowclient.Outcome) {
	m.count++
	kept := slices.DeleteFunc(slices.Clone(m.body.Outcome.Components), func(k flowclient.ComponentOutcome) bool {
		return slices.ContainsFunc(o.Components, func(c flowclient.ComponentOutcome) bool { return c.Component == k.Component })
	})
	m.body.Outcome.Components = append(kept, o.Components...) // a template may have the former
	if !strings.Contains(m.body.Outcome.Note, o.Note) {
		m.body.Outcome.Note = strings.TrimSpace(m.body.Outcome.Note + " " + o.Note)
	}
}

// movings are the latest ones.
type movings struct{ order []*moving }

// see takes note of an event; nil when it is no promotion by the automatic
// pass. Whatever else is told beside promotions ends what is under way: added
// to, a message would tell of what came after as if it came before.
func (l *movings) see(e flowclient.Event) *moving {
	if kinds[e.Kind].topic != topicPromotions {
		return nil
	}
	var b flowclient.MoveEvent
	if e.Kind != flowclient.EventPromoted || json.Unmarshal(e.Body, &b) != nil || b.Origin.Who != automatic {
		for _, known := range l.order {
			known.ended = known.ended || known.project == e.Project
		}
		return nil
	}
	for _, known := range l.order {
		if known.takes(e, b.Outcome) {
			known.add(b.Outcome)
			return known
		}
		known.ended = known.ended || known.project == e.Project
	}
	of := &moving{growing: growing{onset: onsetOf(e), count: 1}, project: e.Project, body: b}
	l.order = remembered(l.order, of, maxMovings)
	return of
}
