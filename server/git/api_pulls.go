package git

import (
	"context"
	"fmt"
	"net/http"
	"strconv"
	"strings"
)

// listPulls answers GET pulls?state=&sort=&base_branch=: by pages, newest first.
func (s *Server) listPulls(c *call) (int, any, error) {
	q := c.URL.Query()
	state, sort := q.Get("state"), q.Get("sort")
	where, ok := pullFilters[state]
	if !ok {
		return 0, nil, unprocessable("state", state, "want open, closed or all")
	}
	order, ok := pullOrders[sort]
	if !ok {
		return 0, nil, unprocessable("sort", sort, "want oldest, recentupdate, leastupdate, mostcomment or leastcomment")
	}
	base := q.Get("base_branch")
	if err := s.countPulls(c, where, base); err != nil {
		return 0, nil, err
	}
	list, err := s.pullsWhere(c.Context(), c.repo, where+` AND (? = '' OR p.base = ?) ORDER BY `+order+` LIMIT ? OFFSET ?`,
		base, base, c.page.limit, c.page.skip())
	if err != nil {
		return 0, nil, err
	}
	in, err := s.around(c)
	if err != nil {
		return 0, nil, err
	}
	shapes := make([]pullShape, 0, len(list))
	for _, p := range list {
		shape, err := s.pullShape(c.Context(), p, in)
		if err != nil {
			return 0, nil, err
		}
		shapes = append(shapes, shape)
	}
	return http.StatusOK, shapes, nil
}

// pullFilters are the values of ?state=, and what they choose.
var pullFilters = map[string]string{
	"":       `AND p.state = 'open'`,
	"open":   `AND p.state = 'open'`,
	"closed": `AND p.state <> 'open'`,
	"all":    ``,
}

// pullOrders are the values of ?sort=, and how they order.
var pullOrders = map[string]string{
	"":             `p.number DESC`,
	"oldest":       `p.number`,
	"recentupdate": `p.updated_at DESC, p.number DESC`,
	"leastupdate":  `p.updated_at, p.number`,
	"mostcomment":  `14 DESC, p.number DESC`, // the column of selectPulls
	"leastcomment": `14, p.number DESC`,
}

// countPulls tells how many pull requests a list has over all its pages.
func (s *Server) countPulls(c *call, where, base string) error {
	var n int
	err := s.file.Reader().QueryRowContext(c.Context(), `SELECT count(*) FROM pulls p WHERE p.repository_id = ? `+where+` AND (? = '' OR p.base = ?)`,
		c.repo.ID, base, base).Scan(&n)
	if err != nil {
		return fmt.Errorf("count pull requests of %s: %w", c.repo.full(), err)
	}
	c.total(n)
	return nil
}

// shapePull describes one pull request to the caller.
func (s *Server) shapePull(c *call, p pull) (any, error) {
	repo, err := s.current(c.Context(), c.repo) // how many are open has changed, maybe
	if err != nil {
		return nil, err
	}
	c.repo = repo
	in, err := s.around(c)
	if err != nil {
		return nil, err
	}
	return s.pullShape(c.Context(), p, in)
}

// getPull answers GET pulls/{number}; with .diff or .patch at the end, the change as text.
func (s *Server) getPull(c *call) (int, any, error) {
	number := c.PathValue("number")
	for end := range pullTexts {
		if name, ok := strings.CutSuffix(number, end); ok {
			p, err := s.pull(c.Context(), c.repo, name)
			if err != nil {
				return 0, nil, err
			}
			text, err := s.pullText(c.Context(), c.repo, p, end)
			return http.StatusOK, raw(text), err
		}
	}
	p, err := s.pull(c.Context(), c.repo, number)
	if err != nil {
		return 0, nil, err
	}
	shape, err := s.shapePull(c, p)
	return http.StatusOK, shape, err
}

// pullTexts are the endings by which a pull request is asked for as text, and how git writes it.
var pullTexts = map[string][]string{
	".diff":  {"diff-tree", "-p", "-M", "--no-color", "--no-ext-diff"},
	".patch": {"format-patch", "--stdout", "--no-ext-diff"},
}

