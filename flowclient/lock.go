package flowclient

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// Locks lists the locks that hold, oldest first.
func (c *Controller) Locks(ctx context.Context) ([]Lock, error) {
	locks, err := c.deps.Locks.Locks(ctx)
	if locks == nil && err == nil {
		locks = []Lock{}
	}
	return locks, err
}

// SetLock locks a commit of a component in an environment, or in every one. An
// abbreviated commit is resolved in the component's repository. Setting a lock
// that holds changes nothing and returns it as it was set.
func (c *Controller) SetLock(ctx context.Context, r LockRequest) (Lock, error) {
	if err := check(r.check(), required("reason", r.Reason, maxText)); err != nil {
		return Lock{}, err
	}
	component, err := c.deps.ControlPlane.Get(ctx, KindComponent, r.Component)
	if err != nil {
		return Lock{}, err
	}
	if r.Environment != "" {
		if _, err := c.deps.ControlPlane.Get(ctx, KindEnvironment, r.Environment); err != nil {
			return Lock{}, err
		}
	}
	sha, err := c.resolveCommit(ctx, component, r.Commit)
	if err != nil {
		return Lock{}, err
	}
	var spec ComponentSpec
	if err := component.Decode(&spec, nil); err != nil {
		return Lock{}, err
	}
	releases, _, err := c.readReleases(ctx, r.Component)
	if err != nil {
		return Lock{}, err
	}
	lock := Lock{Component: r.Component, Commit: sha, Environment: r.Environment, Reason: strings.TrimSpace(r.Reason),
		Who: r.Origin.Who, At: c.deps.Now(), Releases: releasesOfCommit(sha, releases)}
	if lock.Note, err = c.lockNote(ctx, lock, releases); err != nil {
		return Lock{}, err
	}
	walkthrough, err := c.isWalkthrough(ctx, spec.Owner.ProjectName)
	if err != nil {
		return Lock{}, err
	}
	e, err := event("lock/"+r.Origin.Key+"/set", EventLockSet,
		Event{At: lock.At, Project: spec.Owner.ProjectName, Component: r.Component, Walkthrough: walkthrough},
		LockEvent{Who: r.Origin.Who, Link: r.Origin.Link, Trace: r.Origin.Trace, Locks: []Lock{lock}})
	if err != nil {
		return Lock{}, err
	}
	recorded, fresh, err := c.deps.Locks.SetLock(ctx, lock, e)
	if err != nil {
		return Lock{}, err
	}
	if recorded.Component != lock.Component || recorded.Commit != lock.Commit || recorded.Environment != lock.Environment {
		return Lock{}, reused(r.Origin)
	}
	if recorded.Note = lock.Note; fresh {
		c.recalls.Add(1)
		c.deps.Noted()
		c.Changed(KindProject, spec.Owner.ProjectName)
	}
	return recorded, nil
}

// lockNote says where a lock has no effect as things stand. A pin that is
// there stays, since locks are read when a release is about to be pinned; and
// nothing is promoted into staging, which takes what is built.
func (c *Controller) lockNote(ctx context.Context, l Lock, releases map[string]release) (string, error) {
	if l.Environment != "" && l.Environment != Production {
		return fmt.Sprintf("promotion and rollback act on %s alone: nothing in %s is held back by it.", Production, l.Environment), nil
	}
	b, err := c.readBinding(ctx, bindingName(l.Component, Production))
	if err != nil {
		return "", err
	}
	running, known := releases[b.spec.ReleaseName]
	all := slices.Collect(maps.Values(releases))
	if !known || !matches(l, running, Production, all) {
		return "", nil
	}
	return fmt.Sprintf("%s runs %s already: the lock takes nothing out of service there, and refuses only a return to it.", Production, running.label()), nil
}

