// Package flowclient is the flow controller as a library: scaffolding, pull
// requests with their review environments, manifests, promotion, rollback,
// commit locks, production windows and freezes, delivery, evidence. A
// *Controller decides by rules that take the instant, writes through ports,
// and keeps every effect's origin in a journal, so that a crash between any
// two writes loses and doubles nothing.
//
// It knows no HTTP, no chat, no vendor.
package flowclient

import (
	"context"
	"time"
)

// Flow is the whole controller, as handlers, endpoints and pages call it.
type Flow interface {
	Reader
	Promoter
	Locker
	Freezer
	Author
	Walker
	Puller
	Syncer
	Witness
}

// Reader answers questions and changes nothing.
type Reader interface {
	// Delivery is every component, where it runs and as what.
	Delivery(ctx context.Context) (Delivery, error)
	// Builds lists the builds that the controller is waiting on, oldest first.
	Builds(ctx context.Context) ([]Build, error)
	// Build is one build with its stages; *NotFound.
	Build(ctx context.Context, run string) (Build, error)
	// BuildLog is the last lines of a stage ("" for all), oldest first.
	BuildLog(ctx context.Context, run, stage string, last int) ([]string, error)
	// State is how the controller itself stands, and what it waits for.
	State(ctx context.Context) (State, error)
	// Window is the project's production window as it stands now; *NotFound.
	Window(ctx context.Context, project string) (Window, error)
	// Why is what is against a promotion of a project, or ("" for all) of one component, gate by gate, and from when on it could happen; *NotFound.
	Why(ctx context.Context, project, component string) (Why, error)
	// Host is what the machine that workloads run on has left.
	Host(ctx context.Context) (Host, error)
}

// Promoter moves releases.
type Promoter interface {
	// Promote moves what staging runs to production; a *Refusal is for the whole request, and tells what each gate said.
	Promote(ctx context.Context, r Promotion) (Outcome, error)
	// Rollback moves production back to what the last promotion displaced; *Refusal without a record of it.
	Rollback(ctx context.Context, r Promotion) (Outcome, error)
	// Undo takes back the newest promotion of a project that was asked for through the same door, in every component that it moved, or (DryRun) tells what it would; a *Refusal says what is different since.
	Undo(ctx context.Context, r UndoRequest) (Outcome, error)
}

// Locker locks commits.
type Locker interface {
	// Locks lists the locks that hold.
	Locks(ctx context.Context) ([]Lock, error)
	// SetLock keeps a commit from being promoted; the lock that is there already is returned as it is.
	SetLock(ctx context.Context, r LockRequest) (Lock, error)
	// ClearLock clears the locks that the request names and returns them; *NotFound when none holds.
	ClearLock(ctx context.Context, r LockRequest) ([]Lock, error)
	// Unlocking is what ClearLock would clear and what could move then; it writes nothing. *NotFound when none holds.
	Unlocking(ctx context.Context, r LockRequest) (Unlocking, error)
}

// Author makes and removes projects and commits to them.
type Author interface {
	// Scaffold makes a project from a template: its repository, its objects, its hooks.
	Scaffold(ctx context.Context, r ScaffoldRequest) (Scaffolded, error)
	// Teardown removes walkthrough projects with all that belongs to them; what is not of a walkthrough stays.
	Teardown(ctx context.Context, r TeardownRequest) (Removed, error)
	// Commit pushes a commit to a project's repository, as a person's push would be.
	Commit(ctx context.Context, r CommitRequest) (Commit, error)
}

// Walker admits one walkthrough at a time.
type Walker interface {
	// BeginWalkthrough refuses while another is under way and below the memory floor, naming both numbers.
	BeginWalkthrough(ctx context.Context, key, template, who string) (Walkthrough, error)
	// UpdateWalkthrough records the step reached, and the end when Ended is set.
	UpdateWalkthrough(ctx context.Context, w Walkthrough) error
	// Walkthroughs lists runs, newest first.
	Walkthroughs(ctx context.Context) ([]Walkthrough, error)
}

// Origin says where a request came from: Key deduplicates its effect, Who and Link go into the record.
type Origin struct {
	Key  string `json:"key"`            // "zulip:31"; required for every write
	Who  string `json:"who"`            // persona
	Link string `json:"link,omitempty"` // the message that asked
	// Trace is the W3C traceparent that the request came with; remembered against the commit it makes.
	Trace string `json:"trace,omitempty"`
}

