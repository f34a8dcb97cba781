package flowclient

import (
	"context"
	"encoding/json"
	"time"
)

// ControlPlane reads and writes objects of one namespace. Errors: *NotFound,
// ErrExists (Create), ErrConflict (Update with an ETag that is not current),
// *Invalid (the server refused a field), *Upstream for everything else.
type ControlPlane interface {
	// Get is the object of that kind and name.
	Get(ctx context.Context, kind Kind, name string) (Object, error)
	// List returns every object of the kind, whatever the pages.
	List(ctx context.Context, kind Kind, filter Filter) ([]Object, error)
	// Create makes the object, and returns it as the server keeps it.
	Create(ctx context.Context, o Object) (Object, error)
	// Update replaces labels, annotations and spec; conditional when o.ETag is set and the server honours it.
	Update(ctx context.Context, o Object) (Object, error)
	// Delete removes the object; what the server refuses to remove while others need it is *Refusal.
	Delete(ctx context.Context, kind Kind, name string) error
	// RunLog is the output of a stage of a WorkflowRun ("" for all stages), oldest first.
	RunLog(ctx context.Context, run, stage string) ([]LogLine, error)
}

// Filter narrows a list; a kind that does not know a filter ignores it on the server, so callers compare too.
type Filter struct {
	Project       string
	Component     string
	LabelSelector string // key=value[,key=value]
}

// Git is the git server. Repositories are named "owner/name". Errors: *NotFound, ErrExists, *Upstream.
type Git interface {
	// EnsureRepository creates the repository or returns the one there is.
	EnsureRepository(ctx context.Context, repo, description string) (Repository, error)
	// DeleteRepository removes the repository with all that is in it.
	DeleteRepository(ctx context.Context, repo string) error
	// Push commits files on top of branch and pushes it over HTTP. A push whose Key is
	// in the branch already is not repeated: its commit is returned.
	Push(ctx context.Context, p Push) (Commit, error)
	// Commit resolves a branch or a commit, abbreviated or whole; *Invalid when ambiguous.
	Commit(ctx context.Context, repo, ref string) (Commit, error)
	// Commits lists the newest commits reachable from ref, newest first, at most limit.
	Commits(ctx context.Context, repo, ref string, limit int) ([]Commit, error)
	// EnsureHook creates a hook with the URL, or updates the one with the same URL.
	EnsureHook(ctx context.Context, repo string, h Hook) error
	// SetStatus adds a status to a whole commit's SHA; the newest of a context counts.
	SetStatus(ctx context.Context, repo, sha string, s CommitStatus) error
}

// Repository is a repository on the git server.
type Repository struct {
	Name          string `json:"name"`           // owner/name
	CloneURL      string `json:"clone_url"`      // without credentials
	WebURL        string `json:"web_url"`        // page for people
	DefaultBranch string `json:"default_branch"` // main
}

// Push is a commit to make.
type Push struct {
	Repo, Branch string
	Base         string            // where a branch that does not exist yet begins; empty: at the default branch
	Key          string            // origin key, kept as a trailer of the commit
	Message      string            // subject and body
	Author       string            // display name; the address is made up by the client
	Files        map[string]string // path to content; an absent path is left alone
	Delete       []string
}

// Commit is a commit of a repository.
type Commit struct {
	SHA     string    `json:"sha"`
	Subject string    `json:"subject"`
	Author  string    `json:"author"`
	At      time.Time `json:"at"`
	WebURL  string    `json:"web_url"`
}

// Hook is a webhook of a repository.
type Hook struct {
	URL    string
	Secret string
	Events []string // push, pull_request
}

// CommitStatus is a status shown beside a commit.
type CommitStatus struct {
	Context, State, Description, URL string // State: pending success failure error
}

// Cluster tells about the machine that workloads run on.
type Cluster interface {
	// AvailableMemory is what new work could use, in bytes.
	AvailableMemory(ctx context.Context) (int64, error)
}

// Prober fetches an application's page for the URL check.
type Prober interface {
	// Probe GETs url without following redirects, within 5 s. unbound tells that the gateway answered, not the application.
	Probe(ctx context.Context, url string) (status int, unbound bool, err error)
}

// Journal is the controller's durable memory: intents with their outcomes, and
// the events that announcements and pages are made from. A method returns
// after its commit.
type Journal interface {
	// Begin records an intent under its origin key; when the key is known it returns the recorded one and fresh false.
	Begin(ctx context.Context, in Intent) (recorded Intent, fresh bool, err error)
	// Find is the intent recorded under an origin key; found is false when there is none.
	Find(ctx context.Context, key string) (in Intent, found bool, err error)
	// Settle records what an intent came to in one transaction. Settling twice changes nothing.
	Settle(ctx context.Context, id string, s Settlement) error
	// Open lists intents without an outcome, oldest first.
	Open(ctx context.Context) ([]Intent, error)
	// Note records events; one whose key is known is left out.
	Note(ctx context.Context, events ...Event) error
	// Events lists events after seq, at most limit, oldest first.
	Events(ctx context.Context, after int64, limit int) ([]Event, error)
}

// Settlement is what an intent came to.
type Settlement struct {
	Outcome json.RawMessage
	At      time.Time
	Events  []Event
	Hold    []Hold   // recorded; a component has one at most, the newest
	Lift    []string // components whose hold is lifted and whose backoff ends
}

// Intent is an effect that was decided on, recorded before the first write.
type Intent struct {
	ID      string          // chosen by the journal: short, unique, goes into AnnotationIntent
	Key     string          // origin: "zulip:31", a delivery id, an Idempotency-Key
	Kind    string          // promote, rollback, scaffold, teardown, commit
	Asked   string          // fingerprint of what was asked for: the key with another is another request
	Who     string          // persona or name of who asked
	At      time.Time       // when it was decided
	Body    json.RawMessage // the plan, by kind
	Outcome json.RawMessage // nil while open
}

// LockStore keeps commit locks and their append-only history.
type LockStore interface {
	// SetLock records a lock; the same component, commit and environment again changes nothing and returns the first. The event is recorded with it when it was fresh.
	SetLock(ctx context.Context, l Lock, e Event) (recorded Lock, fresh bool, err error)
	// ClearLocks clears the locks of component and commit; environment "" clears every entry. It returns what was cleared.
	ClearLocks(ctx context.Context, component, commit, environment, who string, at time.Time, event func([]Lock) Event) ([]Lock, error)
	// Locks lists the locks that hold, oldest first.
	Locks(ctx context.Context) ([]Lock, error)
}

// Sightings remembers when a release was first seen in an environment, for soak.
type Sightings interface {
	// Seen records that the binding runs the release at now, unless it is the one seen last, and returns since when it has.
	Seen(ctx context.Context, binding, release string, now time.Time) (since time.Time, err error)
}

// Runs keeps the one walkthrough at a time.
type Runs interface {
	// BeginRun records a walkthrough; when another is under way it returns that one and fresh false. The same key returns its run and fresh true.
	BeginRun(ctx context.Context, w Walkthrough) (recorded Walkthrough, fresh bool, err error)
	// UpdateRun records a run's step, and its end when w.Ended is set.
	UpdateRun(ctx context.Context, w Walkthrough) error
	// LastRuns lists runs, newest first, at most limit.
	LastRuns(ctx context.Context, limit int) ([]Walkthrough, error)
}
