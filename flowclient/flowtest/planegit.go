package flowtest

import (
	"context"
	"crypto/sha1" //nolint:gosec // names commits as git does
	"encoding/hex"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"platform.dev/platform/flowclient"
)

// repo is a repository in memory: one line of commits.
type repo struct {
	commits []flowclient.Commit
	files   map[string]string
	keys    map[string]flowclient.Commit
	hooks   map[string]flowclient.Hook
}

func (p *Plane) repository(name string) flowclient.Repository {
	return flowclient.Repository{Name: name, CloneURL: "http://127.0.0.1:3001/" + name + ".git", WebURL: "http://127.0.0.1:3001/" + name, DefaultBranch: "main"}
}

// EnsureRepository creates the repository or returns the one there is.
func (p *Plane) EnsureRepository(_ context.Context, name, _ string) (flowclient.Repository, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.repository(name), p.writing("ensure repository", func() error {
		if p.repos[name] == nil {
			p.repos[name] = &repo{files: map[string]string{}, keys: map[string]flowclient.Commit{}, hooks: map[string]flowclient.Hook{}}
		}
		return nil
	})
}

// DeleteRepository removes a repository.
func (p *Plane) DeleteRepository(_ context.Context, name string) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.writing("delete repository", func() error {
		if p.repos[name] == nil {
			return &flowclient.NotFound{Kind: "repository", Name: name}
		}
		delete(p.repos, name)
		return nil
	})
}

// EnsureHook creates or updates the hook of the URL.
func (p *Plane) EnsureHook(_ context.Context, name string, h flowclient.Hook) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.writing("ensure hook", func() error {
		r := p.repos[name]
		if r == nil {
			return &flowclient.NotFound{Kind: "repository", Name: name}
		}
		r.hooks[h.URL] = h
		return nil
	})
}

// Push commits, once per key, and starts the builds that the push's hook would start.
func (p *Plane) Push(_ context.Context, push flowclient.Push) (commit flowclient.Commit, err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return commit, p.writing("push", func() error {
		r := p.repos[push.Repo]
		if r == nil || push.Branch != "main" {
			return &flowclient.NotFound{Kind: "repository", Name: push.Repo}
		}
		if known, ok := r.keys[push.Key]; ok {
			commit = known
			return nil
		}
		sum := sha1.Sum(fmt.Appendf(nil, "%s %s %d", push.Repo, push.Key, len(r.commits))) //nolint:gosec // as above
		subject, _, _ := strings.Cut(push.Message, "\n")
		commit = flowclient.Commit{SHA: hex.EncodeToString(sum[:]), Subject: subject, Author: push.Author, At: p.Now()}
		maps.Copy(r.files, push.Files)
		for _, path := range push.Delete {
			delete(r.files, path)
		}
		r.commits, r.keys[push.Key] = append(r.commits, commit), commit
		return p.build(push.Repo, r, commit)
	})
}

// Commit resolves main, or the beginning of a commit.
func (p *Plane) Commit(_ context.Context, name, ref string) (flowclient.Commit, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.dead {
		return flowclient.Commit{}, ErrCrashed
	}
	missing := &flowclient.NotFound{Kind: "commit", Name: ref}
	r := p.repos[name]
	if r == nil || len(r.commits) == 0 {
		return flowclient.Commit{}, missing
	}
	if ref == "main" {
		return r.commits[len(r.commits)-1], nil
	}
	var found []flowclient.Commit
	for _, c := range r.commits {
		if strings.HasPrefix(c.SHA, ref) {
			found = append(found, c)
		}
	}
	switch len(found) {
	case 0:
		return flowclient.Commit{}, missing
	case 1:
		return found[0], nil
	}
	return flowclient.Commit{}, &flowclient.Invalid{Field: "commit", Value: ref, Why: "is ambiguous"}
}

// Commits lists the newest commits first.
func (p *Plane) Commits(_ context.Context, name, _ string, limit int) ([]flowclient.Commit, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	r := p.repos[name]
	if r == nil {
		return nil, &flowclient.NotFound{Kind: "repository", Name: name}
	}
	commits := slices.Clone(r.commits)
	slices.Reverse(commits)
	return commits[:min(limit, len(commits))], nil
}