// Promotion asks to move a project's releases (or one component's) to production, or back.
type Promotion struct {
	Origin    Origin `json:"origin"`
	Project   string `json:"project"`
	Component string `json:"component,omitempty"` // empty: every component of the project
	DryRun    bool   `json:"dryRun,omitempty"`
	// Environment is where to: production when empty. The root of the pipeline can be neither promoted to nor rolled back.
	Environment string `json:"environment,omitempty"`
	// Force lifts the capacity gate of a promotion; recorded.
	Force bool `json:"force,omitempty"`
	// SkipSoak lifts soak and URL check of a promotion, with the reason; recorded, and refused unless Settings.AllowSkipSoak.
	SkipSoak string `json:"skipSoak,omitempty"`
}

// Automatic is who promotes when the automatic pass does (interface document: promoted-by).
const Automatic = "auto"

// The results of a component in an Outcome.
const (
	Promoted   = "promoted"
	RolledBack = "rolled back"
	Unchanged  = "unchanged"
	Retry      = "retry"      // a gate that lifts by itself: not Ready, soaking, URL check; Sentence says what and how long
	Superseded = "superseded" // staging moved between the decision and the pin
)

// Outcome lists every requested component once.
type Outcome struct {
	Project    string             `json:"project"`
	Components []ComponentOutcome `json:"components"`
	Note       string             `json:"note,omitempty"`   // what a person should know besides
	Undoes     *Undone            `json:"undoes,omitempty"` // of an undo: the promotion that it takes back
}

// Complete tells whether every component was moved or needed no move (status 200, else 207).
func (o Outcome) Complete() bool {
	for _, c := range o.Components {
		if c.Result == Retry || c.Result == Superseded {
			return false
		}
	}
	return true
}

// ComponentOutcome is what became of one component.
type ComponentOutcome struct {
	Component  string    `json:"component"`
	Result     string    `json:"result"`
	Sentence   string    `json:"sentence"`
	From       string    `json:"from,omitempty"` // release left behind
	To         string    `json:"to,omitempty"`   // release now bound
	FromCommit string    `json:"fromCommit,omitempty"`
	ToCommit   string    `json:"toCommit,omitempty"`
	URL        string    `json:"url,omitempty"` // where production answers
	Gates      []Verdict `json:"gates,omitempty"`
}

// Lock is a commit lock: promotion and rollback to releases of the commit are refused.
type Lock struct {
	ID          int64     `json:"id"`
	Component   string    `json:"component"`
	Commit      string    `json:"commit"`                // whole SHA
	Environment string    `json:"environment,omitempty"` // empty: every environment
	Reason      string    `json:"reason"`
	Who         string    `json:"who"`
	At          time.Time `json:"at"`
	Releases    []string  `json:"releases"` // names the commit resolved to when it was set: a snapshot for people
	// Note says where the lock has no effect as things stand; told when it is set, and not kept.
	Note string `json:"note,omitempty"`
}

// LockRequest sets or clears a lock.
type LockRequest struct {
	Origin      Origin `json:"origin"`
	Component   string `json:"component"`
	Commit      string `json:"commit"` // may be abbreviated
	Environment string `json:"to,omitempty"`
	Reason      string `json:"reason,omitempty"`
}

// ScaffoldRequest asks for a project made from a template.
type ScaffoldRequest struct {
	Origin      Origin `json:"origin"`
	Template    string `json:"template"`
	Project     string `json:"project"`
	Walkthrough bool   `json:"walkthrough,omitempty"` // label everything so that teardown may remove it
}

// Scaffolded is a project that was made.
type Scaffolded struct {
	Project    string     `json:"project"`
	Components []string   `json:"components"`
	Repository Repository `json:"repository"`
	Commit     Commit     `json:"commit"`
}

// TeardownRequest asks to remove walkthrough projects.
type TeardownRequest struct {
	Origin Origin `json:"origin"`
	Scope  string `json:"scope"` // all, or a template's name, or "project:<name>"
}

// Removed lists what teardown removed and what it left.
type Removed struct {
	Projects     []string `json:"projects"`
	Objects      int      `json:"objects"`
	Repositories []string `json:"repositories"`
	Refused      []string `json:"refused,omitempty"` // sentences: objects without the label
}

// CommitRequest asks for a commit pushed to a project's repository.
type CommitRequest struct {
	Origin  Origin            `json:"origin"`
	Project string            `json:"project"`
	Branch  string            `json:"branch,omitempty"` // default: the default branch
	Message string            `json:"message"`
	Files   map[string]string `json:"files"`
	Delete  []string          `json:"delete,omitempty"`
}

// Delivery is what is deployed where and what built it.
type Delivery struct {
	Components []ComponentDelivery `json:"components"` // by project, then name
}

