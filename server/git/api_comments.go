package git

import "net/http"

// shapeComments describes comments, all of them the account's.
func (s *Server) shapeComments(c *call, list ...comment) ([]commentShape, error) {
	me, err := s.owner(c.Context(), s.cfg.AdminUser)
	if err != nil {
		return nil, err
	}
	shapes := make([]commentShape, 0, len(list))
	for _, one := range list {
		shapes = append(shapes, s.shapeComment(c.repo, one, s.userShape(me)))
	}
	return shapes, nil
}

// listComments answers GET issues/{number}/comments: all of them, as Gitea does, oldest first.
func (s *Server) listComments(c *call) (int, any, error) {
	p, err := s.pull(c.Context(), c.repo, c.PathValue("number"))
	if err != nil {
		return 0, nil, err
	}
	list, err := s.comments(c.Context(), c.repo, p)
	if err != nil {
		return 0, nil, err
	}
	shapes, err := s.shapeComments(c, list...)
	return http.StatusOK, shapes, err
}

// commentInput is what creating and editing a comment send.
type commentInput struct {
	Body string `json:"body"`
}

// createComment answers POST issues/{number}/comments.
func (s *Server) createComment(c *call) (int, any, error) {
	var in commentInput
	if err := c.decode(&in); err != nil {
		return 0, nil, err
	}
	made, err := s.addComment(c.Context(), c.repo, c.PathValue("number"), in.Body)
	if err != nil {
		return 0, nil, err
	}
	shapes, err := s.shapeComments(c, made)
	if err != nil {
		return 0, nil, err
	}
	return http.StatusCreated, shapes[0], nil
}

// getComment answers GET issues/comments/{id}.
func (s *Server) getComment(c *call) (int, any, error) {
	found, err := s.comment(c.Context(), c.repo, c.PathValue("part"))
	if err != nil {
		return 0, nil, err
	}
	shapes, err := s.shapeComments(c, found)
	if err != nil {
		return 0, nil, err
	}
	return http.StatusOK, shapes[0], nil
}

// changeComment answers PATCH issues/comments/{id}.
func (s *Server) changeComment(c *call) (int, any, error) {
	found, err := s.comment(c.Context(), c.repo, c.PathValue("id"))
	if err != nil {
		return 0, nil, err
	}
	var in commentInput
	if err := c.decode(&in); err != nil {
		return 0, nil, err
	}
	edited, err := s.editComment(c.Context(), c.repo, found, in.Body)
	if err != nil {
		return 0, nil, err
	}
	shapes, err := s.shapeComments(c, edited)
	if err != nil {
		return 0, nil, err
	}
	return http.StatusOK, shapes[0], nil
}

// deleteComment answers DELETE issues/comments/{id}.
func (s *Server) deleteComment(c *call) (int, any, error) {
	found, err := s.comment(c.Context(), c.repo, c.PathValue("part"))
	if err != nil {
		return 0, nil, err
	}
	return http.StatusNoContent, nil, s.removeComment(c.Context(), c.repo, found)
}
