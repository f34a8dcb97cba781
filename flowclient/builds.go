package flowclient

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"
)

// lastLines is how much of a failed stage's log an announcement shows.
const lastLines = 40

// logPatience is how long a failed build is kept back while its log cannot be
// read; then it is told without.
const logPatience = 5 * time.Minute

// Builds lists the builds that the controller is waiting on, oldest first.
func (c *Controller) Builds(ctx context.Context) ([]Build, error) {
	runs, err := c.deps.ControlPlane.List(ctx, KindWorkflowRun, Filter{})
	if err != nil {
		return nil, fmt.Errorf("builds: %w", err)
	}
	builds := []Build{}
	for _, o := range runs {
		b, err := c.buildOf(o)
		if err != nil {
			return nil, err
		}
		if b.Phase == BuildPending || b.Phase == BuildRunning {
			builds = append(builds, b)
		}
	}
	slices.SortFunc(builds, func(a, b Build) int {
		return cmp.Or(a.CreatedAt.Compare(b.CreatedAt), strings.Compare(a.Run, b.Run))
	})
	return builds, nil
}

// Build is one build with its stages; *NotFound.
func (c *Controller) Build(ctx context.Context, run string) (Build, error) {
	if err := checkLabel("run", run, 253); err != nil {
		return Build{}, err
	}
	o, err := c.deps.ControlPlane.Get(ctx, KindWorkflowRun, run)
	if err != nil {
		return Build{}, err
	}
	return c.buildOf(o)
}

// BuildLog is the last lines of a stage ("" for all stages), oldest first; 0
// asks for as many as there are, up to ten thousand.
func (c *Controller) BuildLog(ctx context.Context, run, stage string, last int) ([]string, error) {
	if err := check(checkLabel("run", run, 253), checkText("stage", stage, maxWho)); err != nil {
		return nil, err
	}
	if last < 0 {
		return nil, &Invalid{Field: "last", Value: fmt.Sprint(last), Why: "must not be negative"}
	}
	if last == 0 || last > maxLines {
		last = maxLines
	}
	log, err := c.deps.ControlPlane.RunLog(ctx, run, stage)
	if err != nil {
		return nil, err
	}
	log = log[max(0, len(log)-last):]
	lines := make([]string, 0, len(log))
	for _, l := range log {
		lines = append(lines, l.Text)
	}
	return lines, nil
}

// buildOf reads a run, with its page.
func (c *Controller) buildOf(o Object) (Build, error) {
	b, err := readBuild(o)
	if err == nil && c.deps.Settings.BuildPage != nil {
		b.URL = c.deps.Settings.BuildPage(b.Run)
	}
	return b, err
}

// readBuild reads a run.
func readBuild(o Object) (Build, error) {
	var spec WorkflowRunSpec
	var status WorkflowRunStatus
	if err := o.Decode(&spec, &status); err != nil {
		return Build{}, err
	}
	b := Build{
		Run: o.Metadata.Name, Project: o.Metadata.Labels[LabelProject], Component: o.Metadata.Labels[LabelComponent],
		Commit: cmp.Or(o.Metadata.Labels[LabelCommit], spec.Workflow.Parameters.Repository.Revision.Commit),
		Phase:  BuildPending, Stages: status.Tasks, StartedAt: status.StartedAt, CompletedAt: status.CompletedAt,
	}
	if o.Metadata.Created != nil {
		b.CreatedAt = *o.Metadata.Created
	}
	if b.Stages == nil {
		b.Stages = []Task{}
	}
	for _, cond := range status.Conditions {
		if cond.Status != "True" {
			continue
		}
		switch cond.Type {
		case "WorkflowFailed":
			b.Phase, b.Message = BuildFailed, cond.Message
		case "WorkflowSucceeded":
			b.Phase = BuildSucceeded
		case "WorkflowRunning":
			if b.Phase == BuildPending {
				b.Phase = BuildRunning
			}
		}
	}
	for _, task := range b.Stages {
		if task.Phase == BuildFailed && b.FailedStage == "" {
			b.FailedStage, b.Message = task.Name, cmp.Or(task.Message, b.Message)
		}
	}
	return b, nil
}

