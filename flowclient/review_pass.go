package flowclient

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"
)

// maxRounds bounds how often a look plans anew; what is left then is done by the next one.
const maxRounds = 12

// errUnsettled is a review environment that every round found another.
var errUnsettled = errors.New("its review environment keeps changing")

// passPulls looks at the pull requests that something may follow from. A full
// pass lists those that are open first, so that a delivery that was lost is
// made good within a pass. Where the control plane tells of its writes, and told
// of none that matters here since the last full one, only the git server is asked.
func (c *Controller) passPulls(ctx context.Context, full scope) error {
	if c.deps.Pulls == nil {
		return nil
	}
	look := pullLook{changed: c.reviews.Swap(false)}
	look.full = full.pulls || full.opened && c.around.Load()
	var failed []error
	if full.opened && !look.full {
		err := c.comparePulls(ctx, &look)
		failed = append(failed, err)
	}
	if look.full {
		c.around.Store(false) // before anything is read: what changes from here on asks for another
	}
	if failed = append(failed, c.lookAtPulls(ctx, &look)); errors.Join(failed...) != nil {
		c.around.Store(true)
	}
	return errors.Join(failed...)
}

// lookAtPulls looks at what is due.
func (c *Controller) lookAtPulls(ctx context.Context, look *pullLook) error {
	w, records, err := c.duePulls(ctx, look)
	if err != nil || w == nil {
		if look.changed {
			c.reviews.Store(true) // looked for again by the next pass
		}
		return err
	}
	var failed []error
	if look.full {
		look.listed = map[string]map[int]Pull{}
		for _, repo := range w.repositories {
			pulls, err := c.discover(ctx, w.pullWorld, repo, records)
			failed = append(failed, err)
			look.listed[repo] = pulls
		}
		if records, err = c.deps.Reviews.BusyPulls(ctx); err != nil {
			return errors.Join(append(failed, err)...)
		}
	}
	for _, r := range inOrder(records) {
		due := look.due(r)
		if !due && r.State == ReviewQueued {
			if due, err = c.placeChanged(ctx, records); err != nil {
				return errors.Join(append(failed, err)...)
			}
		}
		if due {
			failed = append(failed, c.lookAtPull(ctx, w.pullWorld, r, look.listed[r.Repo]))
		}
	}
	return errors.Join(failed...)
}

// placeChanged tells whether a place is free, or the queue is another than it
// was when the pass began: those that wait are told their places.
func (c *Controller) placeChanged(ctx context.Context, began []PullRecord) (bool, error) {
	records, err := c.deps.Reviews.BusyPulls(ctx)
	taken, queued := 0, 0
	for _, r := range records {
		if r.takesPlace() {
			taken++
		}
		if r.State == ReviewQueued {
			queued++
		}
	}
	for _, r := range began {
		if r.State == ReviewQueued {
			queued--
		}
	}
	return taken < c.deps.Settings.MaxReviews || queued != 0, err
}

// passWorld is the world of a pass, with the repositories to list in a full one.
type passWorld struct {
	pullWorld
	repositories []string
}

// duePulls reads what a pass works with; nil when there is nothing to look at.
// A full pass points at the pull requests that something is there of and that
// nothing is remembered of: what a lost memory left behind is found and removed.
func (c *Controller) duePulls(ctx context.Context, look *pullLook) (*passWorld, []PullRecord, error) {
	records, err := c.deps.Reviews.BusyPulls(ctx)
	if err != nil {
		return nil, nil, err
	}
	if !slices.ContainsFunc(records, look.due) && !look.full {
		return nil, nil, nil
	}
	w, err := c.readPullWorld(ctx)
	if err != nil {
		return nil, nil, fmt.Errorf("pull requests: %w", err)
	}
	if look.full {
		if err := c.pointAtForgotten(ctx, w, records); err != nil {
			return nil, nil, err
		}
	}
	repositories, err := c.deps.Reviews.PullRepositories(ctx)
	if err != nil || len(repositories) == 0 {
		return nil, nil, err
	}
	return &passWorld{w, repositories}, records, nil
}

