package flowtest

import (
	"cmp"
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

// repo is a repository in memory.
type repo struct {
	heads   map[string]string              // branch to commit
	history map[string][]flowclient.Commit // by commit: everything reachable from it, itself last
	trees   map[string]map[string]string   // by commit
	keys    map[string]flowclient.Commit
	hooks   map[string]flowclient.Hook
	pulls   []*pulled // by number, from 1
	labels  []string
}

func newRepo() *repo {
	return &repo{heads: map[string]string{}, history: map[string][]flowclient.Commit{}, trees: map[string]map[string]string{},
		keys: map[string]flowclient.Commit{}, hooks: map[string]flowclient.Hook{}}
}

// resolve finds a branch's head, or the one commit that begins with ref.
func (r *repo) resolve(ref string) (flowclient.Commit, error) {
	if sha, ok := r.heads[ref]; ok {
		ref = sha
	}
	var found []flowclient.Commit
	for _, sha := range slices.Sorted(maps.Keys(r.history)) {
		if strings.HasPrefix(sha, ref) {
			found = append(found, r.history[sha][len(r.history[sha])-1])
		}
	}
	switch len(found) {
	case 0:
		return flowclient.Commit{}, &flowclient.NotFound{Kind: "commit", Name: ref}
	case 1:
		return found[0], nil
	}
	return flowclient.Commit{}, &flowclient.Invalid{Field: "commit", Value: ref, Why: "is ambiguous"}
}

// commit puts a commit with a tree on a branch, on top of what is reachable from before.
func (r *repo) commit(branch string, before []flowclient.Commit, c flowclient.Commit, tree map[string]string) flowclient.Commit {
	sum := sha1.Sum(fmt.Appendf(nil, "%s %s %d %d", branch, c.SHA, len(before), len(r.history))) //nolint:gosec // as above
	c.SHA = hex.EncodeToString(sum[:])
	r.history[c.SHA] = append(slices.Clone(before), c)
	r.trees[c.SHA], r.heads[branch] = tree, c.SHA
	return c
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
			p.repos[name] = newRepo()
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

// Push commits, once per key, and starts the builds that the push's hook would
// start. A branch that does not exist begins at the push's base, or at main.
func (p *Plane) Push(_ context.Context, push flowclient.Push) (commit flowclient.Commit, err error) {
	p.mu.Lock()
	defer p.unlock()
	return commit, p.writing("push", func() error {
		r := p.repos[push.Repo]
		if r == nil {
			return &flowclient.NotFound{Kind: "repository", Name: push.Repo}
		}
		if known, ok := r.keys[push.Key]; ok {
			commit = known
			return nil
		}
		at, exists := r.heads[push.Branch]
		if !exists {
			if at = r.heads[cmp.Or(push.Base, "main")]; at == "" && push.Branch != "main" {
				return &flowclient.NotFound{Kind: "branch", Name: push.Base}
			}
		}
		tree := maps.Clone(r.trees[at])
		if tree == nil {
			tree = map[string]string{}
		}
		maps.Copy(tree, push.Files)
		for _, path := range push.Delete {
			delete(tree, path)
		}
		subject, _, _ := strings.Cut(push.Message, "\n")
		commit = r.commit(push.Branch, r.history[at], flowclient.Commit{SHA: push.Repo + push.Key, Subject: subject, Author: push.Author, At: p.Now()}, tree)
		r.keys[push.Key] = commit
		p.headMoved(push.Repo, push.Branch)
		return p.build(push.Repo, r, push.Branch, commit)
	})
}

// Commit resolves a branch, or the beginning of a commit.
func (p *Plane) Commit(_ context.Context, name, ref string) (flowclient.Commit, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.dead {
		return flowclient.Commit{}, ErrCrashed
	}
	r := p.repos[name]
	if r == nil {
		return flowclient.Commit{}, &flowclient.NotFound{Kind: "commit", Name: ref}
	}
	return r.resolve(ref)
}

// Commits lists the newest commits first.
func (p *Plane) Commits(_ context.Context, name, ref string, limit int) ([]flowclient.Commit, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	r := p.repos[name]
	if r == nil {
		return nil, &flowclient.NotFound{Kind: "repository", Name: name}
	}
	at, err := r.resolve(ref)
	if err != nil {
		return nil, err
	}
	commits := slices.Clone(r.history[at.SHA])
	slices.Reverse(commits)
	return commits[:min(limit, len(commits))], nil
}

// SetStatus keeps a commit's status; Status reads it.
func (p *Plane) SetStatus(_ context.Context, repo, sha string, s flowclient.CommitStatus) error {
	p.mu.Lock()
	defer p.unlock()
	return p.writing("set status", func() error {
		p.statuses[repo+"@"+sha+" "+s.Context] = s
		return nil
	})
}

// Status is a commit's status in a context.
func (p *Plane) Status(repo, sha, context string) flowclient.CommitStatus {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.statuses[repo+"@"+sha+" "+context]
}

// build does what the control plane and the workflow engine do about a push:
// a run, and when its tests pass a release and the binding in staging. Tests
// fail when ci/test.sh ends with "exit 1".
func (p *Plane) build(name string, r *repo, branch string, commit flowclient.Commit) error {
	for _, component := range slices.Sorted(maps.Keys(p.objects[flowclient.KindComponent])) {
		o := p.objects[flowclient.KindComponent][component].object
		var spec flowclient.ComponentSpec
		if err := json.Unmarshal(o.Spec, &spec); err != nil {
			return err
		}
		if !spec.AutoBuild || spec.Workflow == nil || spec.Workflow.Parameters.Repository.URL != p.repository(name).CloneURL ||
			cmp.Or(spec.Workflow.Parameters.Repository.Revision.Branch, "main") != branch {
			continue
		}
		labels := map[string]string{flowclient.LabelProject: spec.Owner.ProjectName, flowclient.LabelComponent: component, flowclient.LabelCommit: commit.SHA}
		if failing := r.failing(commit.SHA); p.run(component, commit, labels, failing) || !spec.AutoDeploy {
			continue
		}
		if err := p.deploy(component, commit, labels); err != nil {
			return err
		}
	}
	return nil
}

// failing tells whether the tests of a commit fail.
func (r *repo) failing(sha string) bool {
	return strings.HasSuffix(r.trees[sha]["ci/test.sh"], "\nexit 1\n")
}

// run records a run that is over, and tells whether it failed.
func (p *Plane) run(component string, commit flowclient.Commit, labels map[string]string, failing bool) bool {
	name := component + "-run-" + commit.SHA[:8]
	p.put(flowclient.Object{Kind: flowclient.KindWorkflowRun, Metadata: flowclient.Metadata{Name: name, Labels: labels},
		Spec: json.RawMessage(`{}`), Status: p.ended(name, failing)})
	return failing
}

// ended is the status of a run that is over, and writes its log.
func (p *Plane) ended(name string, failing bool) json.RawMessage {
	now := p.Now()
	outcome, phase := "WorkflowSucceeded", flowclient.BuildSucceeded
	if failing {
		outcome, phase = "WorkflowFailed", flowclient.BuildFailed
	}
	for i := range 60 {
		p.logs[name+"/test"] = append(p.logs[name+"/test"], flowclient.LogLine{At: now, Text: fmt.Sprintf("line %d of 60", i+1)})
	}
	return status(flowclient.WorkflowRunStatus{
		Conditions: []flowclient.Condition{{Type: outcome, Status: "True"}, {Type: "WorkflowCompleted", Status: "True"}},
		Tasks:      []flowclient.Task{{Name: "test", Phase: phase, StartedAt: &now, CompletedAt: &now}}, StartedAt: &now, CompletedAt: &now,
	})
}

// status is a status as an object carries it.
func status(of any) json.RawMessage {
	raw, err := json.Marshal(of)
	if err != nil {
		panic(err) // statuses are structs of ours
	}
	return raw
}

// deploy cuts the release and binds it in staging.
func (p *Plane) deploy(component string, commit flowclient.Commit, labels map[string]string) error {
	owner := flowclient.Owner{ProjectName: labels[flowclient.LabelProject], ComponentName: component}
	release, err := p.cut(owner, commit.SHA, labels)
	if err != nil {
		return err
	}
	spec, err := json.Marshal(flowclient.ReleaseBindingSpec{Owner: owner, Environment: flowclient.Staging, ReleaseName: release, State: "Active"})
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

// cut makes the release of a commit and gives its name.
func (p *Plane) cut(owner flowclient.Owner, sha string, labels map[string]string) (string, error) {
	release := owner.ComponentName + "-" + sha[:10]
	spec, err := json.Marshal(flowclient.ComponentReleaseSpec{Owner: owner, Workload: flowclient.WorkloadSpec{
		Container: flowclient.Container{Image: "127.0.0.1:10082/" + owner.ComponentName + "@sha256:" + sha}}})
	if err != nil {
		return "", err
	}
	p.put(flowclient.Object{Kind: flowclient.KindComponentRelease, Metadata: flowclient.Metadata{Name: release, Labels: labels}, Spec: spec})
	return release, nil
}
