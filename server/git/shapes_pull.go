package git

import (
	"context"
	"fmt"
	"time"
)

// pullShape is a pull request as Gitea writes one, key for key. What this
// server has not (milestones, assignees, reviewers) is said to be absent.
type pullShape struct {
	ID                 int64        `json:"id"`
	URL                string       `json:"url"` // its page, as Gitea has it
	Number             int64        `json:"number"`
	User               userShape    `json:"user"`
	Title              string       `json:"title"`
	Body               string       `json:"body"`
	Labels             []labelShape `json:"labels"`
	Milestone          any          `json:"milestone"`
	Assignee           any          `json:"assignee"`
	Assignees          []any        `json:"assignees"`
	RequestedReviewers []any        `json:"requested_reviewers"`
	RequestedTeams     []any        `json:"requested_reviewers_teams"`
	State              string       `json:"state"` // open, closed
	Draft              bool         `json:"draft"`
	IsLocked           bool         `json:"is_locked"`
	Comments           int          `json:"comments"`
	Additions          int          `json:"additions"`
	Deletions          int          `json:"deletions"`
	ChangedFiles       int          `json:"changed_files"`
	HTMLURL            string       `json:"html_url"`
	DiffURL            string       `json:"diff_url"`
	PatchURL           string       `json:"patch_url"`
	Mergeable          bool         `json:"mergeable"`
	Merged             bool         `json:"merged"`
	MergedAt           *time.Time   `json:"merged_at"`
	MergeCommitSHA     *string      `json:"merge_commit_sha"`
	MergedBy           *userShape   `json:"merged_by"`
	MaintainerEdit     bool         `json:"allow_maintainer_edit"`
	Base               endShape     `json:"base"`
	Head               endShape     `json:"head"`
	MergeBase          string       `json:"merge_base"`
	DueDate            any          `json:"due_date"`
	Created            time.Time    `json:"created_at"`
	Updated            time.Time    `json:"updated_at"`
	Closed             *time.Time   `json:"closed_at"`
	PinOrder           int          `json:"pin_order"`
	ContentVersion     int          `json:"content_version"`
}

// endShape is a branch of a pull request. Ref is the branch's name while it is
// there; then refs/pull/<number>/head names the commits.
type endShape struct {
	Label  string          `json:"label"` // the branch's name, always
	Ref    string          `json:"ref"`
	SHA    string          `json:"sha"`
	RepoID int64           `json:"repo_id"`
	Repo   repositoryShape `json:"repo"`
}

// pullAround is what a pull request is described with.
type pullAround struct {
	repo       repository
	repository repositoryShape
	account    userShape
	refs       map[string]string
}

// around reads what the caller's pull requests are described with.
func (s *Server) around(c *call) (pullAround, error) {
	refs, err := s.refsOnDisk(c.Context(), c.repo)
	if err != nil {
		return pullAround{}, err
	}
	me, err := s.owner(c.Context(), s.cfg.AdminUser)
	if err != nil {
		return pullAround{}, err
	}
	return pullAround{c.repo, s.repositoryShape(c.repo, countBranches(refs), c.who.permissions(c.repo)), s.userShape(me), refs}, nil
}

// pullShape describes a pull request.
func (s *Server) pullShape(ctx context.Context, p pull, in pullAround) (pullShape, error) {
	facts, err := s.pullPair(ctx, in.repo, p, in.refs)
	if err != nil {
		return pullShape{}, err
	}
	page := s.pullURL(in.repo, p)
	shape := pullShape{
		ID: p.ID, Number: p.Number, URL: page, HTMLURL: page, DiffURL: page + ".diff", PatchURL: page + ".patch",
		User: in.account, Title: p.Title, Body: p.Body, Labels: s.shapeLabels(in.repo, p.Labels),
		Assignees: []any{}, RequestedReviewers: []any{}, RequestedTeams: []any{}, State: p.State, Comments: p.Comments,
		Additions: facts.additions, Deletions: facts.deletions, ChangedFiles: facts.files, MergeBase: facts.mergeBase,
		Mergeable: p.open() && facts.mergeable, MaintainerEdit: true, Created: p.Created, Updated: p.Updated, Closed: p.Closed,
		Base: endShape{p.Base, p.Base, in.refs["refs/heads/"+p.Base], in.repo.ID, in.repository},
		Head: endShape{p.Branch, p.Branch, p.Head, in.repo.ID, in.repository},
	}
	if in.refs["refs/heads/"+p.Branch] == "" {
		shape.Head.Ref = p.ref()
	}
	if p.State == pullMerged {
		shape.State, shape.Merged, shape.MergedAt, shape.MergeCommitSHA, shape.MergedBy = pullClosed, true, p.Closed, &p.MergeCommit, &in.account
	}
	return shape, nil
}

// pullPair compares a pull request's head with the base as it is, or as it was
// when the pull request ended.
func (s *Server) pullPair(ctx context.Context, repo repository, p pull, refs map[string]string) (pair, error) {
	base := p.MergeBase
	if p.open() {
		base = refs["refs/heads/"+p.Base]
	}
	if base == "" {
		return pair{}, nil
	}
	return s.pair(ctx, repo, base, p.Head)
}

func (s *Server) pullURL(r repository, p pull) string {
	return fmt.Sprintf("%s/pulls/%d", s.webURL(r), p.Number)
}

func (s *Server) issueURL(r repository, p pull) string {
	return fmt.Sprintf("%s/issues/%d", s.apiURL(r), p.Number)
}

// labelShape is a label as Gitea writes one.
type labelShape struct {
	ID          int64  `json:"id"`
	Name        string `json:"name"`
	Exclusive   bool   `json:"exclusive"`
	IsArchived  bool   `json:"is_archived"`
	Color       string `json:"color"`
	Description string `json:"description"`
	URL         string `json:"url"`
}

func (s *Server) shapeLabels(repo repository, labels []label) []labelShape {
	shapes := make([]labelShape, 0, len(labels))
	for _, l := range labels {
		shapes = append(shapes, labelShape{ID: l.ID, Name: l.Name, Color: l.Color, Description: l.Description, URL: fmt.Sprintf("%s/labels/%d", s.apiURL(repo), l.ID)})
	}
	return shapes
}

// commentShape is a comment as Gitea writes one.
type commentShape struct {
	ID               int64     `json:"id"`
	HTMLURL          string    `json:"html_url"`
	PullURL          string    `json:"pull_request_url"`
	IssueURL         string    `json:"issue_url"` // empty for a pull request's
	User             userShape `json:"user"`
	OriginalAuthor   string    `json:"original_author"`
	OriginalAuthorID int64     `json:"original_author_id"`
	Body             string    `json:"body"`
	Assets           []any     `json:"assets"`
	Created          time.Time `json:"created_at"`
	Updated          time.Time `json:"updated_at"`
}

func (s *Server) shapeComment(repo repository, c comment, by userShape) commentShape {
	page := s.pullURL(repo, pull{Number: c.Pull})
	return commentShape{
		ID: c.ID, HTMLURL: fmt.Sprintf("%s#issuecomment-%d", page, c.ID), PullURL: page, User: by,
		Body: c.Body, Assets: []any{}, Created: c.Created, Updated: c.Updated,
	}
}
