package flowclient

import "time"

// Row is a kind of row that records are made of.
type Row string

// The kinds of rows, in the order in which they come at one instant: what a bot
// decides goes before what the controller does about it, and that before what happened.
const (
	RowDecision Row = "d"
	RowIntent   Row = "i"
	RowEvent    Row = "e"
)

// Record is a row of the journal: an intent or an event, or a decision of a bot.
type Record struct {
	Seq      int64 // of its kind of row, increasing
	At       time.Time
	Intent   *Intent // or
	Event    *Event  // or
	Decision *Decision
}

// RecordQuery asks for records of the kinds named, newest first. Empty fields
// narrow nothing.
type RecordQuery struct {
	Intents   []string // kinds of intents
	Events    []string // kinds of events
	Decisions []string // kinds of decisions

	Project   string
	Component string // asked for, moved, judged by a gate, or what the event is about; no decision is about one
	Who       string // of a decision about somebody unknown, the chat's name of the account

	Before RecordMark // what comes after it; zero for the newest
	Limit  int        // at most so many
	// Without are JSON paths ("$.inputs") that are left out of the bodies.
	Without []string
}

// RecordMark is the place of a record in the order by At, the kinds of rows of
// the same instant, and Seq. New records do not move it.
type RecordMark struct {
	At  time.Time
	Row Row
	Seq int64 // 0: no place
}

// Mark is the record's place.
func (r Record) Mark() RecordMark {
	m := RecordMark{At: r.At, Row: RowEvent, Seq: r.Seq}
	switch {
	case r.Intent != nil:
		m.Row = RowIntent
	case r.Decision != nil:
		m.Row = RowDecision
	}
	return m
}
