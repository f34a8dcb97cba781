package git

import (
	"net/http"
	"slices"
)

// A pull request is an issue to Gitea: its labels and comments are under
// issues/{number}. There are no other issues here.

// issueParts are what GET issues/{number}/{part} answers. A pattern for each
// would clash with the one for issues/comments/{id}.
var issueParts = map[string]func(*Server, *call) (int, any, error){
	"labels":   (*Server).listPullLabels,
	"comments": (*Server).listComments,
}

// getIssuePart answers GET issues/{number}/{part} and GET issues/comments/{id}.
func (s *Server) getIssuePart(c *call) (int, any, error) {
	if c.PathValue("number") == "comments" {
		return s.getComment(c)
	}
	answer, ok := issueParts[c.PathValue("part")]
	if !ok {
		return 0, nil, unknown("part of a pull request", c.PathValue("part"))
	}
	return answer(s, c)
}

// deleteIssuePart answers DELETE issues/{number}/labels and DELETE issues/comments/{id}.
func (s *Server) deleteIssuePart(c *call) (int, any, error) {
	switch {
	case c.PathValue("number") == "comments":
		return s.deleteComment(c)
	case c.PathValue("part") == "labels":
		return s.clearPullLabels(c)
	}
	return 0, nil, unknown("part of a pull request", c.PathValue("part"))
}

// listPullLabels answers GET issues/{number}/labels.
func (s *Server) listPullLabels(c *call) (int, any, error) {
	p, err := s.pull(c.Context(), c.repo, c.PathValue("number"))
	return http.StatusOK, s.shapeLabels(c.repo, p.Labels), err
}

// changeLabels sets a pull request's labels to what change makes of those it has and those asked for.
func (s *Server) changeLabels(c *call, change func(has, asked []label) []label) (int, any, error) {
	var in struct {
		Labels []any `json:"labels"` // ids or names
	}
	if err := c.decode(&in); err != nil {
		return 0, nil, err
	}
	asked, err := s.findLabels(c.Context(), c.repo, in.Labels)
	if err != nil {
		return 0, nil, err
	}
	labels, err := s.setLabels(c.Context(), c.repo, c.PathValue("number"), "label_updated", func(has []label) ([]label, error) {
		return change(has, asked), nil
	})
	return http.StatusOK, s.shapeLabels(c.repo, labels), err
}

// addPullLabels answers POST issues/{number}/labels.
func (s *Server) addPullLabels(c *call) (int, any, error) {
	return s.changeLabels(c, func(has, asked []label) []label {
		for _, l := range asked {
			if !slices.Contains(has, l) {
				has = append(has, l)
			}
		}
		return has
	})
}

// replacePullLabels answers PUT issues/{number}/labels.
func (s *Server) replacePullLabels(c *call) (int, any, error) {
	return s.changeLabels(c, func(_, asked []label) []label { return asked })
}

// removePullLabel answers DELETE issues/{number}/labels/{label}: by id.
func (s *Server) removePullLabel(c *call) (int, any, error) {
	_, err := s.setLabels(c.Context(), c.repo, c.PathValue("number"), "label_updated", func(has []label) ([]label, error) {
		i := slices.IndexFunc(has, func(l label) bool { return l.is(c.PathValue("label")) })
		if i < 0 {
			return nil, unprocessable("label", c.PathValue("label"), "the pull request does not bear it")
		}
		return slices.Delete(has, i, i+1), nil
	})
	return http.StatusNoContent, nil, err
}

// clearPullLabels answers DELETE issues/{number}/labels.
func (s *Server) clearPullLabels(c *call) (int, any, error) {
	_, err := s.setLabels(c.Context(), c.repo, c.PathValue("number"), "label_cleared", func([]label) ([]label, error) { return nil, nil })
	return http.StatusNoContent, nil, err
}
