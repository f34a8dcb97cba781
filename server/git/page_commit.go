package git

import (
	"net/http"
	"strings"
	"time"
)

type commitModel struct {
	Name, Title, Subject, Body, Author, At, When, SHA string
	Parents                                           []string
	Statuses                                          []status
	Files                                             []diffFile
	Cut                                               bool
}

// commitPage shows one commit with its statuses and its change.
func (s *Server) commitPage(r *http.Request, who caller) (any, error) {
	repo, err := s.readable(r, who)
	if err != nil {
		return nil, err
	}
	sha, err := s.resolve(r.Context(), repo, r.PathValue("sha"))
	if err != nil {
		return nil, err
	}
	c, err := s.commit(r.Context(), repo, sha)
	if err != nil {
		return nil, err
	}
	list, err := s.statuses(r.Context(), repo, sha)
	if err != nil {
		return nil, err
	}
	text, cut, err := s.diff(r.Context(), repo, sha)
	if err != nil {
		return nil, err
	}
	_, body, _ := strings.Cut(c.Message, "\n")
	return commitModel{
		Name: repo.full(), Title: c.subject() + " - " + repo.full(), Subject: c.subject(), Body: strings.TrimSpace(body), SHA: sha,
		Author: c.Author.Name, At: c.Author.When.Format(time.RFC3339), When: readableTime(c.Author.When),
		Parents: c.Parents, Statuses: newestStatuses(list), Files: parseDiff(text), Cut: cut,
	}, nil
}