// SetStatus is accepted and forgotten: nothing that is tested here reads it.
func (p *Plane) SetStatus(context.Context, string, string, flowclient.CommitStatus) error { return nil }

// build does what the control plane and the workflow engine do about a push:
// a run, and when its tests pass a release and the binding in staging. Tests
// fail when ci/test.sh ends with "exit 1".
func (p *Plane) build(name string, r *repo, commit flowclient.Commit) error {
	for _, component := range slices.Sorted(maps.Keys(p.objects[flowclient.KindComponent])) {
		o := p.objects[flowclient.KindComponent][component].object
		var spec flowclient.ComponentSpec
		if err := json.Unmarshal(o.Spec, &spec); err != nil {
			return err
		}
		if !spec.AutoBuild || spec.Workflow == nil || spec.Workflow.Parameters.Repository.URL != p.repository(name).CloneURL {
			continue
		}
		labels := map[string]string{flowclient.LabelProject: spec.Owner.ProjectName, flowclient.LabelComponent: component, flowclient.LabelCommit: commit.SHA}
		if failing := strings.HasSuffix(r.files["ci/test.sh"], "\nexit 1\n"); p.run(component, commit, labels, failing) || !spec.AutoDeploy {
			continue
		}
		if err := p.deploy(component, commit, labels); err != nil {
			return err
		}
	}
	return nil
}

// run records a run that is over, and tells whether it failed.
func (p *Plane) run(component string, commit flowclient.Commit, labels map[string]string, failing bool) bool {
	now := p.Now()
	name := component + "-run-" + commit.SHA[:8]
	outcome, phase := "WorkflowSucceeded", flowclient.BuildSucceeded
	if failing {
		outcome, phase = "WorkflowFailed", flowclient.BuildFailed
	}
	status, err := json.Marshal(flowclient.WorkflowRunStatus{
		Conditions: []flowclient.Condition{{Type: outcome, Status: "True"}, {Type: "WorkflowCompleted", Status: "True"}},
		Tasks:      []flowclient.Task{{Name: "test", Phase: phase, StartedAt: &now, CompletedAt: &now}}, StartedAt: &now, CompletedAt: &now,
	})
	if err != nil {
		return true
	}
	for i := range 60 {
		p.logs[name+"/test"] = append(p.logs[name+"/test"], flowclient.LogLine{At: now, Text: fmt.Sprintf("line %d of 60", i+1)})
	}
	p.put(flowclient.Object{Kind: flowclient.KindWorkflowRun, Metadata: flowclient.Metadata{Name: name, Labels: labels}, Spec: json.RawMessage(`{}`), Status: status})
	return failing
}

// deploy cuts the release and binds it in staging.
func (p *Plane) deploy(component string, commit flowclient.Commit, labels map[string]string) error {
	owner := flowclient.Owner{ProjectName: labels[flowclient.LabelProject], ComponentName: component}
	release := component + "-" + commit.SHA[:10]
	spec, err := json.Marshal(flowclient.ComponentReleaseSpec{Owner: owner, Workload: flowclient.WorkloadSpec{
		Container: flowclient.Container{Image: "127.0.0.1:10082/" + component + "@sha256:" + commit.SHA}}})
	if err != nil {
		return err
	}
	p.put(flowclient.Object{Kind: flowclient.KindComponentRelease, Metadata: flowclient.Metadata{Name: release, Labels: labels}, Spec: spec})
	spec, err = json.Marshal(flowclient.ReleaseBindingSpec{Owner: owner, Environment: flowclient.Staging, ReleaseName: release, State: "Active"})
	if err != nil {
		return err
	}
	name := component + "-" + flowclient.Staging
	if k, ok := p.objects[flowclient.KindReleaseBinding][name]; ok {
		k.object.Spec = spec
		p.reconcile(k)
		return nil
	}
	p.put(flowclient.Object{Kind: flowclient.KindReleaseBinding, Metadata: flowclient.Metadata{Name: name, Labels: labels}, Spec: spec})
	return nil
}
