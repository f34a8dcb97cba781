package git

import (
	"net/http"
	"time"
)

// hookShape is a hook as Gitea writes one: without its secret.
type hookShape struct {
	ID                  int64             `json:"id"`
	Name                string            `json:"name"` // hooks have none here
	Type                string            `json:"type"`
	BranchFilter        string            `json:"branch_filter"`
	Config              map[string]string `json:"config"`
	Events              []string          `json:"events"`
	AuthorizationHeader string            `json:"authorization_header"`
	Active              bool              `json:"active"`
	Updated             time.Time         `json:"updated_at"`
	Created             time.Time         `json:"created_at"`
}

func shapeHook(h hook) hookShape {
	return hookShape{
		ID: h.ID, Type: "gitea", BranchFilter: "*", Config: map[string]string{"url": h.URL, "content_type": "json"},
		Events: h.Events, Active: h.Active, Updated: h.Updated, Created: h.Created,
	}
}

// hookInput is what creating and editing a hook send.
type hookInput struct {
	Type                string            `json:"type"`
	Config              map[string]string `json:"config"`
	Events              []string          `json:"events"`
	BranchFilter        string            `json:"branch_filter"`
	Active              *bool             `json:"active"`
	AuthorizationHeader string            `json:"authorization_header"`
}

// onto checks what this server does not do and sets the rest on a hook. Keys
// of config that are absent leave the hook's value.
func (in hookInput) onto(h *hook) error {
	switch {
	case in.Type != "" && in.Type != "gitea" && in.Type != "gogs":
		return unprocessable("type", in.Type, "want gitea")
	case in.Config["content_type"] != "" && in.Config["content_type"] != "json":
		return unprocessable("config.content_type", in.Config["content_type"], "want json")
	case in.BranchFilter != "" && in.BranchFilter != "*":
		return unprocessable("branch_filter", in.BranchFilter, "hooks are told of every branch; want *")
	case in.AuthorizationHeader != "":
		return unprocessable("authorization_header", "...", "deliveries are signed with config.secret; want none")
	}
	if u, ok := in.Config["url"]; ok {
		h.URL = u
	}
	if secret, ok := in.Config["secret"]; ok {
		h.Secret = secret
	}
	if in.Events != nil {
		h.Events = in.Events
	}
	if in.Active != nil {
		h.Active = *in.Active
	}
	return nil
}

// listHooks answers GET hooks.
func (s *Server) listHooks(c *call) (int, any, error) {
	all, err := s.hooks(c.Context(), c.repo)
	shapes := make([]hookShape, 0, len(all))
	for _, h := range all {
		shapes = append(shapes, shapeHook(h))
	}
	return http.StatusOK, paged(c, shapes), err
}

// getHook answers GET hooks/{id}.
func (s *Server) getHook(c *call) (int, any, error) {
	h, err := s.hook(c.Context(), c.repo, c.PathValue("id"))
	return http.StatusOK, shapeHook(h), err
}

// createHook answers POST hooks. Without events it is told of pushes.
func (s *Server) createHook(c *call) (int, any, error) {
	in := hookInput{Events: []string{eventPush}}
	if err := c.decode(&in); err != nil {
		return 0, nil, err
	}
	if in.Type == "" {
		return 0, nil, unprocessable("type", "", "want gitea")
	}
	var h hook
	if err := in.onto(&h); err != nil {
		return 0, nil, err
	}
	h, err := s.saveHook(c.Context(), c.repo, h)
	return http.StatusCreated, shapeHook(h), err
}

// editHook answers PATCH hooks/{id}.
func (s *Server) editHook(c *call) (int, any, error) {
	h, err := s.hook(c.Context(), c.repo, c.PathValue("id"))
	if err != nil {
		return 0, nil, err
	}
	var in hookInput
	if err := c.decode(&in); err != nil {
		return 0, nil, err
	}
	if err := in.onto(&h); err != nil {
		return 0, nil, err
	}
	h, err = s.saveHook(c.Context(), c.repo, h)
	return http.StatusOK, shapeHook(h), err
}

// deleteHook answers DELETE hooks/{id}.
func (s *Server) deleteHook(c *call) (int, any, error) {
	h, err := s.hook(c.Context(), c.repo, c.PathValue("id"))
	if err != nil {
		return 0, nil, err
	}
	return http.StatusNoContent, nil, s.removeHook(c.Context(), c.repo, h)
}