// ClearLock clears the locks of a component's commit: with an environment the
// one for it, without one every entry. It returns what was cleared; *NotFound
// when none holds.
func (c *Controller) ClearLock(ctx context.Context, r LockRequest) ([]Lock, error) {
	if err := r.check(); err != nil {
		return nil, err
	}
	sha, err := c.lockedCommit(ctx, r)
	if err != nil {
		return nil, err
	}
	project, walkthrough, err := c.ownerOf(ctx, r.Component)
	if err != nil {
		return nil, err
	}
	var failed error
	now := c.deps.Now()
	cleared, err := c.deps.Locks.ClearLocks(ctx, r.Component, sha, r.Environment, r.Origin.Who, now, func(locks []Lock) Event {
		e, err := event("lock/"+r.Origin.Key+"/cleared", EventLockCleared,
			Event{At: now, Project: project, Component: r.Component, Walkthrough: walkthrough},
			LockEvent{Who: r.Origin.Who, Link: r.Origin.Link, Trace: r.Origin.Trace, Locks: locks})
		failed = errors.Join(failed, err)
		return e
	})
	if err = errors.Join(err, failed); err != nil {
		return nil, err
	}
	if len(cleared) > 0 && (cleared[0].Component != r.Component || cleared[0].Commit != sha) {
		return nil, reused(r.Origin)
	}
	if len(cleared) == 0 {
		return nil, noLock(r, sha)
	}
	c.recalls.Add(1)
	c.deps.Noted()
	if project != "" {
		c.Changed(KindProject, project)
	}
	return cleared, nil
}

// check checks what setting and clearing share.
func (r LockRequest) check() error { return check(r.Origin.check(), r.checkNames()) }

// checkNames checks which locks are meant.
func (r LockRequest) checkNames() error {
	return check(checkLabel("component", r.Component, maxLabel), checkCommit("commit", r.Commit), checkOptional("to", r.Environment))
}

// lockedCommit is the whole commit that a request to clear means: one that is
// locked, else one of the repository. The first needs no repository, so that a
// lock outlives it without being stuck.
func (c *Controller) lockedCommit(ctx context.Context, r LockRequest) (string, error) {
	locks, err := c.deps.Locks.Locks(ctx)
	if err != nil {
		return "", err
	}
	var matching []string
	for _, l := range locks {
		if l.Component == r.Component && strings.HasPrefix(l.Commit, strings.ToLower(r.Commit)) && !slices.Contains(matching, l.Commit) {
			matching = append(matching, l.Commit)
		}
	}
	switch len(matching) {
	case 1:
		return matching[0], nil
	case 0:
		component, err := c.deps.ControlPlane.Get(ctx, KindComponent, r.Component)
		if err != nil {
			return "", err
		}
		return c.resolveCommit(ctx, component, r.Commit)
	}
	return "", &Invalid{Field: "commit", Value: r.Commit, Why: "is the beginning of several locked commits: " + strings.Join(matching, ", ")}
}

// resolveCommit finds the whole commit in the component's repository.
func (c *Controller) resolveCommit(ctx context.Context, component Object, commit string) (string, error) {
	repo, err := repositoryOf(component)
	if err != nil {
		return "", err
	}
	missing := &NotFound{Kind: "commit", Name: repo + "@" + commit}
	found, err := c.deps.Git.Commit(ctx, repo, strings.ToLower(commit))
	if IsNotFound(err) {
		return "", missing
	}
	if err != nil {
		return "", err
	}
	if !strings.HasPrefix(found.SHA, strings.ToLower(commit)) {
		return "", missing // a branch or tag of such a name is not what is to be locked
	}
	return found.SHA, nil
}

// ownerOf is a component's project; both empty when the component is gone.
func (c *Controller) ownerOf(ctx context.Context, component string) (project string, walkthrough bool, err error) {
	o, err := c.deps.ControlPlane.Get(ctx, KindComponent, component)
	if IsNotFound(err) {
		return "", false, nil
	}
	var spec ComponentSpec
	if err == nil {
		err = o.Decode(&spec, nil)
	}
	if err != nil {
		return "", false, err
	}
	walkthrough, err = c.isWalkthrough(ctx, spec.Owner.ProjectName)
	return spec.Owner.ProjectName, walkthrough, err
}

// releasesOfCommit names the releases that a lock on a commit holds back:
// those of the commit and those of the same digest, sorted.
func releasesOfCommit(sha string, releases map[string]release) []string {
	digests := map[string]bool{}
	for _, r := range releases {
		if r.Commit == sha && r.digest() != "" {
			digests[r.digest()] = true
		}
	}
	names := []string{}
	for name, r := range releases {
		if r.Commit == sha || digests[r.digest()] {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}