// notice records what a run came to, once: started, then passed or failed.
func (c *Controller) notice(ctx context.Context, o Object) error {
	b, err := c.buildOf(o)
	if err != nil || b.Phase == BuildPending || c.noticed[b.Run] == b.Phase {
		return err
	}
	if o.Metadata.Labels[LabelForkOf] != "" {
		return nil // what a review environment came to is told as such
	}
	if kept := c.deps.Settings.KeepHistory; kept > 0 && b.CompletedAt != nil && c.deps.Now().Sub(*b.CompletedAt) > kept {
		c.noticed[b.Run] = b.Phase // it was noted once, and that was forgotten
		return nil
	}
	body, retry := c.describe(ctx, b)
	if retry != nil {
		return fmt.Errorf("notice %s: %w", b.Run, retry)
	}
	walkthrough, err := c.isWalkthrough(ctx, b.Project)
	if err != nil {
		return fmt.Errorf("notice %s: %w", b.Run, err)
	}
	about := Event{Project: b.Project, Component: b.Component, Walkthrough: walkthrough}
	started := BuildEvent{Build: b, Subject: body.Subject, Author: body.Author}
	started.Build.Phase, started.Build.FailedStage, started.Build.Message, started.Build.CompletedAt = BuildRunning, "", "", nil
	about.At = c.instant(b.StartedAt)
	e, err := event("build/"+b.Run+"/started", EventBuildStarted, about, started)
	if err != nil {
		return err
	}
	events := []Event{e}
	if kind, word := EventBuildPassed, "passed"; b.Phase != BuildRunning {
		if b.Phase == BuildFailed {
			kind, word = EventBuildFailed, "failed"
		}
		about.At = c.instant(b.CompletedAt)
		if e, err = event("build/"+b.Run+"/"+word, kind, about, body); err != nil {
			return err
		}
		events = append(events, e)
	}
	if err := c.deps.Journal.Note(ctx, events...); err != nil {
		return err
	}
	c.noticed[b.Run] = b.Phase
	c.deps.Noted()
	return nil
}

// phaseNoted is the phase that an event of a build tells.
var phaseNoted = map[string]string{EventBuildStarted: BuildRunning, EventBuildPassed: BuildSucceeded, EventBuildFailed: BuildFailed}

// recall reads, once, which builds were noted before this process: a start
// with thousands of runs must not ask the git server about each again.
func (c *Controller) recall(ctx context.Context) error {
	const batch = 500
	for after := int64(0); !c.recalled; {
		events, err := c.deps.Journal.Events(ctx, after, batch)
		if err != nil {
			return fmt.Errorf("builds noted before: %w", err)
		}
		for _, e := range events {
			after = e.Seq
			run, _, ok := strings.Cut(strings.TrimPrefix(e.Key, "build/"), "/")
			if phase, build := phaseNoted[e.Kind]; ok && build {
				c.noticed[run] = phase // in the order of events: the last one is how the run ended
			}
		}
		c.recalled = len(events) < batch
	}
	return nil
}

// describe is a build with its commit's subject and author, where the git
// server tells, and the end of its failed stage's log. An error asks to come
// back: the log cannot be read yet.
func (c *Controller) describe(ctx context.Context, b Build) (BuildEvent, error) {
	body := BuildEvent{Build: b}
	if commit, err := c.commitOf(ctx, b.Component, b.Commit); err == nil {
		body.Subject, body.Author = commit.Subject, commit.Author
	} else {
		c.deps.Log.DebugContext(ctx, "commit of a build", "run", b.Run, "err", err)
	}
	if b.Phase != BuildFailed {
		return body, nil
	}
	lines, err := c.BuildLog(ctx, b.Run, b.FailedStage, lastLines)
	if err != nil && c.deps.Now().Sub(c.instant(b.CompletedAt)) < logPatience {
		return BuildEvent{}, err
	}
	body.Lines = lines
	return body, nil
}

// commitOf resolves a commit in the repository of a component.
func (c *Controller) commitOf(ctx context.Context, component, ref string) (Commit, error) {
	o, err := c.deps.ControlPlane.Get(ctx, KindComponent, component)
	if err != nil {
		return Commit{}, err
	}
	repo, err := repositoryOf(o)
	if err != nil {
		return Commit{}, err
	}
	return c.deps.Git.Commit(ctx, repo, ref)
}

// repositoryOf is the "owner/name" that a component is built from.
func repositoryOf(component Object) (string, error) {
	url, err := cloneURL(component)
	if err != nil {
		return "", err
	}
	parts := strings.Split(strings.Trim(strings.TrimSuffix(url, ".git"), "/"), "/")
	if url == "" || len(parts) < 2 {
		return "", Refuse("%s names no repository that its commits could be found in.", component.Metadata.Name)
	}
	owner := parts[len(parts)-2]
	return owner[strings.LastIndex(owner, ":")+1:] + "/" + parts[len(parts)-1], nil // git@host:owner/name
}

// cloneURL is where a component's source is cloned from, "" when it is not built here.
func cloneURL(component Object) (string, error) {
	var spec ComponentSpec
	if err := component.Decode(&spec, nil); err != nil || spec.Workflow == nil {
		return "", err
	}
	return spec.Workflow.Parameters.Repository.URL, nil
}

// instant is an instant that may be unknown, now where it is.
func (c *Controller) instant(at *time.Time) time.Time {
	if at == nil {
		return c.deps.Now()
	}
	return *at
}
