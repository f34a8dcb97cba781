package git

import (
	"context"
	"time"
)

// pullPayload and commentPayload have the keys, types and order of keys of Gitea's.
type pullPayload struct {
	Action            string          `json:"action"`
	Number            int64           `json:"number"`
	Changes           *changesShape   `json:"changes,omitempty"`
	PullRequest       pullShape       `json:"pull_request"`
	RequestedReviewer *userShape      `json:"requested_reviewer"`
	Repository        repositoryShape `json:"repository"`
	Sender            userShape       `json:"sender"`
	CommitID          string          `json:"commit_id"`
	Review            any             `json:"review"` // null: there are no reviews
}

type commentPayload struct {
	Action      string          `json:"action"`
	Issue       issueShape      `json:"issue"`
	PullRequest pullShape       `json:"pull_request"`
	Comment     commentShape    `json:"comment"`
	Changes     *changesShape   `json:"changes,omitempty"`
	Repository  repositoryShape `json:"repository"`
	Sender      userShape       `json:"sender"`
	IsPull      bool            `json:"is_pull"`
}

// changesShape tells what an edit replaced.
type changesShape struct {
	Title         *fromShape   `json:"title,omitempty"`
	Body          *fromShape   `json:"body,omitempty"`
	AddedLabels   []labelShape `json:"added_labels"`
	RemovedLabels []labelShape `json:"removed_labels"`
}

type fromShape struct {
	From string `json:"from"`
}

// issueShape is a pull request as Gitea writes an issue: what both have.
type issueShape struct {
	ID               int64           `json:"id"`
	URL              string          `json:"url"`
	HTMLURL          string          `json:"html_url"`
	Number           int64           `json:"number"`
	User             userShape       `json:"user"`
	OriginalAuthor   string          `json:"original_author"`
	OriginalAuthorID int64           `json:"original_author_id"`
	Title            string          `json:"title"`
	Body             string          `json:"body"`
	Ref              string          `json:"ref"`
	Assets           []any           `json:"assets"`
	Labels           []labelShape    `json:"labels"`
	Milestone        any             `json:"milestone"`
	Assignee         any             `json:"assignee"`
	Assignees        any             `json:"assignees"`
	State            string          `json:"state"`
	IsLocked         bool            `json:"is_locked"`
	Comments         int             `json:"comments"`
	Created          time.Time       `json:"created_at"`
	Updated          time.Time       `json:"updated_at"`
	Closed           *time.Time      `json:"closed_at"`
	DueDate          any             `json:"due_date"`
	TimeEstimate     int64           `json:"time_estimate"`
	PullRequest      pullMetaShape   `json:"pull_request"`
	Repository       repositoryBrief `json:"repository"`
	PinOrder         int             `json:"pin_order"`
	ContentVersion   int             `json:"content_version"`
}

type pullMetaShape struct {
	Merged   bool       `json:"merged"`
	MergedAt *time.Time `json:"merged_at"`
	Draft    bool       `json:"draft"`
	HTMLURL  string     `json:"html_url"`
}

type repositoryBrief struct {
	ID       int64  `json:"id"`
	Name     string `json:"name"`
	Owner    string `json:"owner"`
	FullName string `json:"full_name"`
}

// pullPayload describes a pull request to hooks, among the refs given.
func (s *Server) pullPayload(ctx context.Context, repo repository, p pull, refs map[string]string, action string) (*pullPayload, error) {
	base, err := s.describe(ctx, repo, s.cfg.AdminUser, refs)
	if err != nil {
		return nil, err
	}
	shape, err := s.pullShape(ctx, p, pullAround{repo, base.repository, base.sender, refs})
	if err != nil {
		return nil, err
	}
	return &pullPayload{Action: action, Number: p.Number, PullRequest: shape, Repository: base.repository, Sender: base.sender}, nil
}

// pullEvents are the events about a pull request that a hook subscribes to.
func (s *Server) pullEvents(ctx context.Context, repo repository, p pull, refs map[string]string, wanted func(string) bool, told []pullEvent) ([]event, error) {
	var events []event
	for _, one := range told {
		if !wanted(one.name) {
			continue
		}
		payload, err := s.pullPayload(ctx, repo, p, refs, one.action)
		if err != nil {
			return nil, err
		}
		payload.Changes = one.changes
		e, err := newEvent(one.name, payload)
		if err != nil {
			return nil, err
		}
		events = append(events, e)
	}
	return events, nil
}

// commentPayload describes a pull request to hooks that are told of a comment on it.
func (s *Server) commentPayload(ctx context.Context, repo repository, p pull, refs map[string]string, action string) (*commentPayload, error) {
	about, err := s.pullPayload(ctx, repo, p, refs, action)
	if err != nil {
		return nil, err
	}
	shape := about.PullRequest
	issue := issueShape{
		ID: p.ID, Number: p.Number, URL: s.issueURL(repo, p), HTMLURL: shape.HTMLURL, User: shape.User, Title: p.Title, Body: p.Body,
		Assets: []any{}, Labels: shape.Labels, State: shape.State, Comments: p.Comments, Created: p.Created, Updated: p.Updated, Closed: p.Closed,
		PullRequest: pullMetaShape{Merged: shape.Merged, MergedAt: shape.MergedAt, HTMLURL: shape.HTMLURL},
		Repository:  repositoryBrief{repo.ID, repo.Name, repo.Owner.Name, repo.full()},
	}
	return &commentPayload{Action: action, Issue: issue, PullRequest: shape, Repository: about.Repository, Sender: about.Sender, IsPull: true}, nil
}