// pointAtForgotten marks what components say they are copies for, unless it is known.
func (c *Controller) pointAtForgotten(ctx context.Context, w pullWorld, records []PullRecord) error {
	known := map[string]bool{}
	for _, r := range records {
		known[pullName(r.Repo, r.Number)] = true
	}
	for _, o := range w.components {
		name := o.Metadata.Annotations[AnnotationPull]
		repo, text, ok := strings.Cut(name, "#")
		number, err := strconv.Atoi(text)
		if !ok || err != nil || known[name] || o.Metadata.Annotations[AnnotationOwned] != "true" || !repoForm.MatchString(repo) {
			continue
		}
		known[name] = true
		if err := c.deps.Reviews.MarkPull(ctx, repo, number, time.Time{}); err != nil {
			return err
		}
	}
	return nil
}

// due tells whether a record is to be looked at without anything having changed around it.
func (r PullRecord) due() bool {
	return r.Seen < r.Marks || r.State == ReviewCreating || r.State == ReviewDestroying || r.Asked > r.Answered || r.Text != r.Said
}

// inOrder puts what gives a place back first, then what has one, then the
// others in the opening order, the newest last.
func inOrder(records []PullRecord) []PullRecord {
	rank := func(r PullRecord) int {
		switch {
		case r.State == ReviewDestroying:
			return 0
		case r.takesPlace() || r.Pull != "" && r.State == "":
			return 1
		case r.State == ReviewQueued:
			return 2
		}
		return 3
	}
	records = slices.Clone(records)
	slices.SortStableFunc(records, func(a, b PullRecord) int {
		if d := rank(a) - rank(b); d != 0 {
			return d
		}
		if d := inLine(a, b); d != 0 {
			return d
		}
		if d := strings.Compare(a.Repo, b.Repo); d != 0 {
			return d
		}
		return a.Number - b.Number
	})
	return records
}

// discover lists the open pull requests of a repository and points at those
// that are not known. A list that fails changes nothing; a repository that is
// gone, with nothing built from it and nothing left to do, is forgotten.
func (c *Controller) discover(ctx context.Context, w pullWorld, repo string, records []PullRecord) (map[int]Pull, error) {
	pulls, err := c.deps.Pulls.OpenPulls(ctx, repo)
	of := func(r PullRecord) bool { return r.Repo == repo }
	if _, built := w.builtFrom(repo); IsNotFound(err) && !built {
		if slices.ContainsFunc(records, of) {
			return nil, nil // each is looked at, and ends as gone
		}
		return nil, c.deps.Reviews.ForgetPulls(ctx, repo)
	}
	if err != nil {
		return nil, fmt.Errorf("list pull requests of %s: %w", repo, err)
	}
	return c.markUnknown(ctx, repo, pulls, records)
}

// lookAtPull reads a pull request and does what follows. What cannot be read
// leaves everything as it is.
func (c *Controller) lookAtPull(ctx context.Context, w pullWorld, r PullRecord, listed map[int]Pull) error {
	pull, gone, err := c.readPull(ctx, w, r, listed)
	if err != nil {
		return fmt.Errorf("look at %s: %w", pullName(r.Repo, r.Number), err)
	}
	r, err = c.reconcileReview(ctx, w, r, pull, gone)
	failed := []error{err}
	if err == nil && r.Asked > r.Answered {
		r, err = c.answerLabel(ctx, w, r, pull)
		failed = append(failed, err)
	}
	if errors.Join(failed...) == nil && r.Seen < r.Marks {
		r.Seen = r.Marks // as they were when the pull request was read; later ones ask for another look
		failed = append(failed, c.deps.Reviews.PutPull(ctx, r))
	}
	return wrap(errors.Join(failed...), "look at %s", pullName(r.Repo, r.Number))
}

