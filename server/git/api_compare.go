package git

import (
	"net/http"
	"strings"
)

// maxCompared is the most commits that a comparison lists; total_commits tells how many there are.
const maxCompared = 250

// compareShape is a comparison as Gitea writes one: what head has and base has not, newest first.
type compareShape struct {
	TotalCommits int           `json:"total_commits"`
	Commits      []commitShape `json:"commits"`
}

// compareCommits answers GET compare/{base}...{head}, also with two dots. Both
// may be branches, tags or commits.
func (s *Server) compareCommits(c *call) (int, any, error) {
	asked := c.PathValue("basehead")
	base, head, ok := strings.Cut(asked, "...")
	if !ok {
		base, head, ok = strings.Cut(asked, "..")
	}
	if !ok {
		base, head = c.repo.DefaultBranch, asked
	}
	from, err := s.resolve(c.Context(), c.repo, base)
	if err != nil {
		return 0, nil, err
	}
	to, err := s.resolve(c.Context(), c.repo, head)
	if err != nil {
		return 0, nil, err
	}
	total, err := s.count(c.Context(), c.repo, to, "^"+from)
	if err != nil {
		return 0, nil, err
	}
	commits, err := s.log(c.Context(), c.repo, maxCompared, 0, to, "^"+from)
	if err != nil {
		return 0, nil, err
	}
	shapes, err := s.shapeCommits(c.Context(), c.repo, commits, true)
	return http.StatusOK, compareShape{total, shapes}, err
}
