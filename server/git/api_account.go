package git

import (
	"net/http"
	"strings"
	"time"
)

// apiVersion is the version of Gitea whose API is spoken.
const apiVersion = "1.26.4"

// getVersion answers GET /version.
func (s *Server) getVersion(*call) (int, any, error) {
	return http.StatusOK, map[string]string{"version": apiVersion}, nil
}

// getUser answers GET /user.
func (s *Server) getUser(c *call) (int, any, error) {
	me, err := s.owner(c.Context(), s.cfg.AdminUser)
	return http.StatusOK, s.userShape(me), err
}

// tokenShape is a token as Gitea writes one; SHA1 is the secret, told once.
type tokenShape struct {
	ID        int64     `json:"id"`
	Name      string    `json:"name"`
	SHA1      string    `json:"sha1"`
	LastEight string    `json:"token_last_eight"`
	Scopes    []string  `json:"scopes"`
	Created   time.Time `json:"created_at"`
}

func shapeToken(t token, secret string) tokenShape {
	return tokenShape{ID: t.ID, Name: t.Name, SHA1: secret, LastEight: t.LastEight, Scopes: t.Scopes, Created: t.Created}
}

// ownTokens refuses the tokens of an account that is not the caller's.
func (s *Server) ownTokens(c *call) error {
	if !strings.EqualFold(c.PathValue("user"), s.cfg.AdminUser) {
		return unknown("user", c.PathValue("user"))
	}
	return nil
}

// listTokens answers GET /users/{user}/tokens.
func (s *Server) listTokens(c *call) (int, any, error) {
	if err := s.ownTokens(c); err != nil {
		return 0, nil, err
	}
	all, err := s.tokens(c.Context())
	shapes := make([]tokenShape, 0, len(all))
	for _, t := range all {
		shapes = append(shapes, shapeToken(t, ""))
	}
	return http.StatusOK, paged(c, shapes), err
}

// createToken answers POST /users/{user}/tokens.
func (s *Server) createToken(c *call) (int, any, error) {
	var in struct {
		Name   string   `json:"name"`
		Scopes []string `json:"scopes"`
	}
	if err := s.ownTokens(c); err != nil {
		return 0, nil, err
	}
	if err := c.decode(&in); err != nil {
		return 0, nil, err
	}
	t, secret, err := s.mint(c.Context(), in.Name, in.Scopes)
	return http.StatusCreated, shapeToken(t, secret), err
}

// deleteToken answers DELETE /users/{user}/tokens/{token}, by id or name.
func (s *Server) deleteToken(c *call) (int, any, error) {
	if err := s.ownTokens(c); err != nil {
		return 0, nil, err
	}
	return http.StatusNoContent, nil, s.revoke(c.Context(), c.PathValue("token"))
}
