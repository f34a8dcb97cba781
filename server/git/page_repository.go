package git

import (
	"context"
	"maps"
	"net/http"
	"slices"
	"strings"
	"time"
)

type repositoryModel struct {
	Name, Description, CloneURL, Branch string
	Private, More                       bool
	Pulls                               int64 // open pull requests
	Branches                            []string
	Commits                             []commitLine
	Undelivered                         []undelivered
}

type commitLine struct {
	SHA, Short, Subject, Author, At, When, State string
}

// repositoryPage shows a repository with the newest commits of ?branch=.
func (s *Server) repositoryPage(r *http.Request, who caller) (any, error) {
	repo, err := s.readable(r, who)
	if err != nil {
		return nil, err
	}
	m := repositoryModel{Name: repo.full(), Description: repo.Description, CloneURL: s.cloneURL(repo), Private: repo.Private, Branch: repo.DefaultBranch, Pulls: repo.OpenPulls}
	if m.Undelivered, err = s.undelivered(r.Context(), repo); err != nil {
		return nil, err
	}
	refs, err := s.refsOnDisk(r.Context(), repo)
	if err != nil {
		return nil, err
	}
	for _, ref := range slices.Sorted(maps.Keys(refs)) {
		if name, ok := strings.CutPrefix(ref, "refs/heads/"); ok {
			m.Branches = append(m.Branches, name)
		}
	}
	asked := r.URL.Query().Get("branch")
	if asked != "" {
		m.Branch = asked
	}
	sha, ok := refs["refs/heads/"+m.Branch]
	if !ok {
		if asked != "" {
			return nil, unknown("branch", asked)
		}
		return m, nil
	}
	commits, err := s.log(r.Context(), repo, pageCommits+1, 0, sha)
	if err != nil {
		return nil, err
	}
	m.More = len(commits) > pageCommits
	m.Commits, err = s.commitLines(r.Context(), repo, commits[:min(len(commits), pageCommits)])
	return m, err
}

// commitLines are commits as a list on a page shows them.
func (s *Server) commitLines(ctx context.Context, repo repository, commits []commit) ([]commitLine, error) {
	var lines []commitLine
	for _, c := range commits {
		list, err := s.statuses(ctx, repo, c.SHA)
		if err != nil {
			return nil, err
		}
		lines = append(lines, commitLine{
			SHA: c.SHA, Short: c.SHA[:10], Subject: c.subject(), Author: c.Author.Name,
			At: c.Author.When.Format(time.RFC3339), When: readableTime(c.Author.When), State: worst(newestStatuses(list)),
		})
	}
	return lines, nil
}

func readableTime(t time.Time) string { return t.UTC().Format("2 January 2006, 15:04 MST") }
