package flowclient

import (
	"context"
	"encoding/json"
	"time"
)

// Puller opens and merges pull requests, and knows their review environments.
type Puller interface {
	// OpenPull makes a branch with a commit and opens a pull request of it, once per origin key.
	OpenPull(ctx context.Context, r PullRequest) (Pull, error)
	// Merge merges an open pull request; a conflict or a moved head is a Refusal.
	Merge(ctx context.Context, r MergeRequest) (Pull, error)
	// Reviews lists the review environments there are, queued ones included, oldest first.
	Reviews(ctx context.Context) ([]Review, error)
	// Delivered is told of a delivery of the git server that concerns a pull request. It only says where to
	// look: what is done follows from the pull request as it stands, so that deliveries may be repeated,
	// reordered or lost. It returns once that is durable.
	Delivered(ctx context.Context, d PullDelivery) error
}

// Syncer applies a repository's manifests.
type Syncer interface {
	// Sync merges the manifests at ref into the control plane and reports each; the commit
	// gets the status platform/manifests. What is refused does not keep the rest from being applied.
	Sync(ctx context.Context, r SyncRequest) (Synced, error)
}

// Witness tells what happened and why.
type Witness interface {
	// EvidenceOfBuild is what is known of a run; *NotFound.
	EvidenceOfBuild(ctx context.Context, run string) (Evidence, error)
	// EvidenceOfBinding is what is known of how a binding came to run what it runs; *NotFound.
	EvidenceOfBinding(ctx context.Context, binding string) (Evidence, error)
	// EvidenceOfFlow is what is known of a trace, by its id of 32 hexadecimal digits; *NotFound.
	EvidenceOfFlow(ctx context.Context, traceID string) (Evidence, error)
	// Replay decides again what was decided before, from the recorded inputs: an intent by its id, a refusal by its event's key; *NotFound.
	Replay(ctx context.Context, id string) (Replayed, error)
	// Diff is what a promote of the project would ship now: per component the commits between production and staging.
	Diff(ctx context.Context, project string) (Diff, error)
	// Audit is a page of the audit trail, newest first: every decision with who asked and what came of it.
	Audit(ctx context.Context, q AuditQuery) (AuditPage, error)
	// Dora is how a project delivered in the last days (1 to MaxDoraDays), by the four measures of the DORA programme; *NotFound.
	Dora(ctx context.Context, project string, days int) (DoraReport, error)
}

// PullRequest asks for a pull request with a change.
type PullRequest struct {
	Origin  Origin            `json:"origin"`
	Project string            `json:"project"`
	Branch  string            `json:"branch"`         // head branch, made from Base
	Base    string            `json:"base,omitempty"` // default: the default branch
	Title   string            `json:"title"`
	Body    string            `json:"body,omitempty"`
	Files   map[string]string `json:"files"`
	Delete  []string          `json:"delete,omitempty"`
}

// MergeRequest asks for an open pull request to be merged.
type MergeRequest struct {
	Origin  Origin `json:"origin"`
	Project string `json:"project"`
	Number  int    `json:"number"`
	Head    string `json:"head,omitempty"` // whole SHA that must still be the head; empty: whatever it is
}

// Pull is a pull request as the git server has it.
type Pull struct {
	Repo        string    `json:"repo"` // owner/name
	Number      int       `json:"number"`
	Title       string    `json:"title"`
	State       string    `json:"state"` // open, closed
	Merged      bool      `json:"merged,omitempty"`
	MergeCommit string    `json:"mergeCommit,omitempty"`
	Branch      string    `json:"branch"` // head
	Head        string    `json:"head"`   // whole SHA
	Base        string    `json:"base"`
	Labels      []string  `json:"labels,omitempty"`
	Author      string    `json:"author"`
	URL         string    `json:"url"`
	Updated     time.Time `json:"updated"`
}

// Label is a word that pull requests of a repository may bear.
type Label struct {
	Name        string
	Color       string // six hex digits behind a #
	Description string
}

// PullDelivery is a delivery of the git server about a pull request.
type PullDelivery struct {
	ID     string    `json:"id"`     // delivery UUID
	Repo   string    `json:"repo"`   // owner/name
	Number int       `json:"number"` // of the pull request
	Action string    `json:"action"` // as delivered, for the record
	At     time.Time `json:"at"`
}

// The states of a Review.
const (
	ReviewQueued     = "queued" // over the cap: made when a place frees
	ReviewCreating   = "creating"
	ReviewPresent    = "present"
	ReviewFailed     = "failed" // its build or deployment failed; it still takes a place
	ReviewDestroying = "destroying"
)

// Review is a pull request's review environment.
type Review struct {
	Project     string    `json:"project"`
	Repo        string    `json:"repo"`
	Number      int       `json:"number"`
	Environment string    `json:"environment"` // pr-<number>
	State       string    `json:"state"`
	Head        string    `json:"head"`          // the commit it shows, or is being made from
	URL         string    `json:"url,omitempty"` // of its first component
	Run         string    `json:"run,omitempty"` // the build of the head, of its first component
	Place       int       `json:"place,omitempty"`
	Message     string    `json:"message,omitempty"`
	Active      time.Time `json:"active"` // last activity on the pull request: what its time to live counts from
	Line        int64     `json:"-"`      // its place in the order of opening, increasing: what a page of a list goes on from
}

// SyncRequest names a repository's branch or commit.
type SyncRequest struct {
	Origin Origin `json:"origin"`
	Repo   string `json:"repo"` // owner/name
	Ref    string `json:"ref"`  // branch
}

