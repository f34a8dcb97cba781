package flowclient

import "time"

// Record is a row of the journal: an intent or an event.
type Record struct {
	Seq    int64 // of its kind of row, increasing
	At     time.Time
	Intent *Intent // or
	Event  *Event
}

// RecordQuery asks for records of the kinds named, newest first. Empty fields
// narrow nothing.
type RecordQuery struct {
	Intents []string // kinds of intents
	Events  []string // kinds of events

	Project   string
	Component string // asked for, moved, judged by a gate, or what the event is about
	Who       string

	Before RecordMark // what comes after it; zero for the newest
	Limit  int        // at most so many
	// Without are JSON paths ("$.inputs") that are left out of the bodies.
	Without []string
}

// RecordMark is the place of a record in the order by At, the intents before
// the events of the same instant, and Seq. New records do not move it.
type RecordMark struct {
	At     time.Time
	Intent bool
	Seq    int64 // 0: no place
}

// Mark is the record's place.
func (r Record) Mark() RecordMark { return RecordMark{At: r.At, Intent: r.Intent != nil, Seq: r.Seq} }
