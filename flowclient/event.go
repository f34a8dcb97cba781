package flowclient

import (
	"encoding/json"
	"time"
)

// The kinds of events.
const (
	EventBuildStarted  = "build.started"
	EventBuildPassed   = "build.passed"
	EventBuildFailed   = "build.failed"
	EventPromoted      = "promotion.done"
	EventPromoteRefuse = "promotion.refused"
	EventRolledBack    = "rollback.done"
	EventLockSet       = "lock.set"
	EventLockCleared   = "lock.cleared"
	EventScaffolded    = "project.scaffolded"
	EventRemoved       = "project.removed"

	EventPullOpened = "pull.opened" // opened or reopened
	EventPullMerged = "pull.merged"
	EventPullClosed = "pull.closed" // without being merged

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
	Body        json.RawMessage `json:"body"`                  // BuildEvent, MoveEvent, LockEvent, ProjectEvent, PullEvent, ReviewEvent by Kind
}

// BuildEvent is the body of build.started, build.passed and build.failed.
type BuildEvent struct {
	Build   Build    `json:"build"`
	Subject string   `json:"subject,omitempty"` // of the commit
	Author  string   `json:"author,omitempty"`
	Lines   []string `json:"lines,omitempty"` // last forty of the failed stage
}

// MoveEvent is the body of promotion.done, promotion.refused and rollback.done.
type MoveEvent struct {
	Origin  Origin   `json:"origin"`
	Outcome Outcome  `json:"outcome"`
	Refusal *Refusal `json:"refusal,omitempty"`
}

// LockEvent is the body of lock.set and lock.cleared.
type LockEvent struct {
	Who   string `json:"who"`
	Locks []Lock `json:"locks"`
}

// ProjectEvent is the body of project.scaffolded and project.removed.
type ProjectEvent struct {
	Who        string     `json:"who"`
	Template   string     `json:"template,omitempty"`
	Repository Repository `json:"repository,omitzero"`
	Commit     Commit     `json:"commit,omitzero"`
}

// PullEvent is the body of pull.opened, pull.merged and pull.closed.
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
