package flowclient

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"
)

// pullLook is what a pass over pull requests looks for.
type pullLook struct {
	full    bool                    // at every record, with everything listed
	changed bool                    // something of a review environment changed
	moved   map[int64]bool          // records whose pull requests are not as they were seen last, or that time changes
	listed  map[string]map[int]Pull // the open ones by repository, as far as they were listed
}

// due tells whether a record is to be looked at.
func (l *pullLook) due(r PullRecord) bool {
	return l.full || l.moved[r.ID] || r.due() || l.changed && r.takesPlace()
}

// comparePulls lists the open pull requests of the repositories that are known,
// and marks those that are new. A repository that is gone asks for a full look.
func (c *Controller) comparePulls(ctx context.Context, look *pullLook) error {
	records, err := c.deps.Reviews.BusyPulls(ctx)
	if err != nil {
		return err
	}
	repositories, err := c.deps.Reviews.PullRepositories(ctx)
	if err != nil {
		return err
	}
	look.moved, look.listed = map[int64]bool{}, map[string]map[int]Pull{}
	var failed []error
	for _, repo := range repositories {
		pulls, err := c.deps.Pulls.OpenPulls(ctx, repo)
		if IsNotFound(err) {
			look.full = true
			return errors.Join(failed...)
		}
		if err == nil {
			look.listed[repo], err = c.markUnknown(ctx, repo, pulls, records)
		}
		if err != nil {
			failed = append(failed, fmt.Errorf("list pull requests of %s: %w", repo, err))
		}
	}
	now := c.deps.Now()
	for _, r := range records {
		open, known := look.listed[r.Repo]
		p, there := open[r.Number]
		look.moved[r.ID] = known && !r.sees(p, there) || r.Refused != "" || r.overdue(c.deps.Settings.ReviewTTL, now)
	}
	return errors.Join(failed...)
}

// sees tells whether a pull request is as the record has it, by the list of those that are open.
func (r PullRecord) sees(p Pull, open bool) bool {
	if !open || r.Pull != pullOpen {
		return !open && r.Pull != pullOpen
	}
	return r.Head == p.Head && r.Title == p.Title && slices.Equal(r.Labels, slices.Sorted(slices.Values(p.Labels)))
}

// overdue tells whether an environment, or its place in the queue, has outlived its time.
func (r PullRecord) overdue(ttl time.Duration, now time.Time) bool {
	return ttl > 0 && r.State != "" && now.Sub(r.Active) >= ttl
}

// markUnknown points at the pull requests that are not known, and gives all of them by number.
func (c *Controller) markUnknown(ctx context.Context, repo string, pulls []Pull, records []PullRecord) (map[int]Pull, error) {
	listed := make(map[int]Pull, len(pulls))
	for _, p := range pulls {
		listed[p.Number] = p
		known := slices.ContainsFunc(records, func(r PullRecord) bool { return r.Repo == repo && r.Number == p.Number })
		if !known {
			if err := c.deps.Reviews.MarkPull(ctx, repo, p.Number, time.Time{}); err != nil {
				return nil, err
			}
		}
	}
	return listed, nil
}
