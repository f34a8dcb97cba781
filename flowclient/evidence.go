package flowclient

import (
	"context"
	"time"
)

// maxEvidence bounds the intents and events that evidence looks through, newest first.
const maxEvidence = 1000

// History reads what the journal keeps (port).
type History interface {
	// IntentsOf lists the newest intents about a project, oldest first, at most limit.
	IntentsOf(ctx context.Context, project string, limit int) ([]Intent, error)
	// IntentsTraced lists the intents that were asked for in a trace, oldest first.
	IntentsTraced(ctx context.Context, traceID string) ([]Intent, error)
	// EventsTraced lists the newest events whose request came in a trace, oldest first, at most limit.
	EventsTraced(ctx context.Context, traceID string, limit int) ([]Event, error)
	// EventsOf lists the newest events about a project, oldest first, at most limit.
	EventsOf(ctx context.Context, project string, limit int) ([]Event, error)
	// Intent is the intent with the id; *NotFound.
	Intent(ctx context.Context, id string) (Intent, error)
	// Event is the event recorded under the key; *NotFound.
	Event(ctx context.Context, key string) (Event, error)
	// Happened lists a project's events of the kinds from one instant (included) to another (not
	// included), in the order in which they happened, at most limit.
	Happened(ctx context.Context, project string, kinds []string, from, to time.Time, limit int) ([]Event, error)
	// Records lists intents, events and decisions, newest first. Rows are only ever added, and an intent gets its outcome once.
	Records(ctx context.Context, q RecordQuery) ([]Record, error)
}

// inquiry collects evidence about commits of components.
type inquiry struct {
	c        *Controller
	evidence Evidence
	objects  map[Kind][]Object // whole lists, read once
}

func (c *Controller) inquire(subject string) (*inquiry, error) {
	if c.deps.History == nil {
		return nil, noHistory()
	}
	return &inquiry{c: c, evidence: Evidence{Subject: subject}, objects: map[Kind][]Object{}}, nil
}

// EvidenceOfBuild is what is known about a build: the commit and who asked for
// it, what the build came to, and what was made of it. *NotFound.
func (c *Controller) EvidenceOfBuild(ctx context.Context, run string) (Evidence, error) {
	if err := checkLabel("run", run, 253); err != nil {
		return Evidence{}, err
	}
	q, err := c.inquire("build " + run)
	if err != nil {
		return Evidence{}, err
	}
	o, err := c.deps.ControlPlane.Get(ctx, KindWorkflowRun, run)
	if err != nil {
		return Evidence{}, err
	}
	b, err := c.buildOf(o)
	if err != nil {
		return Evidence{}, err
	}
	q.evidence.Builds = []Build{b}
	q.add(KindWorkflowRun, o)
	releases, err := q.releases(ctx, b.Component, b.Commit)
	if err != nil {
		return Evidence{}, err
	}
	if err := q.bindingsOf(ctx, releases); err != nil {
		return Evidence{}, err
	}
	q.logs(ctx)
	return q.close(ctx, b.Project, subjects{commits: []string{b.Commit}, components: []string{b.Component}, runs: []string{b.Run}})
}

// EvidenceOfBinding is what is known about what a binding runs: the release,
// its commit and builds, and every move of the component there. *NotFound.
func (c *Controller) EvidenceOfBinding(ctx context.Context, name string) (Evidence, error) {
	if err := checkLabel("binding", name, 253); err != nil {
		return Evidence{}, err
	}
	q, err := c.inquire("binding " + name)
	if err != nil {
		return Evidence{}, err
	}
	b, err := c.readBinding(ctx, name)
	if err != nil {
		return Evidence{}, err
	}
	if !b.exists {
		return Evidence{}, &NotFound{Kind: string(KindReleaseBinding), Name: name}
	}
	q.add(KindReleaseBinding, b.Object)
	about := subjects{components: []string{b.spec.Owner.ComponentName}, moves: b.spec.Environment == Production, intents: []string{b.annotation(AnnotationIntent)}}
	release, err := c.deps.ControlPlane.Get(ctx, KindComponentRelease, b.spec.ReleaseName)
	if err != nil && !IsNotFound(err) {
		return Evidence{}, err
	}
	if err == nil {
		q.add(KindComponentRelease, release)
		about.commits = []string{release.Metadata.Labels[LabelCommit]}
		if about.runs, err = q.builds(ctx, about.components[0], about.commits[0]); err != nil {
			return Evidence{}, err
		}
	}
	if url := b.url(); url != "" {
		q.evidence.Links = append(q.evidence.Links, url)
	}
	q.logs(ctx)
	return q.close(ctx, b.spec.Owner.ProjectName, about)
}

