package flowclient

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
)

// maxEvidence bounds the intents and events that evidence looks through, newest first.
const maxEvidence = 1000

// History reads what the journal keeps (port).
type History interface {
	// IntentsOf lists the newest intents about a project, oldest first, at most limit.
	IntentsOf(ctx context.Context, project string, limit int) ([]Intent, error)
	// IntentsTraced lists the intents that were asked for in a trace, oldest first.
	IntentsTraced(ctx context.Context, traceID string) ([]Intent, error)
	// EventsOf lists the newest events about a project, oldest first, at most limit.
	EventsOf(ctx context.Context, project string, limit int) ([]Event, error)
}

// inquiry collects evidence about commits of components.
type inquiry struct {
	c        *Controller
	evidence Evidence
	objects  map[Kind][]Object // whole lists, read once
}

func (c *Controller) inquire(subject string) (*inquiry, error) {
	if c.deps.History == nil {
		return nil, Refuse("this controller was given no history to read evidence from; configure one and ask again.")
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
	return q.close(ctx, b.spec.Owner.ProjectName, about)
}

// EvidenceOfFlow is what is known about a trace: the requests made in it, the
// commits they made, and what became of those; of a trace that a build or a
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
	if len(intents)+len(shas) == 0 {
		if shas, err = q.builtIn(ctx, traceID); err != nil {
			return Evidence{}, err
		}
	}
	if len(intents)+len(shas) == 0 {
		return Evidence{}, &NotFound{Kind: "trace", Name: traceID}
	}
	q.evidence.Traces = []string{traceID}
	about := subjects{commits: shas}
	projects := map[string]bool{}
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

// subjects is what intents and events are evidence about.
type subjects struct {
	commits    []string
	components []string
	runs       []string
	intents    []string // ids
	moves      bool     // every promotion and rollback of the components counts
}

// mentions tells whether a recorded text is about one of the commits, runs or intents.
func (s subjects) mentions(texts ...string) bool {
	for _, known := range [][]string{s.commits, s.runs, s.intents} {
		for _, name := range known {
			for _, text := range texts {
				if name != "" && strings.Contains(text, name) {
					return true
				}
			}
		}
	}
	return false
}

func (s subjects) intent(in Intent) bool {
	if slices.Contains(s.intents, in.ID) || s.mentions(string(in.Outcome), string(in.Body)) {
		return true
	}
	if !s.moves || in.Kind != kindPromote && in.Kind != kindRollback {
		return false
	}
	var plan movePlan
	if json.Unmarshal(in.Body, &plan) != nil {
		return false
	}
	return slices.ContainsFunc(plan.Moves, func(m aMove) bool { return m.moves() && slices.Contains(s.components, m.Outcome.Component) })
}

// close adds what the journal knows of a project about the subjects, the
// commits themselves, their traces, those of the builds and the links of who asked.
func (q *inquiry) close(ctx context.Context, project string, about subjects) (Evidence, error) {
	e := &q.evidence
	intents, err := q.c.deps.History.IntentsOf(ctx, project, maxEvidence)
	if err != nil {
		return Evidence{}, err
	}
	ids := slices.Clone(about.intents)
	for _, in := range intents {
		if !about.intent(in) {
			continue
		}
		ids = append(ids, in.ID)
		e.Intents = append(e.Intents, EvidentIntent{ID: in.ID, Kind: in.Kind, Key: in.Key, Who: in.Who, At: in.At, Plan: in.Body, Outcome: in.Outcome})
		e.Links = append(e.Links, originOf(in).Link)
	}
	about.intents = ids
	events, err := q.c.deps.History.EventsOf(ctx, project, maxEvidence)
	if err != nil {
		return Evidence{}, err
	}
	for _, event := range events {
		if about.mentions(event.Key, string(event.Body)) {
			e.Events = append(e.Events, event)
		}
	}
	var built []string // the traces that builds have to themselves, made at their ends
	for _, b := range e.Builds {
		e.Links = append(e.Links, b.URL)
		if b.CompletedAt != nil {
			built = append(built, TraceIDOf(TraceBuild, b.Run))
		}
	}
	if err := q.commits(ctx, project, about.commits); err != nil {
		return Evidence{}, err
	}
	traces, err := q.c.tracesOf(ctx, about.commits)
	if err != nil {
		return Evidence{}, err
	}
	e.Traces, e.Links = unique(slices.Concat(e.Traces, traces, built)), unique(e.Links)
	return *e, nil
}

// commits adds the commits that the project's repositories have; one that a
// repository has no longer is left out.
func (q *inquiry) commits(ctx context.Context, project string, shas []string) error {
	components, err := q.list(ctx, KindComponent)
	if err != nil {
		return err
	}
	known := map[string]bool{}
	for _, o := range components {
		var spec ComponentSpec
		if err := o.Decode(&spec, nil); err != nil {
			return err
		}
		repo, err := repositoryOf(o)
		if err != nil || spec.Owner.ProjectName != project {
			continue
		}
		for _, sha := range shas {
			if sha == "" || known[repo+sha] {
				continue
			}
			known[repo+sha] = true
			commit, err := q.c.deps.Git.Commit(ctx, repo, sha)
			if IsNotFound(err) {
				continue
			}
			if err != nil {
				return fmt.Errorf("commit %s: %w", ShortSHA(sha), err)
			}
			q.evidence.Commits = append(q.evidence.Commits, commit)
			q.evidence.Links = append(q.evidence.Links, commit.WebURL)
		}
	}
	return nil
}

// builds adds the builds of a commit, of one component or ("") of all, and gives their names.
func (q *inquiry) builds(ctx context.Context, component, sha string) (runs []string, err error) {
	all, err := q.list(ctx, KindWorkflowRun)
	if err != nil {
		return nil, err
	}
	for _, o := range all {
		b, err := q.c.buildOf(o)
		if err != nil {
			return nil, err
		}
		if sha != "" && b.Commit == sha && (component == "" || b.Component == component) {
			q.evidence.Builds = append(q.evidence.Builds, b)
			q.add(KindWorkflowRun, o)
			runs = append(runs, b.Run)
		}
	}
	return runs, nil
}

// releases adds the releases of a commit, of one component or ("") of all, and gives their names.
func (q *inquiry) releases(ctx context.Context, component, sha string) (names []string, err error) {
	all, err := q.list(ctx, KindComponentRelease)
	if err != nil {
		return nil, err
	}
	for _, o := range all {
		r, err := releaseOf(o)
		if err != nil {
			return nil, err
		}
		if sha != "" && r.Commit == sha && (component == "" || r.Of == component) {
			q.add(KindComponentRelease, o)
			names = append(names, r.Name)
		}
	}
	return names, nil
}

// bindingsOf adds the bindings that run one of the releases, with their addresses.
func (q *inquiry) bindingsOf(ctx context.Context, releases []string) error {
	all, err := q.list(ctx, KindReleaseBinding)
	if err != nil {
		return err
	}
	for _, o := range all {
		b, err := bindingOf(o)
		if err != nil {
			return err
		}
		if slices.Contains(releases, b.spec.ReleaseName) {
			q.add(KindReleaseBinding, o)
			q.evidence.Links = append(q.evidence.Links, b.url())
		}
	}
	return nil
}

func (q *inquiry) list(ctx context.Context, kind Kind) ([]Object, error) {
	if objects, read := q.objects[kind]; read {
		return objects, nil
	}
	objects, err := q.c.deps.ControlPlane.List(ctx, kind, Filter{})
	q.objects[kind] = objects
	return objects, wrap(err, "list %s", kind)
}

// add adds an object as it stands.
func (q *inquiry) add(kind Kind, o Object) {
	o.Kind = kind
	q.evidence.Objects = append(q.evidence.Objects, o)
}

// originOf is who asked for an intent, and how.
func originOf(in Intent) Origin {
	var body struct {
		Origin  Origin `json:"origin"`
		Request struct {
			Origin Origin `json:"origin"`
		} `json:"request"`
	}
	if json.Unmarshal(in.Body, &body) != nil {
		return Origin{}
	}
	return cmp.Or(body.Origin, body.Request.Origin)
}

// projectOf is the project that an intent is about, "" when it is about none or several.
func projectOf(in Intent) string {
	var body struct {
		Project string `json:"project"`
	}
	if json.Unmarshal(in.Body, &body) != nil {
		return ""
	}
	return body.Project
}

// unique drops what is empty or was there before.
func unique(all []string) []string {
	var kept []string
	for _, one := range all {
		if one != "" && !slices.Contains(kept, one) {
			kept = append(kept, one)
		}
	}
	return kept
}
