package flowclient

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
)

// scaffoldPlan is the body of a scaffold intent.
type scaffoldPlan struct {
	Project string          `json:"project"`
	Request ScaffoldRequest `json:"request"`
}

// Scaffold makes a project from a template: its repository with hooks, its
// objects, and a first commit, whose push starts the first build; staging
// binds what that build makes. It returns after the push and does not wait for
// the build. A known origin key returns the project that it made.
func (c *Controller) Scaffold(ctx context.Context, r ScaffoldRequest) (Scaffolded, error) {
	if err := check(r.Origin.check(), checkLabel("project", r.Project, maxProject), required("template", r.Template, maxWho)); err != nil {
		return Scaffolded{}, err
	}
	if err := c.templateKnown(r.Template); err != nil {
		return Scaffolded{}, err
	}
	asked := r
	asked.Origin = Origin{}
	return perform(ctx, c, kindScaffold, projectSubject(r.Project), r.Origin, asked, func(ctx context.Context) (any, Scaffolded, bool, error) {
		return scaffoldPlan{Project: r.Project, Request: r}, Scaffolded{}, false, c.admitProject(ctx, r)
	})
}

// admitProject refuses names that are taken.
func (c *Controller) admitProject(ctx context.Context, r ScaffoldRequest) error {
	made, err := c.render(r.Template, c.templateData(r.Project, ""))
	if err != nil {
		return err
	}
	for _, o := range made.objects {
		if o.Kind == KindComponent {
			// Its name becomes part of binding names, and those are labels too.
			if err := checkLabel("component", o.Metadata.Name, maxLabel-len("-"+Production)); err != nil {
				return err
			}
		}
	}
	names, err := c.readTaken(ctx)
	if err != nil {
		return err
	}
	if err := names.collision(r.Project, made.components()); err != nil {
		return err
	}
	repo := c.repository(r.Project)
	switch _, err := c.deps.Git.Commit(ctx, repo, mainBranch); {
	case err == nil:
		return Refuse("repository %s exists already and holds commits; choose another name, or delete it first.", repo)
	case !IsNotFound(err):
		return fmt.Errorf("look for repository %s: %w", repo, err)
	}
	return nil
}

func (c *Controller) templateData(project, cloneURL string) TemplateData {
	return TemplateData{Project: project, Component: project + "-web", Owner: c.deps.Settings.Owner,
		Repository: cloneURL, SecretRef: c.deps.Settings.SecretRef, ModuleRef: c.deps.Settings.ModuleRef}
}

// finishScaffold makes what is not there yet of a project. The hooks and the
// objects come before the push, so that the first push finds a component to
// build.
func (c *Controller) finishScaffold(ctx context.Context, in Intent) (any, []Event, error) {
	var plan scaffoldPlan
	if err := json.Unmarshal(in.Body, &plan); err != nil {
		return nil, nil, fmt.Errorf("plan: %w", err)
	}
	r := plan.Request
	repo, err := c.deps.Git.EnsureRepository(ctx, c.repository(r.Project), fmt.Sprintf("%s, made from the template %s", r.Project, r.Template))
	if err != nil {
		return nil, nil, fmt.Errorf("repository: %w", err)
	}
	for _, h := range c.deps.Settings.Hooks {
		if err := c.deps.Git.EnsureHook(ctx, repo.Name, Hook(h)); err != nil {
			return nil, nil, fmt.Errorf("hook %s: %w", h.URL, err)
		}
	}
	if c.deps.Pulls != nil { // a label cannot be put on where there is none
		if err := c.deps.Pulls.EnsureLabel(ctx, repo.Name, promoteLabel); err != nil {
			return nil, nil, fmt.Errorf("label %s: %w", labelPromote, err)
		}
	}
	made, err := c.render(r.Template, c.templateData(r.Project, repo.CloneURL))
	if err != nil {
		return nil, nil, err
	}
	for _, o := range made.objects {
		if err := c.apply(ctx, in, r, o); err != nil {
			return nil, nil, err
		}
	}
	commit, err := c.deps.Git.Push(ctx, Push{Repo: repo.Name, Branch: mainBranch, Key: in.Key, Author: r.Origin.Who, Files: made.files,
		Message: fmt.Sprintf("Begin %s from the template %s", r.Project, r.Template)})
	if err != nil {
		return nil, nil, fmt.Errorf("first push: %w", err)
	}
	if err := c.rememberTrace(ctx, commit.SHA, r.Origin); err != nil {
		return nil, nil, err
	}
	e, err := event("scaffold/"+in.ID, EventScaffolded, Event{At: c.deps.Now(), Project: r.Project, Walkthrough: r.Walkthrough},
		ProjectEvent{Who: r.Origin.Who, Template: r.Template, Repository: repo, Commit: commit})
	return Scaffolded{Project: r.Project, Components: made.components(), Repository: repo, Commit: commit}, []Event{e}, err
}

// apply creates a rendered object, stamped with the intent; one that carries
// the intent was created before a crash.
func (c *Controller) apply(ctx context.Context, in Intent, r ScaffoldRequest, o Object) error {
	stamp := c.stamp(in, r.Project, r.Walkthrough)
	o.Metadata.Labels = merged(o.Metadata.Labels, stamp.Labels)
	o.Metadata.Annotations = merged(o.Metadata.Annotations, stamp.Annotations)
	if o.Kind == KindProject {
		o.Metadata.Annotations[AnnotationTemplate] = r.Template
	}
	_, err := c.deps.ControlPlane.Create(ctx, o)
	if !errors.Is(err, ErrExists) {
		return wrap(err, "create %s %s", o.Kind, o.Metadata.Name)
	}
	there, err := c.deps.ControlPlane.Get(ctx, o.Kind, o.Metadata.Name)
	if err != nil {
		return fmt.Errorf("read %s %s: %w", o.Kind, o.Metadata.Name, err)
	}
	if there.Metadata.Annotations[AnnotationIntent] != in.ID {
		return Refuse("%s %s was made by somebody else meanwhile; choose another name for project %s.", o.Kind, o.Metadata.Name, r.Project)
	}
	return nil
}

// merged is both maps in a new one; the second wins.
func merged(a, b map[string]string) map[string]string {
	m := make(map[string]string, len(a)+len(b))
	maps.Copy(m, a)
	maps.Copy(m, b)
	return m
}

// wrap adds context to an error, if there is one.
func wrap(err error, format string, args ...any) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%s: %w", fmt.Sprintf(format, args...), err)
}