// EvidenceOfFlow is what is known about a trace: the requests made in it, those
// that were refused and the locks among them, the commits they made, and what became of those; of a trace that a build or a
// walkthrough has to itself, the commits that were built. *NotFound when nothing is.
func (c *Controller) EvidenceOfFlow(ctx context.Context, traceID string) (Evidence, error) {
	if !traceIDForm.MatchString(traceID) {
		return Evidence{}, &Invalid{Field: "trace_id", Value: clip(traceID), Why: "must be 32 hexadecimal digits in lower case"}
	}
	q, err := c.inquire("flow " + traceID)
	if err != nil {
		return Evidence{}, err
	}
	intents, err := c.deps.History.IntentsTraced(ctx, traceID)
	if err != nil {
		return Evidence{}, err
	}
	var shas []string
	if c.deps.Traces != nil {
		if shas, err = c.deps.Traces.Traced(ctx, traceID); err != nil {
			return Evidence{}, err
		}
	}
	about := subjects{}
	if about.events, err = c.deps.History.EventsTraced(ctx, traceID, maxEvidence); err != nil {
		return Evidence{}, err
	}
	if len(intents)+len(shas)+len(about.events) == 0 {
		if shas, err = q.builtIn(ctx, traceID); err != nil {
			return Evidence{}, err
		}
	}
	if len(intents)+len(shas)+len(about.events) == 0 {
		return Evidence{}, &NotFound{Kind: "trace", Name: traceID}
	}
	q.evidence.Traces = []string{traceID}
	about.commits = shas
	projects := map[string]bool{}
	for _, e := range about.events {
		projects[e.Project] = true
	}
	for _, in := range intents {
		about.intents = append(about.intents, in.ID)
		projects[projectOf(in)] = true
	}
	for _, sha := range shas {
		runs, err := q.builds(ctx, "", sha)
		if err != nil {
			return Evidence{}, err
		}
		about.runs = append(about.runs, runs...)
		releases, err := q.releases(ctx, "", sha)
		if err == nil {
			err = q.bindingsOf(ctx, releases)
		}
		if err != nil {
			return Evidence{}, err
		}
	}
	for _, b := range q.evidence.Builds {
		projects[b.Project] = true
	}
	q.services(ctx, traceID)
	q.logs(ctx)
	out := Evidence{}
	for _, project := range sortedKeys(projects) {
		if out, err = q.close(ctx, project, about); err != nil {
			return Evidence{}, err
		}
	}
	return out, nil
}

// builtIn are the commits of the build, or of the walkthrough's builds, that have the trace to themselves.
func (q *inquiry) builtIn(ctx context.Context, traceID string) (shas []string, err error) {
	runs, err := q.list(ctx, KindWorkflowRun)
	if err != nil {
		return nil, err
	}
	for _, o := range runs {
		b, err := q.c.buildOf(o)
		if err != nil {
			return nil, err
		}
		if b.Commit != "" && (TraceIDOf(TraceBuild, b.Run) == traceID || TraceIDOf(TraceWalkthrough, b.Project) == traceID) {
			shas = append(shas, b.Commit)
		}
	}
	return unique(shas), nil
}