// readPull reads a pull request. It is gone only when two answers say so: it
// cannot be found, and the whole list does not have it either, or nothing is
// built any more from a repository that cannot be found.
func (c *Controller) readPull(ctx context.Context, w pullWorld, r PullRecord, listed map[int]Pull) (pull Pull, gone bool, err error) {
	if p, ok := listed[r.Number]; ok && r.Seen == r.Marks {
		return p, false, nil
	}
	pull, err = c.deps.Pulls.Pull(ctx, r.Repo, r.Number)
	if !IsNotFound(err) {
		return pull, false, err
	}
	open, err := c.deps.Pulls.OpenPulls(ctx, r.Repo)
	_, built := w.builtFrom(r.Repo)
	switch {
	case IsNotFound(err) && !built:
		return Pull{Repo: r.Repo, Number: r.Number}, true, nil
	case err != nil:
		return Pull{}, false, err
	case slices.ContainsFunc(open, func(p Pull) bool { return p.Number == r.Number }):
		return Pull{}, false, fmt.Errorf("%s is listed and cannot be read", pullName(r.Repo, r.Number))
	}
	return Pull{Repo: r.Repo, Number: r.Number}, true, nil
}

// reconcileReview plans and acts until nothing follows any more, one project at
// a time with what else changes it, and then says how it stands.
func (c *Controller) reconcileReview(ctx context.Context, w pullWorld, r PullRecord, pull Pull, gone bool) (PullRecord, error) {
	unlock, err := c.lockProjects(ctx, w, r)
	if err != nil {
		return r, err
	}
	defer unlock()
	// What was read before the turn came may be of before a teardown that had it.
	if w, err = c.readPullWorld(ctx); err != nil {
		return r, fmt.Errorf("pull requests: %w", err)
	}
	for range maxRounds {
		f, err := c.reviewFacts(ctx, w, r, pull, gone)
		if err != nil {
			return r, err
		}
		var events []Event
		if f.Record, events, err = f.notePull(); err != nil {
			return r, err
		}
		plan, err := planReview(f)
		if err != nil {
			return r, err
		}
		events = append(events, plan.Events...)
		if err := c.putPull(ctx, r, plan.Record, events); err != nil {
			return r, err
		}
		settled := len(plan.Steps) == 0 && sameRecord(r, plan.Record)
		if r = plan.Record; settled {
			return c.say(ctx, r)
		}
		refused, err := c.carryOut(ctx, r, plan.Steps)
		if err != nil {
			return r, err
		}
		if refused != "" && refused == r.Refused {
			return c.say(ctx, r) // as before: tried again by a later pass
		}
		next := r
		if next.Refused = refused; !sameRecord(r, next) {
			if err := c.putPull(ctx, r, next, nil); err != nil {
				return r, err
			}
			r = next
		}
	}
	return r, errUnsettled
}

// putPull stores what changed of a record, with its events.
func (c *Controller) putPull(ctx context.Context, was, is PullRecord, events []Event) error {
	if sameRecord(was, is) && len(events) == 0 {
		return nil
	}
	if err := c.deps.Reviews.PutPull(ctx, is, events...); err != nil {
		return err
	}
	if len(events) > 0 {
		c.deps.Noted()
	}
	return nil
}

// lockProjects takes the turn of every project that the environment is of, in one order.
func (c *Controller) lockProjects(ctx context.Context, w pullWorld, r PullRecord) (unlock func(), err error) {
	projects := map[string]bool{}
	for _, s := range w.sources[r.Repo] {
		projects[s.Project] = true
	}
	for _, k := range r.Forks {
		projects[k.Project] = true
	}
	var unlocks []func()
	unlock = func() {
		for _, u := range unlocks {
			u()
		}
	}
	for _, project := range slices.Sorted(maps.Keys(projects)) {
		u, err := c.subjects.lock(ctx, projectSubject(project))
		if err != nil {
			unlock()
			return nil, err
		}
		unlocks = append(unlocks, u)
	}
	return unlock, nil
}

// say writes the comment as it is to be; a pull request that is gone is told nothing.
func (c *Controller) say(ctx context.Context, r PullRecord) (PullRecord, error) {
	if r.Text == r.Said {
		return r, nil
	}
	err := c.deps.Pulls.Comment(ctx, r.Repo, r.Number, commentReview, r.Text)
	if err != nil && !IsNotFound(err) {
		return r, fmt.Errorf("comment on %s: %w", pullName(r.Repo, r.Number), err)
	}
	r.Said = r.Text
	return r, c.deps.Reviews.PutPull(ctx, r)
}
