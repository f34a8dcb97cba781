package git

import (
	"context"
	"fmt"
	"time"
)

// The events of Gitea that this server tells, by the type in their header.
const (
	eventPush        = "push"
	eventCreate      = "create"
	eventDelete      = "delete"
	eventStatus      = "status"
	eventPull        = "pull_request"         // opened, edited, closed, reopened
	eventPullSync    = "pull_request_sync"    // its branch was pushed to
	eventPullLabel   = "pull_request_label"   // its labels are others
	eventPullComment = "pull_request_comment" // somebody commented on it
)

// eventNames are the events whose name in the header is not their type.
var eventNames = map[string]string{
	eventPullSync: eventPull, eventPullLabel: eventPull, eventPullComment: "issue_comment",
}

// payloadCommits is the most commits that a push payload lists, as Gitea does:
// total_commits tells how many there were.
const payloadCommits = 5

// pushPayload and its siblings have the keys, types and order of keys of Gitea's.
type pushPayload struct {
	Ref          string          `json:"ref"`
	Before       string          `json:"before"`
	After        string          `json:"after"`
	CompareURL   string          `json:"compare_url"`
	Commits      []payloadCommit `json:"commits"`
	TotalCommits int             `json:"total_commits"`
	HeadCommit   *payloadCommit  `json:"head_commit"`
	Repository   repositoryShape `json:"repository"`
	Pusher       userShape       `json:"pusher"`
	Sender       userShape       `json:"sender"`
}

type createPayload struct {
	SHA        string          `json:"sha"`
	Ref        string          `json:"ref"`
	RefType    string          `json:"ref_type"`
	Repository repositoryShape `json:"repository"`
	Sender     userShape       `json:"sender"`
}

type deletePayload struct {
	Ref        string          `json:"ref"`
	RefType    string          `json:"ref_type"`
	PusherType string          `json:"pusher_type"`
	Repository repositoryShape `json:"repository"`
	Sender     userShape       `json:"sender"`
}

type statusPayload struct {
	Commit      payloadCommit   `json:"commit"`
	Context     string          `json:"context"`
	CreatedAt   time.Time       `json:"created_at"`
	Description string          `json:"description"`
	ID          int64           `json:"id"`
	Repository  repositoryShape `json:"repository"`
	Sender      userShape       `json:"sender"`
	SHA         string          `json:"sha"`
	State       string          `json:"state"`
	TargetURL   string          `json:"target_url"`
	UpdatedAt   time.Time       `json:"updated_at"`
}

type payloadPerson struct {
	Name     string `json:"name"`
	Email    string `json:"email"`
	Username string `json:"username"`
}

type payloadCommit struct {
	ID           string        `json:"id"`
	Message      string        `json:"message"`
	URL          string        `json:"url"`
	Author       payloadPerson `json:"author"`
	Committer    payloadPerson `json:"committer"`
	Verification any           `json:"verification"` // null: signatures are not checked
	Timestamp    time.Time     `json:"timestamp"`
	Added        []string      `json:"added"`
	Removed      []string      `json:"removed"`
	Modified     []string      `json:"modified"`
}

// payloadCommit describes a commit with the paths it changed.
func (s *Server) payloadCommit(repo repository, c commit, paths changed) payloadCommit {
	return payloadCommit{
		ID: c.SHA, Message: c.Message, URL: s.webURL(repo) + "/commit/" + c.SHA,
		Author:    payloadPerson{Name: c.Author.Name, Email: c.Author.Email},
		Committer: payloadPerson{Name: c.Committer.Name, Email: c.Committer.Email},
		Timestamp: c.Author.When,
		Added:     orEmpty(paths.added), Removed: orEmpty(paths.removed), Modified: orEmpty(paths.modified),
	}
}

// orEmpty is list, and never null on the wire.
func orEmpty[T any](list []T) []T {
	if list == nil {
		return []T{}
	}
	return list
}

// described is what every payload says of the repository and who acted.
type described struct {
	repository repositoryShape
	sender     userShape
}

// describe gives the parts that payloads share. Branches are counted from actual.
func (s *Server) describe(ctx context.Context, repo repository, who string, actual map[string]string) (described, error) {
	user, err := s.owner(ctx, who)
	if err != nil {
		return described{}, err
	}
	return described{s.repositoryShape(repo, countBranches(actual), allowAll), s.userShape(user)}, nil
}

// pushPayload describes a push of a branch or a tag that exists.
func (s *Server) pushPayload(ctx context.Context, repo repository, c change, actual map[string]string, base described) (pushPayload, error) {
	p := pushPayload{
		Ref: c.ref, Before: c.before, After: c.after, Commits: []payloadCommit{},
		Repository: base.repository, Pusher: base.sender, Sender: base.sender,
	}
	from, revisions, err := s.pushed(ctx, repo, c, actual)
	if err != nil {
		return p, err
	}
	p.CompareURL = fmt.Sprintf("%s/compare/%s...%s", s.webURL(repo), from, c.after)
	sha, err := s.resolve(ctx, repo, c.after)
	if isUnknown(err) {
		return p, nil // a tag of something that is no commit has no head_commit
	}
	if err != nil {
		return p, err
	}
	head, err := s.log(ctx, repo, 1, 0, sha)
	if err != nil {
		return p, err
	}
	list := head
	if len(revisions) > 0 {
		if p.TotalCommits, err = s.count(ctx, repo, revisions...); err != nil {
			return p, err
		}
		if list, err = s.log(ctx, repo, payloadCommits, 0, revisions...); err != nil {
			return p, err
		}
	}
	paths, err := s.changes(ctx, repo, append(list, head...))
	if err != nil {
		return p, err
	}
	if len(revisions) > 0 {
		for _, one := range list {
			p.Commits = append(p.Commits, s.payloadCommit(repo, one, paths[one.SHA]))
		}
	}
	shape := s.payloadCommit(repo, head[0], paths[head[0].SHA])
	p.HeadCommit = &shape
	return p, nil
}

// pushed gives the revisions that a push brought, and what to compare with: a
// new branch brought what the default branch has not, a tag brings none.
func (s *Server) pushed(ctx context.Context, repo repository, c change, actual map[string]string) (from string, revisions []string, err error) {
	if c.branch() == "" {
		return c.before, nil, nil
	}
	main := actual["refs/heads/"+repo.DefaultBranch]
	switch {
	case c.created() && (c.branch() == repo.DefaultBranch || main == ""):
		return zeroSHA, []string{c.after}, nil
	case c.created():
		return main, []string{c.after, "^" + main}, nil
	}
	if _, err := s.git(ctx, repo, "cat-file", "-e", c.before+"^{commit}"); err != nil {
		if ctx.Err() != nil {
			return "", nil, ctx.Err()
		}
		return c.before, []string{c.after}, nil // the branch was moved and what it was is gone
	}
	return c.before, []string{c.after, "^" + c.before}, nil
}
