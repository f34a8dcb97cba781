package flowtest

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"platform.dev/platform/flowclient"
)

// pulled is a pull request in memory.
type pulled struct {
	flowclient.Pull
	comments []comment // in the order in which they were made
}

type comment struct{ key, text string }

// Told has every change of a pull request delivered, as a git server's hook does.
func (p *Plane) Told(deliver func(flowclient.PullDelivery)) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.told = deliver
}

// tell queues a delivery for when the lock is given up.
func (p *Plane) tell(r *pulled, action string) {
	if p.told != nil {
		p.uid++
		p.untold = append(p.untold, flowclient.PullDelivery{ID: fmt.Sprint("delivery-", p.uid), Repo: r.Repo, Number: r.Number, Action: action, At: p.Now()})
	}
}

// unlock gives up the lock and delivers what happened under it.
func (p *Plane) unlock() {
	told, untold := p.told, p.untold
	p.untold = nil
	p.mu.Unlock()
	for _, d := range untold {
		told(d)
	}
}

// pull finds a pull request.
func (p *Plane) pull(repo string, number int) (*repo, *pulled, error) {
	r := p.repos[repo]
	if r == nil || number < 1 || number > len(r.pulls) {
		return nil, nil, &flowclient.NotFound{Kind: "pull request", Name: fmt.Sprintf("%s#%d", repo, number)}
	}
	return r, r.pulls[number-1], nil
}

// EnsurePull opens a pull request, or returns the open one that the branch has.
func (p *Plane) EnsurePull(_ context.Context, repo, branch, base, title, _ string) (made flowclient.Pull, err error) {
	p.mu.Lock()
	defer p.unlock()
	if err := firstOf(repoNamed(repo), branchNamed("branch", branch), branchNamed("base", base), texted("title", title, 250)); err != nil {
		return made, err
	}
	return made, p.writing("ensure pull", func() error {
		r := p.repos[repo]
		if r == nil || r.heads[branch] == "" || r.heads[base] == "" {
			return &flowclient.NotFound{Kind: "branch", Name: branch}
		}
		for _, one := range r.pulls {
			if one.State == flowclient.PullOpen && one.Branch == branch && one.Base == base {
				made = one.Pull
				return nil
			}
		}
		number := len(r.pulls) + 1
		one := &pulled{Pull: flowclient.Pull{Repo: repo, Number: number, Title: title, State: flowclient.PullOpen, Branch: branch, Head: r.heads[branch],
			Base: base, Author: "developer", URL: fmt.Sprintf("%s/pulls/%d", p.repository(repo).WebURL, number), Updated: p.Now()}}
		r.pulls = append(r.pulls, one)
		made = one.Pull
		p.tell(one, "opened")
		return nil
	})
}

// Pull reads a pull request.
func (p *Plane) Pull(_ context.Context, repo string, number int) (flowclient.Pull, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.dead {
		return flowclient.Pull{}, ErrCrashed
	}
	if number < 1 {
		return flowclient.Pull{}, &flowclient.Invalid{Field: "number", Value: fmt.Sprint(number), Why: "must be 1 or more"}
	}
	if err := repoNamed(repo); err != nil {
		return flowclient.Pull{}, err
	}
	_, one, err := p.pull(repo, number)
	if err != nil {
		return flowclient.Pull{}, err
	}
	return one.read(), nil
}

func (r *pulled) read() flowclient.Pull {
	pull := r.Pull
	pull.Labels = slices.Clone(pull.Labels)
	return pull
}

// OpenPulls lists the open ones.
func (p *Plane) OpenPulls(_ context.Context, repo string) ([]flowclient.Pull, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	r := p.repos[repo]
	switch {
	case p.dead:
		return nil, ErrCrashed
	case r == nil:
		return nil, &flowclient.NotFound{Kind: "repository", Name: repo}
	}
	var open []flowclient.Pull
	for _, one := range r.pulls {
		if one.State == flowclient.PullOpen {
			open = append(open, one.read())
		}
	}
	return open, nil
}

// MergePull merges; a file that both sides changed is a conflict.
func (p *Plane) MergePull(_ context.Context, repo string, number int, head string) (merged flowclient.Pull, err error) {
	p.mu.Lock()
	defer p.unlock()
	if head != "" && len(head) != 40 {
		return merged, &flowclient.Invalid{Field: "head", Value: head, Why: "must be a whole SHA"}
	}
	return merged, p.writing("merge", func() error {
		r, one, err := p.pull(repo, number)
		switch {
		case err != nil:
			return err
		case one.Merged:
			merged = one.read()
			return nil
		case one.State != flowclient.PullOpen:
			return flowclient.Refuse("%s#%d is closed; reopen it, then merge it.", repo, number)
		case head != "" && head != one.Head:
			return flowclient.Refuse("%s#%d is at %.10s now, not at %.10s; look at what was pushed, and merge that.", repo, number, one.Head, head)
		}
		ours, theirs := r.heads[one.Base], one.Head
		tree, conflict := r.merge(ours, theirs)
		if conflict != "" {
			return flowclient.Refuse("%s#%d conflicts with %s in %s; merge %s into %s, resolve that, push, and merge again.", repo, number, one.Base, conflict, one.Base, one.Branch)
		}
		before := slices.Clone(r.history[ours])
		before = append(before, r.missing(ours, theirs)...)
		made := r.commit(one.Base, before, flowclient.Commit{SHA: fmt.Sprint("merge", number), Subject: "Merge " + one.Title, Author: "developer", At: p.Now()}, tree)
		one.State, one.Merged, one.MergeCommit, one.Updated = flowclient.PullClosed, true, made.SHA, p.Now()
		merged = one.read()
		p.tell(one, "closed")
		return p.build(repo, r, one.Base, made)
	})
}

