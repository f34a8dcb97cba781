package flowclient

import (
	"context"
	"regexp"
	"slices"
	"strings"
	"time"
)

// PullStore remembers pull requests and their review environments (port). Two
// write to it: whoever hears deliveries, by MarkPull alone, and the
// controller's pass, by the rest; neither overwrites what the other wrote.
type PullStore interface {
	// MarkPull records that a pull request has to be looked at; touched, unless zero, is activity on it.
	MarkPull(ctx context.Context, repo string, number int, touched time.Time) error
	// BusyPulls lists the records that something may follow from, in the order in which they were made:
	// those to be looked at and those that are Busy.
	BusyPulls(ctx context.Context) ([]PullRecord, error)
	// PullRepositories lists the repositories that records are of, by name.
	PullRepositories(ctx context.Context) ([]string, error)
	// PutPull stores what a look came to, all but Marks and Touched, with its events in one transaction.
	PutPull(ctx context.Context, r PullRecord, events ...Event) error
	// ForgetPulls removes the records of a repository.
	ForgetPulls(ctx context.Context, repo string) error
}

// PullRecord is what is remembered of a pull request: what was found at the
// last look, its review environment and its promote label. A delivery changes
// Marks and Touched only.
type PullRecord struct {
	ID      int64     `json:"-"` // unique also among those that were forgotten
	Repo    string    `json:"-"`
	Number  int       `json:"-"`
	Marks   int64     `json:"-"` // how often it was pointed at
	Seen    int64     `json:"-"` // Marks at the last look: less than Marks means that another is due
	Touched time.Time `json:"-"` // the newest activity that a delivery told of

	Pull   string    `json:"pull,omitempty"`   // open, merged, closed; "" before the first look
	Opened int       `json:"opened,omitempty"` // how often it was found to have been opened
	Edits  int       `json:"edits,omitempty"`  // how often it was found open with another head or title
	Head   string    `json:"head,omitempty"`
	Title  string    `json:"title,omitempty"`
	Labels []string  `json:"labels,omitempty"`
	Active time.Time `json:"active,omitzero"` // last activity: what the time to live counts from

	Project  string `json:"project,omitempty"`
	State    string `json:"state,omitempty"`    // ReviewQueued and so on; "": there is no environment
	Turn     int    `json:"turn,omitempty"`     // how often it got in line
	Line     int64  `json:"line,omitempty"`     // place in the opening order, increasing
	Revision int    `json:"revision,omitempty"` // how often its head changed since it was admitted
	Target   string `json:"target,omitempty"`   // the head it is made from
	Shown    string `json:"shown,omitempty"`    // the head it was last whole with
	Forks    []Fork `json:"forks,omitempty"`    // recorded before any is made, kept until all is gone
	URL      string `json:"url,omitempty"`
	Message  string `json:"message,omitempty"`
	Refused  string `json:"refused,omitempty"` // what the control plane would not do, at the last try
	Why      string `json:"why,omitempty"`     // it is being destroyed
	Text     string `json:"text,omitempty"`    // the comment as it is to be
	Said     string `json:"said,omitempty"`    // the comment as it was last written

	Asked    int       `json:"asked,omitempty"`    // how often the promote label was put on
	AskedAt  time.Time `json:"askedAt,omitzero"`   // when last
	Answered int       `json:"answered,omitempty"` // up to which of them an answer was given
	Replied  string    `json:"replied,omitempty"`  // the comment about it as it was last written
}

// Fork is a component's copy in a review environment.
type Fork struct {
	Name    string `json:"name"` // <component>-pr-<number>
	Of      string `json:"of"`
	Project string `json:"project"`
}

// The values of PullRecord.Pull.
const (
	pullOpen   = "open"
	pullMerged = "merged"
	pullClosed = "closed" // or gone
)

// Busy tells whether something may follow from the record without its being pointed at.
func (r PullRecord) Busy() bool {
	return r.Pull == pullOpen || r.State != "" || r.Asked > r.Answered || r.Text != r.Said
}

// takesPlace tells whether the record's environment counts among MaxReviews.
func (r PullRecord) takesPlace() bool {
	switch r.State {
	case ReviewCreating, ReviewPresent, ReviewFailed, ReviewDestroying:
		return true
	}
	return false
}

// ofReview finds the names of what review environments are made of.
var ofReview = regexp.MustCompile(`(^|-)pr-[0-9]+(-|$)`)

// Reviews lists the review environments there are, queued ones included, in
// the order in which their pull requests were opened.
func (c *Controller) Reviews(ctx context.Context) ([]Review, error) {
	if err := c.needPulls(); err != nil {
		return nil, err
	}
	records, err := c.deps.Reviews.BusyPulls(ctx)
	if err != nil {
		return nil, err
	}
	return reviewsOf(records), nil
}

// reviewsOf are the records that have an environment or wait for one.
func reviewsOf(records []PullRecord) []Review {
	records = slices.Clone(records)
	slices.SortFunc(records, inLine)
	reviews := []Review{}
	ahead := 0
	for _, r := range records {
		if r.State == "" {
			continue
		}
		review := r.review()
		if r.State == ReviewQueued {
			ahead++
			review.Place = ahead
		}
		reviews = append(reviews, review)
	}
	return reviews
}

// inLine orders records by their place in the opening order.
func inLine(a, b PullRecord) int { return int(a.Line - b.Line) }

// review is the record as people see it.
func (r PullRecord) review() Review {
	review := Review{Project: r.Project, Repo: r.Repo, Number: r.Number, Environment: reviewEnvironment(r.Number), State: r.State,
		Head: r.Target, URL: r.URL, Message: r.Message, Active: r.Active, Line: r.Line}
	if len(r.Forks) > 0 && r.Target != "" {
		review.Run = forkRun(r.Forks[0].Name, r.Target)
	}
	return review
}

// activity is which actions of deliveries are work on a pull request. Others,
// such as those about comments, are not: the controller comments itself.
var activity = map[string]bool{
	"opened": true, "reopened": true, "synchronized": true, "synchronize": true, "edited": true, "review_requested": true,
	"labeled": true, "unlabeled": true, "label_updated": true, "label_cleared": true, "assigned": true, "unassigned": true,
}

// Delivered records that a pull request has to be looked at, and asks for that
// at once. Nothing else of the delivery is used but that its action may be
// activity: what is done follows from the pull request as it stands then.
func (c *Controller) Delivered(ctx context.Context, d PullDelivery) error {
	err := check(c.needPulls(), checkText("id", d.ID, maxKey), checkNumber("number", d.Number), checkText("action", d.Action, maxWho))
	if err == nil && !repoForm.MatchString(d.Repo) {
		err = &Invalid{Field: "repo", Value: clip(d.Repo), Why: "must be owner/name"}
	}
	if err != nil {
		return err
	}
	var touched time.Time
	if activity[strings.ToLower(d.Action)] {
		if touched = c.deps.Now(); d.At.Before(touched) && !d.At.IsZero() {
			touched = d.At
		}
	}
	return c.mark(ctx, d.Repo, d.Number, touched)
}

// pointAt asks for a look at a pull request that the controller itself changed.
func (c *Controller) pointAt(ctx context.Context, repo string, number int) error {
	return c.mark(ctx, repo, number, c.deps.Now())
}

func (c *Controller) mark(ctx context.Context, repo string, number int, touched time.Time) error {
	if err := c.deps.Reviews.MarkPull(ctx, repo, number, touched); err != nil {
		return err
	}
	c.wakeUp()
	return nil
}