// pullText is what a pull request changes, as text; empty when nothing can be compared.
func (s *Server) pullText(ctx context.Context, repo repository, p pull, end string) ([]byte, error) {
	refs, err := s.refsOnDisk(ctx, repo)
	if err != nil {
		return nil, err
	}
	facts, err := s.pullPair(ctx, repo, p, refs)
	if err != nil || facts.mergeBase == "" {
		return nil, err
	}
	between := []string{facts.mergeBase, p.Head}
	if end == ".patch" {
		between = []string{facts.mergeBase + ".." + p.Head}
	}
	return s.git(ctx, repo, append(append([]string{}, pullTexts[end]...), between...)...)
}

// findPull answers GET pulls/{base}/{head}: the open pull request of two branches.
func (s *Server) findPull(c *call) (int, any, error) {
	base, head := c.PathValue("number"), c.PathValue("head")
	list, err := s.pullsWhere(c.Context(), c.repo, `AND p.state = 'open' AND p.base = ? AND p.branch = ?`, base, head)
	if err == nil && len(list) == 0 {
		if _, failed := strconv.Atoi(base); failed == nil { // such as pulls/7/reviews
			return 0, nil, unknown("part of a pull request", head)
		}
		err = unknown("pull request", base+"..."+head)
	}
	if err != nil {
		return 0, nil, err
	}
	shape, err := s.shapePull(c, list[0])
	return http.StatusOK, shape, err
}

// createPull answers POST pulls.
func (s *Server) createPull(c *call) (int, any, error) {
	var in struct {
		Head   string `json:"head"`
		Base   string `json:"base"`
		Title  string `json:"title"`
		Body   string `json:"body"`
		Labels []any  `json:"labels"`
	}
	if err := c.decode(&in); err != nil {
		return 0, nil, err
	}
	in.Head = strings.TrimPrefix(in.Head, c.repo.Owner.Name+":") // a branch of a fork would name another owner
	for field, name := range map[string]string{"head": in.Head, "base": in.Base} {
		if err := checkRef(field, name); err != nil {
			return 0, nil, err
		}
	}
	labels, err := s.findLabels(c.Context(), c.repo, in.Labels)
	if err != nil {
		return 0, nil, err
	}
	p, err := s.openPull(c.Context(), c.repo, pull{Title: strings.TrimSpace(in.Title), Body: in.Body, Base: in.Base, Branch: in.Head, Labels: labels})
	if err != nil {
		return 0, nil, err
	}
	shape, err := s.shapePull(c, p)
	return http.StatusCreated, shape, err
}

// editPullRequest answers PATCH pulls/{number}, with 201 as Gitea does.
func (s *Server) editPullRequest(c *call) (int, any, error) {
	var in struct {
		Title  string  `json:"title"`
		Body   *string `json:"body"`
		State  *string `json:"state"`
		Base   string  `json:"base"`
		Labels []any   `json:"labels"`
	}
	if err := c.decode(&in); err != nil {
		return 0, nil, err
	}
	e := pullEdit{Body: in.Body, State: in.State}
	if title := strings.TrimSpace(in.Title); title != "" {
		e.Title = &title
	}
	now, err := s.pull(c.Context(), c.repo, c.PathValue("number"))
	switch {
	case err != nil:
		return 0, nil, err
	case in.Base != "" && in.Base != now.Base:
		return 0, nil, unprocessable("base", in.Base, "a pull request keeps its base; open another one")
	case in.Labels != nil:
		return 0, nil, unprocessable("labels", fmt.Sprint(in.Labels...), fmt.Sprintf("set them with PUT issues/%d/labels", now.Number))
	}
	p, err := s.editPull(c.Context(), c.repo, c.PathValue("number"), e)
	if err != nil {
		return 0, nil, err
	}
	shape, err := s.shapePull(c, p)
	return http.StatusCreated, shape, err
}
