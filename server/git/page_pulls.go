package git

import (
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"time"
)

type pullsModel struct {
	Name, State string // State: open, closed
	Open        int64
	Pulls       []pullLine
	Older       string // where the next page is; empty on the last
}

type pullLine struct {
	Number                     int64
	Title, State, Branch, Base string
	Labels                     []label
	At, When                   string // of the last activity
	Comments                   int
}

// pullsPage lists the open pull requests, or with ?state=closed those that ended, newest first.
func (s *Server) pullsPage(r *http.Request, who caller) (any, error) {
	repo, err := s.readable(r, who)
	if err != nil {
		return nil, err
	}
	q := r.URL.Query()
	m := pullsModel{Name: repo.full(), State: q.Get("state"), Open: repo.OpenPulls}
	if m.State == "" {
		m.State = pullOpen
	}
	if m.State != pullOpen && m.State != pullClosed {
		return nil, unprocessable("state", m.State, "want open or closed")
	}
	page, err := pagingOf(url.Values{"page": q["page"], "limit": {strconv.Itoa(pageCommits)}})
	if err != nil {
		return nil, err
	}
	list, err := s.pullsWhere(r.Context(), repo, pullFilters[m.State]+` ORDER BY p.number DESC LIMIT ? OFFSET ?`, page.limit+1, page.skip())
	if err != nil {
		return nil, err
	}
	if len(list) > page.limit {
		m.Older = fmt.Sprintf("?state=%s&page=%d", m.State, page.page+1)
		list = list[:page.limit]
	}
	for _, p := range list {
		m.Pulls = append(m.Pulls, pullLine{
			Number: p.Number, Title: p.Title, State: p.State, Branch: p.Branch, Base: p.Base, Labels: p.Labels,
			At: p.Updated.Format(time.RFC3339), When: readableTime(p.Updated), Comments: p.Comments,
		})
	}
	return m, nil
}
