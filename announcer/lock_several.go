package announcer

import (
	"encoding/json"
	"fmt"
	"slices"

	"platform.dev/platform/bots/markup"
	"platform.dev/platform/flowclient"
)

const (
	// kindSeveralLocks names the message of several locks that one person set, or cleared, one after the other.
	kindSeveralLocks = "lock.several"
	// maxLocks is how many of them it lists, the first ones.
	maxLocks = 20
	// maxLockings is how many are remembered; what comes after an older one is told by itself.
	maxLockings = 64
)

// Locking is several locks of a project that one person set, or cleared,
// within Together: what the templates of lock.several have as their body.
type Locking struct {
	Project string
	Who     string
	Cleared bool              // they were cleared, not set
	Locks   []flowclient.Lock // in the order in which that was asked for
	Links   []string          // the messages that asked, each once
}

// locking is what is known of one.
type locking struct {
	Locking
	growing
}

func (l *locking) tell(people) (markup.Message, any) { return severalLocks(l.Locking), l.Locking }

// lockings are the latest ones.
type lockings struct{ order []*locking }

// see takes note of an event; nil when it is of no lock.
func (l *lockings) see(e flowclient.Event) *locking {
	if e.Kind != flowclient.EventLockSet && e.Kind != flowclient.EventLockCleared {
		return nil
	}
	var b flowclient.LockEvent
	if json.Unmarshal(e.Body, &b) != nil {
		return nil // whoever announces it says so
	}
	cleared := e.Kind == flowclient.EventLockCleared
	var of *locking
	for _, known := range l.order {
		switch {
		case known.Project != e.Project || known.ended:
		case known.Cleared != cleared:
			known.ended = true // what it did may have been taken back: added to, it would tell of what came after as if it came before
		case known.Who == b.Who && known.within(e):
			of = known
		}
	}
	if of == nil {
		of = &locking{Locking: Locking{Project: e.Project, Who: b.Who, Cleared: cleared}, growing: growing{onset: onsetOf(e)}}
		l.order = remembered(l.order, of, maxLockings)
	}
	of.count++
	of.Locks = append(slices.Clip(of.Locks), b.Locks...) // a template may have the former
	if b.Link != "" && !slices.Contains(of.Links, b.Link) {
		of.Links = append(slices.Clip(of.Links), b.Link)
	}
	return of
}

// severalLocks tells of locks that one person set, or cleared, one after the other.
func severalLocks(l Locking) markup.Message {
	m := markup.Message{Kind: kindPrefix + kindSeveralLocks, Status: markup.Notice}
	done := "set"
	if l.Cleared {
		done = "cleared"
	}
	m.Title = markup.Spans(markup.T(fmt.Sprintf("%d locks of ", len(l.Locks))), markup.B(l.Project), markup.T(" were "+done+" by "), markup.F(l.Who))
	var items [][]markup.Span
	for _, lock := range l.Locks[:min(len(l.Locks), maxLocks)] {
		items = append(items, append(markup.Spans(markup.B(lock.Component), markup.T(" ")), lockLine(lock)...))
	}
	m.Blocks = listed(items, len(l.Locks))
	if !l.Cleared {
		m.Blocks = append(m.Blocks, markup.Text(markup.T(lockedMeans)))
		for _, lock := range l.Locks[:len(items)] {
			if lock.Note != "" {
				m.Blocks = append(m.Blocks, markup.Text(markup.B("But "), markup.F(lock.Component), markup.T(": "), markup.F(lock.Note)))
			}
		}
	}
	for _, link := range l.Links[:min(len(l.Links), maxLocks)] {
		m = withLink(m, link)
	}
	return m
}
