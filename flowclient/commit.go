package flowclient

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
)

// commitPlan is the body of a commit intent.
type commitPlan struct {
	Project string        `json:"project"`
	Request CommitRequest `json:"request"`
}

// Commit pushes a commit to a project's repository, as a person's push would
// be: its hooks start a build. A known origin key returns the commit it made.
func (c *Controller) Commit(ctx context.Context, r CommitRequest) (Commit, error) {
	if err := r.check(); err != nil {
		return Commit{}, err
	}
	asked := r
	asked.Origin = Origin{}
	return perform(ctx, c, kindCommit, commitSubject(r.Project), r.Origin, asked, func(ctx context.Context) (any, Commit, bool, error) {
		_, err := c.deps.ControlPlane.Get(ctx, KindProject, r.Project)
		return commitPlan{Project: r.Project, Request: r}, Commit{}, false, err
	})
}

func (r CommitRequest) check() error {
	err := check(r.Origin.check(), checkLabel("project", r.Project, maxLabel), required("message", r.Message, maxMessage))
	if err == nil && r.Branch != "" && !refForm.MatchString(r.Branch) {
		err = &Invalid{Field: "branch", Value: clip(r.Branch), Why: "is no name of a branch"}
	}
	if err == nil && len(r.Files)+len(r.Delete) == 0 {
		err = &Invalid{Field: "files", Why: "name at least one file to write or delete"}
	}
	if err == nil && len(r.Files)+len(r.Delete) > maxFiles {
		err = &Invalid{Field: "files", Value: fmt.Sprint(len(r.Files) + len(r.Delete)), Why: fmt.Sprintf("are more than %d", maxFiles)}
	}
	total := 0
	for path, content := range r.Files {
		err = check(err, checkPath("files", path))
		total += len(content)
	}
	for _, path := range r.Delete {
		err = check(err, checkPath("delete", path))
		if _, both := r.Files[path]; both {
			err = check(err, &Invalid{Field: "delete", Value: path, Why: "is written by the same commit"})
		}
	}
	if err == nil && total > maxContent {
		err = &Invalid{Field: "files", Value: fmt.Sprintf("%d bytes", total), Why: fmt.Sprintf("hold more than %d bytes", maxContent)}
	}
	return err
}

// finishCommit pushes; the git server knows a push by its key, so that a
// second one returns the first's commit.
func (c *Controller) finishCommit(ctx context.Context, in Intent) (any, []Event, error) {
	var plan commitPlan
	if err := json.Unmarshal(in.Body, &plan); err != nil {
		return nil, nil, fmt.Errorf("plan: %w", err)
	}
	commit, err := c.deps.Git.Push(ctx, Push{
		Repo: c.repository(plan.Project), Branch: cmp.Or(plan.Request.Branch, mainBranch), Key: in.Key,
		Message: plan.Request.Message, Author: plan.Request.Origin.Who, Files: plan.Request.Files, Delete: plan.Request.Delete,
	})
	if IsNotFound(err) {
		return nil, nil, Refuse("%s has no repository %s with a branch %s to push to.",
			plan.Project, c.repository(plan.Project), cmp.Or(plan.Request.Branch, mainBranch))
	}
	if err != nil {
		return nil, nil, err
	}
	return commit, nil, c.rememberTrace(ctx, commit.SHA, plan.Request.Origin)
}

// mainBranch is the branch that scaffold pushes and that builds follow.
const mainBranch = "main"

// repository is the name of a project's repository.
func (c *Controller) repository(project string) string { return c.deps.Settings.Owner + "/" + project }
