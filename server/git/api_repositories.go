package git

import (
	"context"
	"net/http"
	"slices"
	"strings"
)

// organizationShape is an organisation as Gitea writes one.
type organizationShape struct {
	ID          int64  `json:"id"`
	Name        string `json:"name"`
	FullName    string `json:"full_name"`
	Email       string `json:"email"`
	AvatarURL   string `json:"avatar_url"`
	Description string `json:"description"`
	Website     string `json:"website"`
	Location    string `json:"location"`
	Visibility  string `json:"visibility"`
	Username    string `json:"username"`
	TeamAccess  bool   `json:"repo_admin_change_team_access"` // there are no teams
}

// getOrganization answers GET /orgs/{org}.
func (s *Server) getOrganization(c *call) (int, any, error) {
	o, err := s.organization(c.Context(), c.PathValue("org"))
	return http.StatusOK, organizationShape{ID: o.ID, Name: o.Name, Username: o.Name, Visibility: "public"}, err
}

// organization finds an owner that is one.
func (s *Server) organization(ctx context.Context, name string) (owner, error) {
	o, err := s.owner(ctx, name)
	if err == nil && o.Kind != kindOrganization {
		err = unknown("organization", name)
	}
	return o, err
}

// createOrganization answers POST /orgs.
func (s *Server) createOrganization(c *call) (int, any, error) {
	var in struct {
		Username string `json:"username"`
	}
	if err := c.decode(&in); err != nil {
		return 0, nil, err
	}
	if err := checkOwner(in.Username); err != nil {
		return 0, nil, err
	}
	if _, err := s.owner(c.Context(), in.Username); err == nil {
		return 0, nil, unprocessable("username", in.Username, "the name is taken")
	}
	o, err := s.ensureOwner(c.Context(), in.Username, kindOrganization)
	return http.StatusCreated, organizationShape{ID: o.ID, Name: o.Name, Username: o.Name, Visibility: "public"}, err
}

// listRepositories answers GET /orgs/{org}/repos and GET /user/repos.
func (s *Server) listRepositories(c *call) (int, any, error) {
	org := c.PathValue("org")
	if org != "" {
		if _, err := s.owner(c.Context(), org); err != nil {
			return 0, nil, err
		}
	}
	shapes, err := s.visible(c, org, "")
	return http.StatusOK, paged(c, shapes), err
}

// searchRepositories answers GET /repos/search?q=.
func (s *Server) searchRepositories(c *call) (int, any, error) {
	shapes, err := s.visible(c, "", c.URL.Query().Get("q"))
	return http.StatusOK, map[string]any{"ok": true, "data": paged(c, shapes)}, err
}

// visible describes the repositories that the caller may read and whose name holds the text.
func (s *Server) visible(c *call, org, text string) ([]repositoryShape, error) {
	all, err := s.repositories(c.Context(), org)
	if err != nil {
		return nil, err
	}
	all = slices.DeleteFunc(all, func(r repository) bool {
		return r.Private && !c.who.may(readRepository) || !strings.Contains(strings.ToLower(r.Name), strings.ToLower(text))
	})
	shapes := make([]repositoryShape, 0, len(all))
	for _, r := range all {
		shape, err := s.shape(c, r)
		if err != nil {
			return nil, err
		}
		shapes = append(shapes, shape)
	}
	return shapes, nil
}

// shape describes a repository to the caller. Branches are counted from the recorded refs.
func (s *Server) shape(c *call, r repository) (repositoryShape, error) {
	refs, err := s.recordedRefs(c.Context(), r)
	return s.repositoryShape(r, countBranches(refs), c.who.permissions(r)), err
}

// getRepository answers GET /repos/{owner}/{repo}.
func (s *Server) getRepository(c *call) (int, any, error) {
	shape, err := s.shape(c, c.repo)
	return http.StatusOK, shape, err
}

// createRepository answers POST /orgs/{org}/repos and POST /user/repos. Fields
// of Gitea's that ask for content (auto_init, gitignores, license, readme) are
// refused rather than left undone.
func (s *Server) createRepository(c *call) (int, any, error) {
	var in struct {
		Name             string `json:"name"`
		Description      string `json:"description"`
		Private          bool   `json:"private"`
		DefaultBranch    string `json:"default_branch"`
		AutoInit         bool   `json:"auto_init"`
		ObjectFormatName string `json:"object_format_name"`
	}
	if err := c.decode(&in); err != nil {
		return 0, nil, err
	}
	switch {
	case in.AutoInit:
		return 0, nil, unprocessable("auto_init", "true", "repositories begin empty here; push the first commit")
	case in.ObjectFormatName != "" && in.ObjectFormatName != "sha1":
		return 0, nil, unprocessable("object_format_name", in.ObjectFormatName, "want sha1")
	}
	o, err := s.owner(c.Context(), s.cfg.AdminUser)
	if org := c.PathValue("org"); org != "" {
		o, err = s.organization(c.Context(), org)
	}
	if err != nil {
		return 0, nil, err
	}
	repo, err := s.create(c.Context(), newRepository{
		owner: o, name: in.Name, description: in.Description, private: in.Private, defaultBranch: in.DefaultBranch,
	})
	if err != nil {
		return 0, nil, err
	}
	shape, err := s.shape(c, repo)
	return http.StatusCreated, shape, err
}

// deleteRepository answers DELETE /repos/{owner}/{repo}.
func (s *Server) deleteRepository(c *call) (int, any, error) {
	return http.StatusNoContent, nil, s.remove(c.Context(), c.repo)
}
