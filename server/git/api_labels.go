package git

import "net/http"

// listRepositoryLabels answers GET labels.
func (s *Server) listRepositoryLabels(c *call) (int, any, error) {
	all, err := s.labels(c.Context(), c.repo)
	return http.StatusOK, s.shapeLabels(c.repo, paged(c, all)), err
}

// createLabel answers POST labels.
func (s *Server) createLabel(c *call) (int, any, error) {
	var in struct {
		Name        string `json:"name"`
		Color       string `json:"color"`
		Description string `json:"description"`
		Exclusive   bool   `json:"exclusive"`
		IsArchived  bool   `json:"is_archived"`
	}
	if err := c.decode(&in); err != nil {
		return 0, nil, err
	}
	switch {
	case in.Exclusive:
		return 0, nil, unprocessable("exclusive", "true", "labels stand beside each other here; want false")
	case in.IsArchived:
		return 0, nil, unprocessable("is_archived", "true", "want false")
	}
	l, err := s.addLabel(c.Context(), c.repo, label{Name: in.Name, Color: in.Color, Description: in.Description})
	if err != nil {
		return 0, nil, err
	}
	return http.StatusCreated, s.shapeLabels(c.repo, []label{l})[0], nil
}
