package flowclient

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
)

// contextManifests is the context of the commit status that a sync sets.
const contextManifests = "platform/manifests"

// AppliedStore remembers manifests as they were last applied (port): what a
// three-way merge compares with.
type AppliedStore interface {
	// Applied gives what was last applied from a repository, by "Kind/name".
	Applied(ctx context.Context, repo string) (map[string]AppliedManifest, error)
	// PutApplied replaces the records of the given manifests in one transaction.
	PutApplied(ctx context.Context, repo string, manifests map[string]AppliedManifest) error
}

// AppliedManifest is a manifest as it was applied, and what the control plane had after that.
type AppliedManifest struct {
	Manifest Manifest `json:"manifest"`
	Live     Manifest `json:"live"`
}

// Manifest is the part of an object that a repository may own.
type Manifest struct {
	Labels      map[string]string `json:"labels,omitempty"`
	Annotations map[string]string `json:"annotations,omitempty"`
	Spec        json.RawMessage   `json:"spec,omitempty"`
}

// The results of a SyncObject.
const (
	SyncCreated = "created"
	SyncUpdated = "updated"
	SyncSkipped = "skipped" // it is as the manifest says already
	SyncRefused = "refused"
)

// syncPlan is the body of a sync intent: every manifest with what is to become of it.
type syncPlan struct {
	Repo      string       `json:"repo"`
	Project   string       `json:"project,omitempty"` // the repository's own
	Commit    string       `json:"commit"`
	Origin    Origin       `json:"origin"`
	Manifests []syncObject `json:"manifests"`
}

// syncObject is one manifest on its way.
type syncObject struct {
	SyncObject
	Manifest Manifest `json:"manifest"`
	Before   *Object  `json:"before,omitempty"` // of one that is to be updated

	namespace string // as the document names it
}

// key is what an object is remembered by.
func (o syncObject) key() string { return o.Kind + "/" + o.Name }

// Sync applies a repository's manifests at the head of a branch that its
// components are built from. Each is merged into what the control plane has:
// fields, labels and annotations that the manifest never named stay. One that
// is refused keeps none of the others from being applied. Objects whose
// manifest is gone are left. A repository without manifests is answered with
// counts of zero, and gets no commit status. A known origin key returns what was recorded for it.
func (c *Controller) Sync(ctx context.Context, r SyncRequest) (Synced, error) {
	err := check(r.Origin.check(), c.needPulls())
	if err == nil && !repoForm.MatchString(r.Repo) {
		err = &Invalid{Field: "repo", Value: clip(r.Repo), Why: "must be owner/name"}
	}
	if err == nil && !refForm.MatchString(r.Ref) {
		err = &Invalid{Field: "ref", Value: clip(r.Ref), Why: "is no name of a branch"}
	}
	if err != nil {
		return Synced{}, err
	}
	asked := r
	asked.Origin = Origin{}
	return perform(ctx, c, kindSync, syncSubject(r.Repo), r.Origin, asked, func(ctx context.Context) (any, Synced, bool, error) {
		plan, err := c.planSync(ctx, r)
		return plan, plan.synced(), err == nil && len(plan.Manifests) == 0, err
	})
}

// synced counts the plan's results.
func (p syncPlan) synced() Synced {
	out := Synced{Repo: p.Repo, Commit: p.Commit}
	for _, m := range p.Manifests {
		switch m.Result {
		case SyncCreated:
			out.Created++
		case SyncUpdated:
			out.Updated++
		case SyncSkipped:
			out.Skipped++
		case SyncRefused:
			out.Refused++
		}
		out.Objects = append(out.Objects, m.SyncObject)
	}
	return out
}

// planSync reads the manifests and decides what becomes of each.
func (c *Controller) planSync(ctx context.Context, r SyncRequest) (syncPlan, error) {
	own, err := c.ownership(ctx, r.Repo)
	if err != nil {
		return syncPlan{}, err
	}
	if !slices.Contains(own.branches, r.Ref) {
		return syncPlan{}, Refuse("the manifests of %s at %s were not applied: nothing is built from that branch; merge them into %s.", r.Repo, clip(r.Ref), own.branches[0])
	}
	commit, err := c.deps.Git.Commit(ctx, r.Repo, r.Ref)
	if err != nil {
		return syncPlan{}, err
	}
	plan := syncPlan{Repo: r.Repo, Commit: commit.SHA, Origin: r.Origin}
	if len(own.projects) > 0 {
		plan.Project = own.projects[0]
	}
	files, err := c.deps.Pulls.Files(ctx, r.Repo, commit.SHA, c.deps.Settings.ManifestDir)
	if err != nil && !IsNotFound(err) {
		return syncPlan{}, fmt.Errorf("manifests of %s: %w", r.Repo, err)
	}
	if plan.Manifests, err = readManifests(files); err != nil {
		return syncPlan{}, err
	}
	applied, err := c.deps.Applied.Applied(ctx, r.Repo)
	if err != nil {
		return syncPlan{}, err
	}
	for i := range plan.Manifests {
		m := &plan.Manifests[i]
		if m.Why == "" {
			m.Why = own.refuses(*m, c.deps.Settings.Namespace, plan.Manifests[:i])
		}
		if m.Why != "" {
			m.Result = SyncRefused
			continue
		}
		if err := c.decideSync(ctx, m, own, applied[m.key()]); err != nil {
			return syncPlan{}, err
		}
	}
	return plan, nil
}