// Synced lists what became of each manifest.
type Synced struct {
	Repo    string       `json:"repo"`
	Commit  string       `json:"commit"`
	Created int          `json:"created"`
	Updated int          `json:"updated"`
	Skipped int          `json:"skipped"`
	Refused int          `json:"refused"`
	Objects []SyncObject `json:"objects,omitempty"`
}

// SyncObject is what became of one manifest.
type SyncObject struct {
	File   string `json:"file"`
	Kind   string `json:"kind"`
	Name   string `json:"name"`
	Result string `json:"result"`        // created, updated, skipped, refused
	Why    string `json:"why,omitempty"` // a sentence, when refused
}

// Evidence is what is known about a build, a binding or a flow: who asked, what was decided on which inputs, what was written.
type Evidence struct {
	Subject string          `json:"subject"`
	Builds  []Build         `json:"builds,omitempty"`
	Intents []EvidentIntent `json:"intents,omitempty"`
	Events  []Event         `json:"events,omitempty"`
	Objects []Object        `json:"objects,omitempty"` // as they stand now
	Commits []Commit        `json:"commits,omitempty"`
	Traces  []string        `json:"traces,omitempty"` // trace ids
	Links   []string        `json:"links,omitempty"`

	// Refused is the decisions against something, shown as intents are: ID is the key of the event that tells of it.
	Refused  []EvidentIntent `json:"refused,omitempty"`
	Logs     []StageLog      `json:"logs,omitempty"`     // the last lines of each stage of the builds
	Services []string        `json:"services,omitempty"` // whose spans the trace has, by name
	Notes    []string        `json:"notes,omitempty"`    // sentences: what could not be read, or is left out
}

// StageLog is the end of a stage's log.
type StageLog struct {
	Run   string   `json:"run"`
	Stage string   `json:"stage"`
	Phase string   `json:"phase"`
	Lines []string `json:"lines"` // oldest first
}

// EvidentIntent is an intent with its outcome, as evidence shows it.
type EvidentIntent struct {
	ID      string          `json:"id"`
	Kind    string          `json:"kind"`
	Key     string          `json:"key"`
	Who     string          `json:"who"`
	At      time.Time       `json:"at"`
	Plan    json.RawMessage `json:"plan"`
	Outcome json.RawMessage `json:"outcome,omitempty"`

	Link   string    `json:"link,omitempty"`   // the message that asked
	Gates  []Verdict `json:"gates,omitempty"`  // what was asked, with the numbers compared
	Writes []Written `json:"writes,omitempty"` // each object before and after
	// Replayed tells whether the recorded inputs come to the same decision now, byte for byte; nil where no rule decided it or none are kept.
	Replayed *bool `json:"replayed,omitempty"`
}

// Diff is what a promote would ship.
type Diff struct {
	Project    string          `json:"project"`
	Components []ComponentDiff `json:"components"`
}

// ComponentDiff is one component's commits between production and staging.
type ComponentDiff struct {
	Component string   `json:"component"`
	From      string   `json:"from,omitempty"`   // commit in production; empty: nothing runs there
	To        string   `json:"to,omitempty"`     // commit in staging
	Commits   []Commit `json:"commits"`          // newest first; at most 100
	More      bool     `json:"more,omitempty"`   // there are older ones
	Behind    bool     `json:"behind,omitempty"` // staging is older than production, or on another line
}

// Pulls is the pull-request side of the git server (port). Errors as Git's.
type Pulls interface {
	// EnsurePull opens a pull request from branch to base, or returns the open one there is.
	EnsurePull(ctx context.Context, repo, branch, base, title, body string) (Pull, error)
	// Pull is the pull request of that number, open or not.
	Pull(ctx context.Context, repo string, number int) (Pull, error)
	// OpenPulls lists every open pull request; an error means that the list is not complete.
	OpenPulls(ctx context.Context, repo string) ([]Pull, error)
	// MergePull merges when the head is still head ("" for any); *Refusal for a conflict or a moved head.
	MergePull(ctx context.Context, repo string, number int, head string) (Pull, error)
	// Comment keeps one comment per key on a pull request: made the first time, edited when the text differs.
	Comment(ctx context.Context, repo string, number int, key, text string) error
	// EnsureLabel gives a repository a label that its pull requests may bear, unless it has one of that name.
	EnsureLabel(ctx context.Context, repo string, l Label) error
	// DeleteBranch removes a branch; *Refusal for one that the server keeps.
	DeleteBranch(ctx context.Context, repo, branch string) error
	// Compare lists the commits reachable from head and not from base, newest first, at most limit; more tells that there are others.
	Compare(ctx context.Context, repo, base, head string, limit int) (commits []Commit, more bool, err error)
	// Files reads the files below dir at ref, at most 1 MiB each and 500 files; none when there is no such directory.
	Files(ctx context.Context, repo, ref, dir string) (map[string]string, error)
}

// Traces remembers trace contexts against commits (port). A context is a W3C traceparent.
type Traces interface {
	// Remember keeps the context that a commit was asked for in; the first one stays.
	Remember(ctx context.Context, sha, traceparent string, at time.Time) error
	Recall(ctx context.Context, sha string) (traceparent string, err error) // "" when none is known
	// Traced lists the commits that are remembered with a context of the trace (32 hexadecimal digits), oldest first.
	Traced(ctx context.Context, traceID string) (shas []string, err error)
}
