package flowclient

import (
	"encoding/json"
	"time"
)

// The kinds of events.
const (
	EventBuildStarted   = "build.started"
	EventBuildPassed    = "build.passed"
	EventBuildFailed    = "build.failed"
	EventPromoted       = "promotion.done"
	EventPromoteRefuse  = "promotion.refused"
	EventRolledBack     = "rollback.done"
	EventRollbackRefuse = "rollback.refused"
	EventLockSet        = "lock.set"
	EventLockCleared    = "lock.cleared"
	EventFreezeSet      = "freeze.set"
	EventFreezeCleared  = "freeze.cleared"
	EventAutoParked     = "auto.parked"        // only the window keeps a set; see AutoEvent
	EventAutoOpened     = "auto.opened"        // the window opened for what was parked by it; see AutoEvent
	EventAutoRefused    = "auto.refused"       // a set does not fit its cell
	EventAutoLeftOut    = "auto.left-out"      // a component is locked
	EventAutoLeftAlone  = "auto.left-alone"    // a component's staging page does not answer
	EventAutoBroken     = "auto.broken"        // an annotation cannot be read: nothing moves by itself
	EventExternal       = "promotion.external" // production was pinned past the controller

	EventScaffolded = "project.scaffolded"
	EventRemoved    = "project.removed"

	EventPullOpened  = "pull.opened"  // opened or reopened
	EventPullUpdated = "pull.updated" // an open one has another head, or another title
	EventPullMerged  = "pull.merged"
	EventPullClosed  = "pull.closed" // without being merged

	EventReviewQueued    = "review.queued"    // no place is free
	EventReviewCreated   = "review.created"   // answers for the first time
	EventReviewUpdated   = "review.updated"   // answers with a newer head
	EventReviewFailed    = "review.failed"    // the build or the deployment of a head failed
	EventReviewDestroyed = "review.destroyed" // nothing is left of it; of a Review that is queued: it was never made
)

// Event is something that happened, recorded in the same transaction as its
// effect. Announcements, pages and evidence are made from events; Key makes an
// event unique however often it is noticed.
type Event struct {
	Seq         int64           `json:"seq"` // given by the journal, increasing
	Key         string          `json:"key"` // "build/web-run-1a2b3c4d/failed"
	Kind        string          `json:"kind"`
	At          time.Time       `json:"at"`
	Project     string          `json:"project"`
	Component   string          `json:"component,omitempty"`
	Walkthrough bool            `json:"walkthrough,omitempty"` // a walkthrough's project: announced in the sandbox
	Body        json.RawMessage `json:"body"`                  // BuildEvent, MoveEvent, LockEvent, FreezeEvent, ProjectEvent, PullEvent, ReviewEvent, AutoEvent, ExternalEvent by Kind
}

// BuildEvent is the body of build.started, build.passed and build.failed.
type BuildEvent struct {
	Build   Build    `json:"build"`
	Subject string   `json:"subject,omitempty"` // of the commit
	Author  string   `json:"author,omitempty"`
	Lines   []string `json:"lines,omitempty"` // last forty of the failed stage
}

// MoveEvent is the body of promotion.done, promotion.refused, rollback.done and rollback.refused.
type MoveEvent struct {
	Origin   Origin          `json:"origin"`
	Outcome  Outcome         `json:"outcome"`
	Refusal  *Refusal        `json:"refusal,omitempty"`
	Decision json.RawMessage `json:"decision,omitempty"` // of a refusal: what was asked, with the inputs; a move's is its intent's
}

// AutoEvent is the body of the events auto.*: what the automatic pass leaves
// where it is, told when that begins. Of auto.opened it is what was parked, as
// it is decided once the window is open: Moves tells of each component whether
// it is promoted, or what else keeps it, and Flips is when the window closes.
type AutoEvent struct {
	Set      []string           `json:"set"`             // components
	Cause    string             `json:"cause"`           // the gate, or the annotation that cannot be read
	Sentence string             `json:"sentence"`        // the gate's
	Gates    []Verdict          `json:"gates"`           // about the set and its components
	Moves    []ComponentOutcome `json:"moves"`           // what it keeps: each From and To
	Flips    *time.Time         `json:"flips,omitempty"` // when it may be over by time alone
	Decision json.RawMessage    `json:"decision"`        // the plan with its inputs
}

// ExternalEvent is the body of promotion.external: a production binding names
// a release that no intent of the controller put there.
type ExternalEvent struct {
	Binding    string    `json:"binding"`
	From       string    `json:"from,omitempty"`       // what the controller had put there last, where that is known
	FromCommit string    `json:"fromCommit,omitempty"` // of what it had put there, where that is known
	To         string    `json:"to"`
	ToCommit   string    `json:"toCommit,omitempty"`
	By         string    `json:"by,omitempty"` // what promoted-by says, which may be of an earlier pin
	At         time.Time `json:"at"`           // when it was first seen
}

// LockEvent is the body of lock.set and lock.cleared.
type LockEvent struct {
	Who   string `json:"who"`
	Link  string `json:"link,omitempty"`  // the message that asked
	Trace string `json:"trace,omitempty"` // the traceparent of the request
	Locks []Lock `json:"locks"`
}

// FreezeEvent is the body of freeze.set and freeze.cleared. A freeze of every project has an event of no project.
type FreezeEvent struct {
	Who    string `json:"who"`             // who set it, or cleared it
	Link   string `json:"link,omitempty"`  // the message that asked
	Trace  string `json:"trace,omitempty"` // the traceparent of the request
	Freeze Freeze `json:"freeze"`
}

// ProjectEvent is the body of project.scaffolded and project.removed.
type ProjectEvent struct {
	Who        string     `json:"who"`
	Template   string     `json:"template,omitempty"`
	Repository Repository `json:"repository,omitzero"`
	Commit     Commit     `json:"commit,omitzero"`
}

// PullEvent is the body of pull.opened, pull.updated, pull.merged and pull.closed.
type PullEvent struct {
	Pull Pull `json:"pull"`
}

// ReviewEvent is the body of the events review.*.
type ReviewEvent struct {
	Review Review   `json:"review"` // its Place is as it was then
	Pull   Pull     `json:"pull"`
	Stage  string   `json:"stage,omitempty"` // that failed
	Run    string   `json:"run,omitempty"`   // whose stage failed
	Page   string   `json:"page,omitempty"`  // of that run, for people
	Lines  []string `json:"lines,omitempty"` // last forty of it
	Why    string   `json:"why,omitempty"`   // a sentence, when it was destroyed or failed
}
