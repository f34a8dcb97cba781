package git

import (
	"net/http"
	"regexp"
	"strings"
	"time"
)

type pullModel struct {
	Name, Page, Title, State   string
	Number                     int64
	Branch, Base, Body         string
	At, When                   string // when it was opened
	MergeCommit                string
	Labels                     []label
	Conflicts                  []string // of an open one: paths
	Commits                    []commitLine
	More                       bool // there are older commits
	Additions, Deletions, Many int  // Many: files that differ
	Files                      []diffFile
	Cut                        bool
	Comments                   []commentLine
}

type commentLine struct {
	ID             int64
	Body, At, When string
}

// remarks are what a comment says to machines; people are not shown it.
var remarks = regexp.MustCompile(`(?s)<!--.*?-->`)

// pullPage shows one pull request; with .diff or .patch at the end, its change as text.
func (s *Server) pullPage(r *http.Request, who caller) (any, error) {
	repo, err := s.readable(r, who)
	if err != nil {
		return nil, err
	}
	number := r.PathValue("number")
	for end := range pullTexts {
		if name, ok := strings.CutSuffix(number, end); ok {
			p, err := s.pull(r.Context(), repo, name)
			if err != nil {
				return nil, err
			}
			text, err := s.pullText(r.Context(), repo, p, end)
			return raw(text), err
		}
	}
	p, err := s.pull(r.Context(), repo, number)
	if err != nil {
		return nil, err
	}
	m := pullModel{
		Name: repo.full(), Page: p.Title + " - " + repo.full(), Title: p.Title, State: p.State, Number: p.Number, Branch: p.Branch, Base: p.Base,
		Body: strings.TrimSpace(p.Body), At: p.Created.Format(time.RFC3339), When: readableTime(p.Created), MergeCommit: p.MergeCommit, Labels: p.Labels,
	}
	comments, err := s.comments(r.Context(), repo, p)
	if err != nil {
		return nil, err
	}
	for _, c := range comments {
		m.Comments = append(m.Comments, commentLine{
			c.ID, strings.TrimSpace(remarks.ReplaceAllString(c.Body, "")), c.Updated.Format(time.RFC3339), readableTime(c.Updated),
		})
	}
	return s.withChange(r, repo, p, m)
}

// withChange is the model with what git says of the pull request.
func (s *Server) withChange(r *http.Request, repo repository, p pull, m pullModel) (pullModel, error) {
	refs, err := s.refsOnDisk(r.Context(), repo)
	if err != nil {
		return m, err
	}
	facts, err := s.pullPair(r.Context(), repo, p, refs)
	if err != nil || facts.mergeBase == "" {
		return m, err
	}
	m.Additions, m.Deletions, m.Many = facts.additions, facts.deletions, facts.files
	if p.open() {
		m.Conflicts = facts.conflicts
	}
	commits, err := s.log(r.Context(), repo, pageCommits+1, 0, p.Head, "^"+facts.mergeBase)
	if err != nil {
		return m, err
	}
	m.More = len(commits) > pageCommits
	if m.Commits, err = s.commitLines(r.Context(), repo, commits[:min(len(commits), pageCommits)]); err != nil {
		return m, err
	}
	text, cut, err := s.diff(r.Context(), repo, facts.mergeBase, p.Head)
	m.Files, m.Cut = parseDiff(text), cut
	return m, err
}
