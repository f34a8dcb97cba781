package flow

import (
	"net/http"
	"strconv"
	"strings"

	"platform.dev/platform/flowclient"
	"platform.dev/platform/flowclient/wire"
)

// access says what a request must bring.
type access int

const (
	token  access = iota // Authorization: Bearer
	signed               // a signature of the body, where it is a delivery; else that or the token
	public               // nothing
)

// endpoint is one method of one path: what /openapi.json says of it, and what
// serves it. sends and answers are empty values of the types that its bodies have.
type endpoint struct {
	method, path string
	access       access
	summary      string      // a sentence for people
	query        []parameter // all that it takes
	sends        any         // nil: it takes no body
	success      []int       // the statuses of an answer that is no error
	answers      any
	tagged       bool // the answer has an ETag
	// serve returns the status and body of a success, or an error that package wire has a status for.
	serve func(s *Server, r *http.Request, body []byte) (status int, answer any, err error)
}

// parameter is one of a request's query. That an endpoint takes what is said
// here, and nothing else, is its reader's in package wire; a test compares the two.
type parameter struct {
	name, says        string
	required, number  bool
	smallest, largest int // of a number; 0 for none
	longest           int // of a text, in bytes; 0 for none
}

// The statuses of successes.
var (
	done    = []int{http.StatusOK}
	created = []int{http.StatusCreated}
	moved   = []int{http.StatusOK, http.StatusMultiStatus} // 207: a component was neither moved nor needed to be
)

// paged are the parameters of every list.
var paged = []parameter{
	{name: "limit", says: "How many items at most; " + strconv.Itoa(wire.DefaultLimit) + " without it.", number: true, smallest: 1, largest: wire.MaxLimit},
	{name: "cursor", says: "The next of the page before: the list goes on behind its last item.", longest: wire.MaxCursor},
}

// ofProject are the parameters of what is asked of one project.
var ofProject = []parameter{{name: "project", says: "The project's name.", required: true}}