// ComponentDelivery is one component over its environments.
type ComponentDelivery struct {
	Project      string       `json:"project"`
	Component    string       `json:"component"`
	Repository   string       `json:"repository,omitempty"` // clone URL
	Walkthrough  bool         `json:"walkthrough,omitempty"`
	Environments []Deployment `json:"environments"`        // in pipeline order
	LastBuild    *Build       `json:"lastBuild,omitempty"` // newest run of the component
}

// Deployment is a component in one environment.
type Deployment struct {
	Environment string     `json:"environment"`
	Binding     string     `json:"binding"`
	Release     string     `json:"release"`
	Commit      string     `json:"commit,omitempty"`
	Image       string     `json:"image,omitempty"`
	Build       string     `json:"build,omitempty"` // the run that built the commit
	State       string     `json:"state"`           // Active, Undeploy
	Ready       bool       `json:"ready"`
	Reason      string     `json:"reason,omitempty"` // of the Ready condition, when not ready
	Message     string     `json:"message,omitempty"`
	Since       *time.Time `json:"since,omitempty"` // since when this release is bound here
	PromotedBy  string     `json:"promotedBy,omitempty"`
	Displaced   string     `json:"displaced,omitempty"`
	URL         string     `json:"url,omitempty"`
}

// The phases of a Build.
const (
	BuildPending   = "Pending"
	BuildRunning   = "Running"
	BuildSucceeded = "Succeeded"
	BuildFailed    = "Failed"
)

// Build is one run of the workflow for a component and a commit.
type Build struct {
	Run         string     `json:"run"`
	Project     string     `json:"project"`
	Component   string     `json:"component"`
	Commit      string     `json:"commit"`
	Phase       string     `json:"phase"`
	Stages      []Task     `json:"stages"`
	FailedStage string     `json:"failedStage,omitempty"`
	Message     string     `json:"message,omitempty"`
	CreatedAt   time.Time  `json:"createdAt"`
	StartedAt   *time.Time `json:"startedAt,omitempty"`
	CompletedAt *time.Time `json:"completedAt,omitempty"`
	URL         string     `json:"url,omitempty"` // page of the workflow engine
}

// State is the controller's own state.
type State struct {
	Projects    []ProjectState `json:"projects"`
	OpenIntents int            `json:"openIntents"`
	LastPass    *time.Time     `json:"lastPass,omitempty"`
	PassError   string         `json:"passError,omitempty"`
	// Overdue tells that no pass was completed for too long; Health is the sentence about it.
	Overdue bool     `json:"overdue"`
	Health  string   `json:"health,omitempty"`
	Notes   []string `json:"notes,omitempty"` // sentences about what the controller does not do
}

// ProjectState is a project as the controller sees it.
type ProjectState struct {
	Project   string `json:"project"`
	Promotion string `json:"promotion"` // auto, manual
	Soak      string `json:"soak"`
	Window    Window `json:"window"`
	Template  string `json:"template,omitempty"`
	Labelled  bool   `json:"walkthrough,omitempty"`

	// Components are those whose staging and production differ, by name, as of the last look at the project.
	Components []ComponentStanding `json:"components,omitempty"`
	// Wake is when the project is looked at again by itself, where an instant is known.
	Wake *time.Time `json:"wake,omitempty"`
	// Error is why the newest look failed; it is tried again.
	Error string `json:"error,omitempty"`
	// Starvation is a sentence where merges come faster than the soak lets through.
	Starvation string `json:"starvation,omitempty"`
}

// Window is the production-window sentence and whether it is open.
type Window struct {
	Project  string     `json:"project"`
	Open     bool       `json:"open"`
	Sentence string     `json:"sentence"`
	Text     string     `json:"text,omitempty"` // the annotation as written
	Flips    *time.Time `json:"flips,omitempty"`
	Freezes  []Freeze   `json:"freezes,omitempty"` // of the project or of all, that hold or are to come
}

// Host is the machine's memory.
type Host struct {
	AvailableBytes int64 `json:"availableBytes"`
}

// Walkthrough is one run of a walkthrough.
type Walkthrough struct {
	ID       int64      `json:"id"`
	Key      string     `json:"key"`
	Template string     `json:"template"`
	Project  string     `json:"project"` // <template>-<id>
	Topic    string     `json:"topic"`
	Who      string     `json:"who"`
	Step     string     `json:"step,omitempty"`
	Started  time.Time  `json:"started"`
	Ended    *time.Time `json:"ended,omitempty"`
	Result   string     `json:"result,omitempty"` // passed, failed, stopped
	Message  string     `json:"message,omitempty"`
	State    []byte     `json:"state,omitempty"` // what the walkthrough needs to go on after a restart; its own JSON
}
