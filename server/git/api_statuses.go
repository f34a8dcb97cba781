package git

import (
	"fmt"
	"net/http"
	"time"
)

// statusShape is a commit status as Gitea writes one.
type statusShape struct {
	ID          int64     `json:"id"`
	State       string    `json:"status"`
	TargetURL   string    `json:"target_url"`
	Description string    `json:"description"`
	URL         string    `json:"url"`
	Context     string    `json:"context"`
	Creator     userShape `json:"creator"`
	Created     time.Time `json:"created_at"`
	Updated     time.Time `json:"updated_at"`
}

// shapeStatuses describes statuses; the account made them all.
func (s *Server) shapeStatuses(c *call, list []status) ([]statusShape, error) {
	me, err := s.owner(c.Context(), s.cfg.AdminUser)
	if err != nil {
		return nil, err
	}
	creator, api := s.userShape(me), s.apiURL(c.repo)
	shapes := make([]statusShape, 0, len(list))
	for _, st := range list {
		shapes = append(shapes, statusShape{
			ID: st.ID, State: st.State, TargetURL: st.TargetURL, Description: st.Description, Context: st.Context,
			URL: api + "/statuses/" + st.SHA, Creator: creator, Created: st.Created, Updated: st.Created,
		})
	}
	return shapes, nil
}

// createStatus answers POST statuses/{sha}.
func (s *Server) createStatus(c *call) (int, any, error) {
	var in struct {
		State       string `json:"state"`
		TargetURL   string `json:"target_url"`
		Description string `json:"description"`
		Context     string `json:"context"`
	}
	if err := c.decode(&in); err != nil {
		return 0, nil, err
	}
	sha, err := s.resolve(c.Context(), c.repo, c.PathValue("sha"))
	if err != nil {
		return 0, nil, err
	}
	st, err := s.setStatus(c.Context(), c.repo, status{SHA: sha, Context: in.Context, State: in.State, Description: in.Description, TargetURL: in.TargetURL})
	if err != nil {
		return 0, nil, err
	}
	shapes, err := s.shapeStatuses(c, []status{st})
	if err != nil {
		return 0, nil, err
	}
	return http.StatusCreated, shapes[0], nil
}

// statusesAt are the statuses of the commit that a request names, newest first.
func (s *Server) statusesAt(c *call) (sha string, list []status, err error) {
	if sha, err = s.resolve(c.Context(), c.repo, c.PathValue("sha")); err != nil {
		return "", nil, err
	}
	list, err = s.statuses(c.Context(), c.repo, sha)
	return sha, list, err
}

// listStatuses answers GET statuses/{sha} and GET commits/{ref}/statuses, newest first.
func (s *Server) listStatuses(c *call) (int, any, error) {
	_, list, err := s.statusesAt(c)
	if err != nil {
		return 0, nil, err
	}
	shapes, err := s.shapeStatuses(c, list)
	return http.StatusOK, paged(c, shapes), err
}

// getCombinedStatus answers GET commits/{ref}/status: the newest status of
// each context, and the worst of their states.
func (s *Server) getCombinedStatus(c *call) (int, any, error) {
	sha, list, err := s.statusesAt(c)
	if err != nil {
		return 0, nil, err
	}
	newest := newestStatuses(list)
	shapes, err := s.shapeStatuses(c, newest)
	if err != nil {
		return 0, nil, err
	}
	repo, err := s.shape(c, c.repo)
	return http.StatusOK, map[string]any{
		"state": worst(newest), "sha": sha, "total_count": len(shapes), "statuses": shapes, "repository": repo,
		"commit_url": fmt.Sprintf("%s/commits/%s", s.apiURL(c.repo), sha),
		"url":        fmt.Sprintf("%s/commits/%s/status", s.apiURL(c.repo), sha),
	}, err
}
