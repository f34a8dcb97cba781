package flowclient

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
)

// The scopes of a teardown beside a template's name.
const (
	scopeAll     = "all"
	scopeProject = "project:"
)

// teardownPlan is the body of a teardown intent: exactly what goes, listed
// before anything went.
type teardownPlan struct {
	Origin   Origin        `json:"origin"`
	Projects []projectPlan `json:"projects"`
	Refused  []string      `json:"refused,omitempty"`
}

// projectPlan is one project to remove; UIDs tell an object from a later one of its name.
type projectPlan struct {
	Name       string      `json:"name"`
	UID        string      `json:"uid"`
	Template   string      `json:"template"`
	Repository string      `json:"repository"`
	Objects    []objectRef `json:"objects"` // without the project itself
}

type objectRef struct {
	Kind Kind   `json:"kind"`
	Name string `json:"name"`
	UID  string `json:"uid"`
}

// removal is what a project holds, in the order in which it goes: components
// first, so that nothing is bound anew, and releases after all that names them.
// Made kinds come from components and resources and go with them; the others
// must carry the walkthrough label themselves.
var removal = []struct {
	kind Kind
	made bool
}{
	{KindComponent, false},
	{KindReleaseBinding, true},
	{KindWorkload, true},
	{KindResourceReleaseBinding, true},
	{KindResource, false},
	{KindProjectReleaseBinding, true},
	{KindWorkflowRun, true},
	{KindComponentRelease, true},
}

// Teardown removes walkthrough projects with all that belongs to them. What
// does not carry the walkthrough label stays, and so does a project that holds
// such an object: Refused says so. A listing that fails removes nothing.
func (c *Controller) Teardown(ctx context.Context, r TeardownRequest) (Removed, error) {
	if err := check(r.Origin.check(), required("scope", r.Scope, maxWho)); err != nil {
		return Removed{}, err
	}
	return perform(ctx, c, kindTeardown, kindTeardown, r.Origin, r.Scope, func(ctx context.Context) (any, Removed, bool, error) {
		plan, err := c.planTeardown(ctx, r)
		return plan, plan.removed(), err == nil && len(plan.Projects) == 0, err
	})
}

// removed is what the plan removes.
func (p teardownPlan) removed() Removed {
	out := Removed{Projects: []string{}, Repositories: []string{}, Refused: p.Refused}
	for _, project := range p.Projects {
		out.Projects = append(out.Projects, project.Name)
		out.Repositories = append(out.Repositories, project.Repository)
		out.Objects += len(project.Objects) + 1
	}
	return out
}

// planTeardown lists what goes; nothing has been removed when it fails.
func (c *Controller) planTeardown(ctx context.Context, r TeardownRequest) (teardownPlan, error) {
	projects, err := c.selectProjects(ctx, r.Scope)
	if err != nil {
		return teardownPlan{}, err
	}
	held, err := c.held(ctx)
	if err != nil {
		return teardownPlan{}, err
	}
	running, err := c.running(ctx)
	if err != nil {
		return teardownPlan{}, err
	}
	plan := teardownPlan{Origin: r.Origin}
	var ordinary []string
	for _, o := range projects {
		name := o.Metadata.Name
		var refusal string
		switch {
		case o.Metadata.Labels[LabelWalkthrough] != "true" && r.Scope != scopeProject+name:
			ordinary = append(ordinary, name)
			continue
		case o.Metadata.Labels[LabelWalkthrough] != "true":
			refusal = fmt.Sprintf("project %s was not made by a walkthrough: it carries no label %s and stays. Delete it with the control-plane API if it is to go.", name, LabelWalkthrough)
		case name == running && r.Scope != scopeProject+name:
			refusal = fmt.Sprintf("project %s belongs to the walkthrough under way and stays; stop that first.", name)
		default:
			refusal = unlabelled(name, held[name])
		}
		if refusal != "" && r.Scope == scopeProject+name {
			return teardownPlan{}, Refuse("%s", refusal)
		}
		if refusal != "" {
			plan.Refused = append(plan.Refused, refusal)
			continue
		}
		one := projectPlan{Name: name, UID: o.Metadata.UID, Template: o.Metadata.Annotations[AnnotationTemplate], Repository: c.repository(name)}
		for _, object := range held[name] {
			one.Objects = append(one.Objects, objectRef{object.Kind, object.Metadata.Name, object.Metadata.UID})
		}
		plan.Projects = append(plan.Projects, one)
	}
	if len(ordinary) > 0 {
		plan.Refused = append(plan.Refused, staying(ordinary))
	}
	return plan, nil
}