// endpoints are all there are.
var endpoints = []endpoint{
	{
		method: http.MethodPost, path: wire.ScaffoldPath, summary: "Make a project from a template: its repository, its objects, its hooks.",
		sends: wire.ScaffoldBody{}, success: created, answers: flowclient.Scaffolded{}, serve: (*Server).scaffold,
	},
	{
		method: http.MethodPost, path: wire.TeardownPath, summary: "Remove walkthrough projects with all that belongs to them.",
		sends: wire.TeardownBody{}, success: done, answers: flowclient.Removed{}, serve: (*Server).teardown,
	},
	{
		method: http.MethodPost, path: wire.CommitPath, summary: "Push a commit to a project's repository.",
		sends: wire.CommitBody{}, success: created, answers: flowclient.Commit{}, serve: (*Server).commit,
	},
	{
		method: http.MethodPost, path: wire.PullPath, summary: "Make a branch with a commit and open a pull request of it.",
		sends: wire.PullBody{}, success: created, answers: flowclient.Pull{}, serve: (*Server).pull,
	},
	{
		method: http.MethodPost, path: wire.MergePath, summary: "Merge an open pull request.",
		sends: wire.MergeBody{}, success: done, answers: flowclient.Pull{}, serve: (*Server).merge,
	},
	{
		method: http.MethodGet, path: wire.ReviewsPath, summary: "The review environments there are, queued ones included, in the order of their opening.",
		query: paged, success: done, answers: wire.ReviewsAnswer{}, serve: (*Server).reviews,
	},
	{
		method: http.MethodGet, path: wire.BuildsPath, summary: "The builds that the controller is waiting on, oldest first.",
		query: paged, success: done, answers: wire.BuildsAnswer{}, serve: (*Server).builds,
	},
	{
		method: http.MethodGet, path: wire.BuildPath, summary: "One build with its stages.",
		success: done, answers: flowclient.Build{}, serve: (*Server).build,
	},
	{
		method: http.MethodGet, path: wire.BuildLogPath, summary: "The last lines of a build's stage, oldest first.",
		query: []parameter{
			{name: "last", says: "How many lines; 0 for as many as there are.", required: true, number: true},
			{name: "stage", says: "The stage's name; every stage's lines without it."},
		},
		success: done, answers: wire.LogAnswer{}, serve: (*Server).buildLog,
	},
	{
		method: http.MethodGet, path: wire.BuildEvidencePath, summary: "What is known of a build.",
		success: done, answers: flowclient.Evidence{}, serve: (*Server).buildEvidence,
	},
	{
		method: http.MethodGet, path: wire.BindingEvidencePath, summary: "What is known of how a binding came to run what it runs.",
		success: done, answers: flowclient.Evidence{}, serve: (*Server).bindingEvidence,
	},
	{
		method: http.MethodGet, path: wire.FlowEvidencePath, summary: "What is known of a trace.",
		query:   []parameter{{name: "trace_id", says: "The trace's id: 32 hexadecimal digits in lower case.", required: true}},
		success: done, answers: flowclient.Evidence{}, serve: (*Server).flowEvidence,
	},
	{
		method: http.MethodGet, path: wire.DoraPath, summary: "How a project delivered in the last days, by the four measures of the DORA programme, with what each means.",
		query: []parameter{
			{name: "project", says: "The project's name.", required: true},
			{name: "days", says: "How many days before now; 30 without it.", number: true, smallest: 1, largest: flowclient.MaxDoraDays},
		},
		success: done, answers: flowclient.DoraReport{}, serve: (*Server).dora,
	},
	{
		method: http.MethodGet, path: wire.AuditPath, summary: "The audit trail, newest first: every decision, those of bots about what people asked among them, with who asked, where, and what came of it. It is only ever added to.",
		query: append([]parameter{
			{name: "project", says: "Those about this project alone; without it also those about none."},
			{name: "component", says: "Those about this component: asked for, moved or judged."},
			{name: "who", says: "What this person asked for, as recorded, or the chat's account of somebody unknown; auto is the automatic pass."},
			{name: "kind", says: "Those of one kind: " + strings.Join(flowclient.AuditKinds(), ", ") + "."},
		}, paged...),
		success: done, answers: flowclient.AuditPage{}, serve: (*Server).audit,
	},
	{
		method: http.MethodGet, path: wire.DecisionPath, summary: "A decision, by its intent's id or the key of the event of a refusal, and what the inputs recorded with it come to now.",
		success: done, answers: flowclient.Replayed{}, serve: (*Server).replay,
	},
	{
		method: http.MethodPost, path: wire.PromotePath, summary: "Move a project's releases, or one component's, to production, or back to what they displaced.",
		sends: wire.PromoteBody{}, success: moved, answers: flowclient.Outcome{}, serve: (*Server).promote,
	},
	{
		method: http.MethodPost, path: wire.UndoPath, summary: "Take back the newest promotion of a project that was asked for through the same door, in every component that it moved, or tell what that would be.",
		sends: wire.UndoBody{}, success: moved, answers: flowclient.Outcome{}, serve: (*Server).undo,
	},
	{
		method: http.MethodGet, path: wire.WhyPath, summary: "What is against a promotion of a project now, gate by gate, and from when on it could happen.",
		query: []parameter{
			{name: "project", says: "The project's name.", required: true},
			{name: "component", says: "The component's name; every component of the project without it."},
		},
		success: done, answers: flowclient.Why{}, serve: (*Server).why,
	},
	{
		method: http.MethodGet, path: wire.DeliveryPath, summary: "What is deployed where, and what built it.",
		success: done, answers: flowclient.Delivery{}, tagged: true, serve: (*Server).delivery,
	},
	{
		method: http.MethodGet, path: wire.StatePath, summary: "How the controller itself stands, and what it waits for.",
		success: done, answers: flowclient.State{}, serve: (*Server).state,
	},
	{
		method: http.MethodGet, path: wire.WindowPath, summary: "A project's production window in a sentence, and whether it is open.",
		query: ofProject, success: done, answers: flowclient.Window{}, serve: (*Server).window,
	},
	{
		method: http.MethodGet, path: wire.DiffPath, summary: "What a promote of a project would ship now: per component, the commits between production and staging.",
		query: ofProject, success: done, answers: flowclient.Diff{}, serve: (*Server).diff,
	},
	{
		method: http.MethodGet, path: wire.HostPath, summary: "The memory that the machine of the workloads has left.",
		success: done, answers: flowclient.Host{}, serve: (*Server).host,
	},
	{
		method: http.MethodGet, path: wire.LocksPath, summary: "The commit locks that hold, oldest first.",
		query:   append([]parameter{{name: "olderThan", says: "A duration such as 336h: those alone that have held for so long."}}, paged...),
		success: done, answers: wire.LocksAnswer{}, serve: (*Server).locks,
	},
	{
		method: http.MethodPost, path: wire.LocksPath, summary: "Keep a commit from being promoted, and from being rolled back to.",
		sends: wire.LockBody{}, success: created, answers: flowclient.Lock{}, serve: (*Server).setLock,
	},
	{
		method: http.MethodDelete, path: wire.LocksPath, summary: "Clear the locks of a commit, or tell what that would do.",
		query: []parameter{
			{name: "component", says: "The component's name.", required: true},
			{name: "commit", says: "The commit, whole or abbreviated.", required: true},
			{name: "to", says: "The environment; every entry of the commit without it."},
			{name: "dryRun", says: "true clears nothing, and tells what could move without the locks."},
		},
		success: done, answers: wire.ClearAnswer{}, serve: (*Server).clearLock,
	},
	{
		method: http.MethodGet, path: wire.FreezesPath, summary: "The freezes of production that hold or are to come, by when they begin.",
		query: paged, success: done, answers: wire.FreezesAnswer{}, serve: (*Server).freezes,
	},
	{
		method: http.MethodPost, path: wire.FreezesPath, summary: "Freeze production of a project, or of every one: nothing is promoted or rolled back until it ends.",
		sends: wire.FreezeBody{}, success: created, answers: flowclient.Freeze{}, serve: (*Server).setFreeze,
	},
	{
		method: http.MethodDelete, path: wire.FreezesPath, summary: "End a freeze before its time, or call it off.",
		query:   []parameter{{name: "id", says: "The freeze's number.", required: true, number: true, smallest: 1}},
		success: done, answers: flowclient.Freeze{}, serve: (*Server).clearFreeze,
	},
	{
		method: http.MethodGet, path: wire.WalkthroughsPath, summary: "Walkthroughs, newest first.",
		query: paged, success: done, answers: wire.WalkthroughsAnswer{}, serve: (*Server).walkthroughs,
	},
	{
		method: http.MethodPost, path: wire.WalkthroughsPath, summary: "Begin a walkthrough, unless one is under way.",
		sends: wire.WalkthroughBody{}, success: created, answers: flowclient.Walkthrough{}, serve: (*Server).beginWalkthrough,
	},
	{
		method: http.MethodPut, path: wire.WalkthroughPath, summary: "Record how far a walkthrough has come, and its end.",
		sends: wire.UpdateBody{}, success: done, answers: wire.Done{}, serve: (*Server).updateWalkthrough,
	},
	{
		method: http.MethodPost, path: wire.SyncPath, access: signed, summary: "Apply a repository's manifests: of the branch that is named, or of the default branch when a delivery tells that it was pushed.",
		sends: wire.SyncBody{}, success: done, answers: wire.SyncAnswer{}, serve: (*Server).sync,
	},
	{
		method: http.MethodPost, path: wire.HookPath, access: signed, summary: "Take a git server's delivery: one of a pull request is looked at, a push wakes the controller.",
		sends: wire.DeliveredBody{}, success: done, answers: wire.HookAnswer{}, serve: (*Server).hook,
	},
	{
		method: http.MethodGet, path: wire.DescriptionPath, access: public, summary: "This description.",
		success: done, answers: map[string]any{}, tagged: true, serve: (*Server).description,
	},
}