// missing is what is reachable from head and not from base, oldest first.
func (r *repo) missing(base, head string) []flowclient.Commit {
	has := map[string]bool{}
	for _, c := range r.history[base] {
		has[c.SHA] = true
	}
	return slices.DeleteFunc(slices.Clone(r.history[head]), func(c flowclient.Commit) bool { return has[c.SHA] })
}

// merge merges two trees by the newest commit that both have; conflict names a file that both changed.
func (r *repo) merge(ours, theirs string) (tree map[string]string, conflict string) {
	base := ""
	for _, c := range r.history[ours] {
		if slices.ContainsFunc(r.history[theirs], func(o flowclient.Commit) bool { return o.SHA == c.SHA }) {
			base = c.SHA
		}
	}
	was, a, b := r.trees[base], r.trees[ours], r.trees[theirs]
	tree = maps.Clone(a)
	names := maps.Clone(a)
	maps.Copy(names, b)
	for _, file := range slices.Sorted(maps.Keys(names)) {
		switch {
		case b[file] == was[file] || b[file] == a[file]:
		case a[file] == was[file]:
			tree[file] = b[file]
		default:
			return nil, file
		}
	}
	return tree, ""
}

// Comment keeps one comment per key.
func (p *Plane) Comment(_ context.Context, repo string, number int, key, text string) error {
	p.mu.Lock()
	defer p.unlock()
	err := firstOf(texted("key", key, 100), texted("text", text, 60<<10))
	if err == nil && (strings.Contains(key, "-->") || strings.Contains(key, "\n")) {
		err = &flowclient.Invalid{Field: "key", Value: key, Why: "must be a name"}
	}
	if err != nil {
		return err
	}
	return p.writing("comment", func() error {
		_, one, err := p.pull(repo, number)
		if err != nil {
			return err
		}
		one.Updated = p.Now()
		for i := range one.comments {
			if one.comments[i].key == key {
				one.comments[i].text = text
				return nil
			}
		}
		one.comments = append(one.comments, comment{key, text})
		return nil
	})
}

// EnsureLabel gives a repository a label, once.
func (p *Plane) EnsureLabel(_ context.Context, repo string, l flowclient.Label) error {
	p.mu.Lock()
	defer p.unlock()
	if err := firstOf(repoNamed(repo), texted("name", l.Name, 50)); err != nil {
		return err
	}
	return p.writing("ensure label", func() error {
		r := p.repos[repo]
		if r == nil {
			return &flowclient.NotFound{Kind: "repository", Name: repo}
		}
		if !slices.Contains(r.labels, l.Name) {
			r.labels = append(r.labels, l.Name)
		}
		return nil
	})
}

// DeleteBranch removes a branch.
func (p *Plane) DeleteBranch(_ context.Context, repo, branch string) error {
	p.mu.Lock()
	defer p.unlock()
	if err := branchNamed("branch", branch); err != nil {
		return err
	}
	return p.writing("delete branch", func() error {
		r := p.repos[repo]
		switch {
		case r == nil || r.heads[branch] == "":
			return &flowclient.NotFound{Kind: "branch", Name: branch}
		case branch == "main":
			return flowclient.Refuse("%s is the default branch of %s; make another one that first.", branch, repo)
		}
		delete(r.heads, branch)
		for _, one := range r.pulls {
			if one.Branch == branch && one.State == flowclient.PullOpen {
				one.State, one.Updated = flowclient.PullClosed, p.Now()
				p.tell(one, "closed")
			}
		}
		return nil
	})
}

// Compare lists what is reachable from head and not from base, newest first.
func (p *Plane) Compare(_ context.Context, repo, base, head string, limit int) ([]flowclient.Commit, bool, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if err := firstOf(repoNamed(repo), branchNamed("base", base), branchNamed("head", head)); err != nil {
		return nil, false, err
	}
	r := p.repos[repo]
	if r == nil {
		return nil, false, &flowclient.NotFound{Kind: "repository", Name: repo}
	}
	from, err := r.resolve(base)
	if err != nil {
		return nil, false, err
	}
	to, err := r.resolve(head)
	if err != nil {
		return nil, false, err
	}
	commits := r.missing(from.SHA, to.SHA)
	slices.Reverse(commits)
	return commits[:min(limit, len(commits))], len(commits) > limit, nil
}

