package chat

import (
	"net/http"
	"slices"
	"strconv"
)

// getSubscribed is GET /users/{user}/subscriptions/{stream_id}: whether an
// account is subscribed to a channel. The pattern leaves the middle open, since
// it would overlap with /users/me/{stream_id}/topics otherwise.
func (s *Server) getSubscribed(c *call) (reply, error) {
	if c.path("kind") != "subscriptions" {
		return nil, &apiError{status: http.StatusNotFound, code: codeBadRequest, msg: "Not found: of an account's channels there are only its subscriptions"}
	}
	id, err := strconv.ParseInt(c.path("user"), 10, 64)
	if _, found := s.people.byID(id); err != nil || !found {
		return nil, bad("No such user")
	}
	st, err := s.streamOf(c)
	if err != nil {
		return nil, err
	}
	list, err := subscribers(c.ctx, s.file.Reader(), st.ID)
	return reply{"is_subscribed": slices.Contains(list, id)}, err
}