// decideSync says what becomes of one manifest.
func (c *Controller) decideSync(ctx context.Context, m *syncObject, own ownership, last AppliedManifest) error {
	there, err := c.deps.ControlPlane.Get(ctx, Kind(m.Kind), m.Name)
	if IsNotFound(err) {
		m.Result = SyncCreated
		return nil
	}
	if err != nil {
		return fmt.Errorf("read %s %s: %w", m.Kind, m.Name, err)
	}
	if m.Why = own.refusesThere(*m, there); m.Why != "" {
		m.Result = SyncRefused
		return nil
	}
	there.Kind = Kind(m.Kind)
	_, changed, err := mergeManifest(last, m.Manifest, there)
	m.Result = SyncSkipped
	if changed {
		m.Result, m.Before = SyncUpdated, &there
	}
	return err
}

// finishSync applies what is not applied yet, remembers it, and tells the commit.
func (c *Controller) finishSync(ctx context.Context, in Intent) (any, []Event, error) {
	var plan syncPlan
	if err := json.Unmarshal(in.Body, &plan); err != nil {
		return nil, nil, fmt.Errorf("plan: %w", err)
	}
	if err := c.needPulls(); err != nil {
		return nil, nil, err
	}
	own, err := c.ownership(ctx, plan.Repo)
	if err != nil {
		return nil, nil, err
	}
	last, err := c.deps.Applied.Applied(ctx, plan.Repo)
	if err != nil {
		return nil, nil, err
	}
	applied := map[string]AppliedManifest{}
	var done synced
	for i := range plan.Manifests {
		m := &plan.Manifests[i]
		if m.Result == SyncRefused {
			continue
		}
		there, err := c.applyManifest(ctx, in, own, *m, last[m.key()])
		if err != nil && !answered(err) {
			return nil, nil, fmt.Errorf("apply %s %s: %w", m.Kind, m.Name, err)
		}
		if err != nil {
			m.Result, m.Why = SyncRefused, err.Error()
			continue
		}
		applied[m.key()] = AppliedManifest{Manifest: m.Manifest, Live: manifestOf(there)}
		if there.Kind = Kind(m.Kind); m.Result != SyncSkipped {
			done.writes = append(done.writes, Written{Before: m.Before, After: there})
		}
	}
	if err := c.deps.Applied.PutApplied(ctx, plan.Repo, applied); err != nil {
		return nil, nil, err
	}
	done.outcome = plan.synced()
	err = c.deps.Git.SetStatus(ctx, plan.Repo, plan.Commit, done.outcome.status())
	if IsNotFound(err) {
		return nil, nil, Refuse("%s has no commit %s any more that could be told what became of its manifests.", plan.Repo, ShortSHA(plan.Commit))
	}
	return done, nil, wrap(err, "status of %s", ShortSHA(plan.Commit))
}

// synced is what a sync came to.
type synced struct {
	outcome Synced
	writes  []Written
}

// settle answers with the counts and records the writes.
func (s synced) settle(to *settled, _ *Settlement) any {
	to.Writes = s.writes
	return s.outcome
}

// status is the commit status of a sync.
func (s Synced) status() CommitStatus {
	status := CommitStatus{Context: contextManifests, State: "success",
		Description: fmt.Sprintf("%d created, %d updated, %d skipped", s.Created, s.Updated, s.Skipped)}
	if s.Refused > 0 {
		status.State = "failure"
		status.Description += fmt.Sprintf(", %d refused", s.Refused)
	}
	return status
}

// applyAttempts bounds how often a conditional write that lost is begun again.
const applyAttempts = 8

// applyManifest creates the object or merges the manifest into it, and gives
// what the control plane has then.
func (c *Controller) applyManifest(ctx context.Context, in Intent, own ownership, m syncObject, last AppliedManifest) (Object, error) {
	for range applyAttempts {
		there, err := c.deps.ControlPlane.Get(ctx, Kind(m.Kind), m.Name)
		if IsNotFound(err) {
			o := Object{APIVersion: apiVersion, Kind: Kind(m.Kind), Spec: m.Manifest.Spec,
				Metadata: Metadata{Name: m.Name, Labels: m.Manifest.Labels, Annotations: merged(m.Manifest.Annotations, map[string]string{AnnotationIntent: in.ID})}}
			if there, err = c.deps.ControlPlane.Create(ctx, o); errors.Is(err, ErrExists) {
				continue
			}
			return there, err
		}
		if err != nil {
			return Object{}, err
		}
		if why := own.refusesThere(m, there); why != "" {
			return Object{}, Refuse("%s", why)
		}
		there.Kind = Kind(m.Kind)
		next, changed, err := mergeManifest(last, m.Manifest, there)
		if err != nil || !changed {
			return there, err
		}
		if there, err = c.deps.ControlPlane.Update(ctx, next); errors.Is(err, ErrConflict) {
			continue
		}
		return there, err
	}
	return Object{}, fmt.Errorf("%s %s: %w", m.Kind, m.Name, errBusy)
}

// manifestOf is the part of an object that a repository may own.
func manifestOf(o Object) Manifest {
	return Manifest{Labels: o.Metadata.Labels, Annotations: o.Metadata.Annotations, Spec: o.Spec}
}