// Files reads the files below dir.
func (p *Plane) Files(_ context.Context, repo, ref, dir string) (map[string]string, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if strings.Contains(dir, "..") {
		return nil, &flowclient.Invalid{Field: "dir", Value: dir, Why: "must be inside the repository"}
	}
	r := p.repos[repo]
	if r == nil {
		return nil, &flowclient.NotFound{Kind: "repository", Name: repo}
	}
	at, err := r.resolve(ref)
	if err != nil {
		return nil, err
	}
	files := map[string]string{}
	for file, content := range r.trees[at.SHA] {
		if dir != "" && !strings.HasPrefix(file, strings.TrimSuffix(dir, "/")+"/") {
			continue
		}
		if len(content) > 1<<20 {
			return nil, &flowclient.Invalid{Field: "file", Value: file, Why: "is larger than 1 MiB"}
		}
		files[file] = content
	}
	return files, nil
}

// ClosePull closes a pull request, as a person does.
func (p *Plane) ClosePull(_ context.Context, repo string, number int) error {
	return p.change(repo, number, "closed", func(one *pulled) { one.State = flowclient.PullClosed })
}

// ReopenPull opens it again.
func (p *Plane) ReopenPull(_ context.Context, repo string, number int) error {
	return p.change(repo, number, "reopened", func(one *pulled) {
		if !one.Merged {
			one.State = flowclient.PullOpen
		}
	})
}

// LabelPull gives it the labels that it has from then on.
func (p *Plane) LabelPull(_ context.Context, repo string, number int, labels ...string) error {
	return p.change(repo, number, "label_updated", func(one *pulled) { one.Labels = slices.Sorted(slices.Values(labels)) })
}

// RepositoryLabels are those that a repository was given.
func (p *Plane) RepositoryLabels(_ context.Context, repo string) ([]string, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	r := p.repos[repo]
	if r == nil {
		return nil, &flowclient.NotFound{Kind: "repository", Name: repo}
	}
	return slices.Clone(r.labels), nil
}

// PullComments are the texts of its comments.
func (p *Plane) PullComments(_ context.Context, repo string, number int) ([]string, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	_, one, err := p.pull(repo, number)
	if err != nil {
		return nil, err
	}
	var texts []string
	for _, c := range one.comments {
		texts = append(texts, c.text)
	}
	return texts, nil
}

func (p *Plane) change(repo string, number int, action string, do func(*pulled)) error {
	p.mu.Lock()
	defer p.unlock()
	_, one, err := p.pull(repo, number)
	if err == nil {
		do(one)
		one.Updated = p.Now()
		p.tell(one, action)
	}
	return err
}

// headMoved gives the open pull requests of a branch its head.
func (p *Plane) headMoved(repo, branch string) {
	r := p.repos[repo]
	for _, one := range r.pulls {
		if one.State == flowclient.PullOpen && one.Branch == branch {
			one.Head, one.Updated = r.heads[branch], p.Now()
			p.tell(one, "synchronized")
		}
	}
}

// HoldRuns has runs that are asked for from now on wait for FinishRun.
func (p *Plane) HoldRuns(held bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.held = held
}

// FinishRun ends a run that waits.
func (p *Plane) FinishRun(name string) error {
	p.mu.Lock()
	defer p.unlock()
	k, ok := p.objects[flowclient.KindWorkflowRun][name]
	if !ok {
		return &flowclient.NotFound{Kind: string(flowclient.KindWorkflowRun), Name: name}
	}
	p.finish(k)
	return nil
}

// begin runs a run that was asked for over the API.
func (p *Plane) begin(k *kept) {
	if p.held {
		k.object.Status = status(flowclient.WorkflowRunStatus{Conditions: []flowclient.Condition{{Type: "WorkflowRunning", Status: "True"}}})
		return
	}
	p.finish(k)
}

// finish ends a run: a success makes its component's workload, and of that a release.
func (p *Plane) finish(k *kept) {
	var spec flowclient.WorkflowRunSpec
	if err := json.Unmarshal(k.object.Spec, &spec); err != nil {
		return
	}
	from, name, labels := spec.Workflow.Parameters.Repository, k.object.Metadata.Labels[flowclient.LabelComponent], k.object.Metadata.Labels
	failing := true
	for repo, r := range p.repos {
		if p.repository(repo).CloneURL == from.URL && r.trees[from.Revision.Commit] != nil {
			failing = r.failing(from.Revision.Commit)
		}
	}
	k.object.Status = p.ended(k.object.Metadata.Name, failing)
	k.version++
	if _, there := p.objects[flowclient.KindComponent][name]; there && !failing {
		owner := flowclient.Owner{ProjectName: labels[flowclient.LabelProject], ComponentName: name}
		image := flowclient.Container{Image: "127.0.0.1:10082/" + name + "@sha256:" + from.Revision.Commit}
		p.put(flowclient.Object{Kind: flowclient.KindWorkload, Metadata: flowclient.Metadata{Name: name, Labels: labels},
			Spec: status(flowclient.WorkloadSpec{Owner: &owner, Container: image})})
		if _, err := p.cut(owner, from.Revision.Commit, labels); err != nil {
			return
		}
	}
	if p.watch != nil {
		p.watch(k.object.Kind, k.object.Metadata.Name)
	}
}