// staying says in one sentence that projects which no walkthrough made stay, however many there are.
func staying(names []string) string {
	const most = 5
	slices.Sort(names)
	list := strings.Join(names[:min(len(names), most)], ", ")
	if len(names) > most {
		list += fmt.Sprintf(" and %d more", len(names)-most)
	}
	return fmt.Sprintf("what no walkthrough made stays, since it carries no label %s: %s.", LabelWalkthrough, list)
}

// selectProjects lists the projects of a scope, labelled or not.
func (c *Controller) selectProjects(ctx context.Context, scope string) ([]Object, error) {
	all, err := c.deps.ControlPlane.List(ctx, KindProject, Filter{})
	if err != nil {
		return nil, fmt.Errorf("list projects: %w", err)
	}
	name, one := strings.CutPrefix(scope, scopeProject)
	known := scope == scopeAll || one || c.deps.Settings.Floors[scope] > 0
	if names, err := c.templates(); err != nil {
		return nil, err
	} else if !known && !strings.Contains(" "+strings.Join(names, " ")+" ", " "+scope+" ") {
		return nil, &Invalid{Field: "scope", Value: clip(scope), Why: "must be all, a template (" + strings.Join(names, ", ") + ") or project:<name>"}
	}
	var selected []Object
	for _, o := range all {
		if scope == scopeAll || one && o.Metadata.Name == name || !one && o.Metadata.Annotations[AnnotationTemplate] == scope {
			selected = append(selected, o)
		}
	}
	if one && len(selected) == 0 {
		return nil, &NotFound{Kind: "project", Name: clip(name)}
	}
	return selected, nil
}

// held lists everything that projects hold, by project, in the order of removal.
func (c *Controller) held(ctx context.Context) (map[string][]Object, error) {
	held := map[string][]Object{}
	for _, row := range removal {
		objects, err := c.deps.ControlPlane.List(ctx, row.kind, Filter{})
		if err != nil {
			return nil, fmt.Errorf("list %s: %w", row.kind, err)
		}
		for _, o := range objects {
			var spec struct {
				Owner Owner `json:"owner"`
			}
			if err := o.Decode(&spec, nil); err != nil {
				return nil, err
			}
			project := spec.Owner.ProjectName
			if project == "" {
				project = o.Metadata.Labels[LabelProject]
			}
			o.Kind = row.kind
			held[project] = append(held[project], o)
		}
	}
	return held, nil
}

// unlabelled says why a project must stay: it holds something that no walkthrough made.
func unlabelled(project string, held []Object) string {
	for _, o := range held {
		for _, row := range removal {
			if row.kind == o.Kind && !row.made && o.Metadata.Labels[LabelWalkthrough] != "true" {
				return fmt.Sprintf("project %s holds %s %s, which carries no label %s; both stay. Delete that first.",
					project, strings.ToLower(string(o.Kind)), o.Metadata.Name, LabelWalkthrough)
			}
		}
	}
	return ""
}

// running is the project of the walkthrough under way, "" when there is none.
func (c *Controller) running(ctx context.Context) (string, error) {
	last, err := c.deps.Runs.LastRuns(ctx, maxRuns)
	if err != nil {
		return "", err
	}
	for _, w := range last {
		if w.Ended == nil {
			return w.Project, nil
		}
	}
	return "", nil
}

// finishTeardown removes what is left of a plan.
func (c *Controller) finishTeardown(ctx context.Context, in Intent) (any, []Event, error) {
	var plan teardownPlan
	if err := json.Unmarshal(in.Body, &plan); err != nil {
		return nil, nil, fmt.Errorf("plan: %w", err)
	}
	done := teardownPlan{Refused: plan.Refused}
	var events []Event
	for _, project := range plan.Projects {
		removed, refused, err := c.removeProject(ctx, project)
		if err != nil {
			return nil, nil, fmt.Errorf("remove project %s: %w", project.Name, err)
		}
		done.Refused = append(done.Refused, refused...)
		if !removed {
			continue
		}
		done.Projects = append(done.Projects, project)
		e, err := event("teardown/"+in.ID+"/"+project.Name, EventRemoved, Event{At: c.deps.Now(), Project: project.Name, Walkthrough: true},
			ProjectEvent{Who: plan.Origin.Who, Template: project.Template, Repository: Repository{Name: project.Repository}})
		if err != nil {
			return nil, nil, err
		}
		events = append(events, e)
	}
	return done.removed(), events, nil
}
