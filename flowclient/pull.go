package flowclient

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"regexp"
	"strings"
)

// Limits of a pull request.
const (
	maxTitle  = 250 // bytes
	maxNumber = 1 << 31
)

var repoForm = regexp.MustCompile(`^\.?[A-Za-z0-9_-][A-Za-z0-9._-]{0,98}/\.?[A-Za-z0-9_-][A-Za-z0-9._-]{0,98}$`)

// openPlan is the body of an intent to open a pull request.
type openPlan struct {
	Project string      `json:"project"`
	Request PullRequest `json:"request"`
}

// mergePlan is the body of an intent to merge one.
type mergePlan struct {
	Project string       `json:"project"`
	Request MergeRequest `json:"request"`
}

// OpenPull makes a branch with a commit and opens a pull request of it. A
// branch that exists already gets the commit on top, and the open pull request
// that it has is returned. A known origin key returns the pull request as it
// was when it was opened.
func (c *Controller) OpenPull(ctx context.Context, r PullRequest) (Pull, error) {
	if err := check(r.check(), c.needPulls()); err != nil {
		return Pull{}, err
	}
	asked := r
	asked.Origin = Origin{}
	return perform(ctx, c, kindOpenPull, commitSubject(r.Project), r.Origin, asked, func(ctx context.Context) (any, Pull, bool, error) {
		_, err := c.deps.ControlPlane.Get(ctx, KindProject, r.Project)
		return openPlan{Project: r.Project, Request: r}, Pull{}, false, err
	})
}

func (r PullRequest) check() error {
	err := check(required("title", r.Title, maxTitle), checkText("body", r.Body, maxMessage), required("branch", r.Branch, maxWho))
	if err == nil && strings.ContainsAny(r.Title, "\r\n") {
		err = &Invalid{Field: "title", Value: clip(r.Title), Why: "must be one line"}
	}
	if err == nil && r.Base != "" && !refForm.MatchString(r.Base) {
		err = &Invalid{Field: "base", Value: clip(r.Base), Why: "is no name of a branch"}
	}
	if err == nil && r.Branch == cmp.Or(r.Base, mainBranch) {
		err = &Invalid{Field: "branch", Value: r.Branch, Why: "is what it would be merged into; name another"}
	}
	return check(err, CommitRequest{Origin: r.Origin, Project: r.Project, Branch: r.Branch, Message: r.Title, Files: r.Files, Delete: r.Delete}.check())
}

// needPulls refuses what needs a git server with pull requests, where there is none.
func (c *Controller) needPulls() error {
	if c.deps.Pulls != nil {
		return nil
	}
	return Refuse("this controller was given no git server with pull requests; configure one and ask again.")
}

// finishOpenPull pushes the branch, which its key makes once, and opens the
// pull request, of which there is one open per branch.
func (c *Controller) finishOpenPull(ctx context.Context, in Intent) (any, []Event, error) {
	var plan openPlan
	if err := json.Unmarshal(in.Body, &plan); err != nil {
		return nil, nil, fmt.Errorf("plan: %w", err)
	}
	if err := c.needPulls(); err != nil {
		return nil, nil, err
	}
	r, repo := plan.Request, c.repository(plan.Project)
	base := cmp.Or(r.Base, mainBranch)
	message := r.Title
	if r.Body != "" {
		message += "\n\n" + r.Body
	}
	commit, err := c.deps.Git.Push(ctx, Push{Repo: repo, Branch: r.Branch, Base: base, Key: in.Key, Message: message,
		Author: r.Origin.Who, Files: r.Files, Delete: r.Delete})
	if IsNotFound(err) {
		return nil, nil, Refuse("%s has no repository %s with a branch %s to begin at.", plan.Project, repo, base)
	}
	if err != nil {
		return nil, nil, err
	}
	if err := c.rememberTrace(ctx, commit.SHA, r.Origin); err != nil {
		return nil, nil, err
	}
	pull, err := c.deps.Pulls.EnsurePull(ctx, repo, r.Branch, base, r.Title, r.Body)
	if err != nil {
		return nil, nil, fmt.Errorf("open pull request of %s %s: %w", repo, r.Branch, err)
	}
	return pull, nil, c.pointAt(ctx, repo, pull.Number)
}

// Merge merges an open pull request. A conflict, a head that moved and one that
// is not open are refused. A known origin key returns the pull request as it
// was when it was merged.
func (c *Controller) Merge(ctx context.Context, r MergeRequest) (Pull, error) {
	if err := check(r.Origin.check(), checkLabel("project", r.Project, maxLabel), checkNumber("number", r.Number), c.needPulls()); err != nil {
		return Pull{}, err
	}
	if r.Head != "" && !wholeSHA.MatchString(r.Head) {
		return Pull{}, &Invalid{Field: "head", Value: clip(r.Head), Why: "must be a whole commit SHA"}
	}
	asked := r
	asked.Origin = Origin{}
	return perform(ctx, c, kindMerge, commitSubject(r.Project), r.Origin, asked, func(ctx context.Context) (any, Pull, bool, error) {
		if _, err := c.deps.ControlPlane.Get(ctx, KindProject, r.Project); err != nil {
			return nil, Pull{}, false, err
		}
		pull, err := c.deps.Pulls.Pull(ctx, c.repository(r.Project), r.Number)
		if err == nil {
			err = pull.mergeable()
		}
		return mergePlan{Project: r.Project, Request: r}, Pull{}, false, err
	})
}

var wholeSHA = regexp.MustCompile(`^([0-9a-f]{40}|[0-9a-f]{64})$`)

func checkNumber(field string, value int) error {
	if value < 1 || value >= maxNumber {
		return &Invalid{Field: field, Value: fmt.Sprint(value), Why: "must be the number of a pull request"}
	}
	return nil
}

// mergeable refuses a pull request that is not open.
func (p Pull) mergeable() error {
	switch {
	case p.Merged:
		return Refuse("%s is merged already, as %s.", p.name(), ShortSHA(p.MergeCommit))
	case p.State != PullOpen:
		return Refuse("%s is closed; open it again to merge it.", p.name())
	}
	return nil
}

// name is the pull request as people write it.
func (p Pull) name() string { return pullName(p.Repo, p.Number) }

func pullName(repo string, number int) string { return fmt.Sprintf("%s#%d", repo, number) }

// The states of a Pull; one that is merged is closed too.
const (
	PullOpen   = "open"
	PullClosed = "closed"
)

// finishMerge merges; one that is merged was merged before a crash.
func (c *Controller) finishMerge(ctx context.Context, in Intent) (any, []Event, error) {
	var plan mergePlan
	if err := json.Unmarshal(in.Body, &plan); err != nil {
		return nil, nil, fmt.Errorf("plan: %w", err)
	}
	if err := c.needPulls(); err != nil {
		return nil, nil, err
	}
	r, repo := plan.Request, c.repository(plan.Project)
	pull, err := c.deps.Pulls.Pull(ctx, repo, r.Number)
	if err == nil && !pull.Merged {
		if err = pull.mergeable(); err == nil {
			pull, err = c.deps.Pulls.MergePull(ctx, repo, r.Number, r.Head)
		}
	}
	if err != nil {
		return nil, nil, fmt.Errorf("merge %s: %w", pullName(repo, r.Number), err)
	}
	if err := c.rememberTrace(ctx, pull.MergeCommit, r.Origin); err != nil {
		return nil, nil, err
	}
	return pull, nil, c.pointAt(ctx, repo, pull.Number)
}
