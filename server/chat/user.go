package chat

import (
	"strconv"
	"strings"
)

// getUser is GET /users/{user}: by id, or by email address.
func (s *Server) getUser(c *call) (reply, error) {
	c.params.raw("client_gravatar")
	c.params.raw("include_custom_profile_fields")
	name := c.path("user")
	var a account
	var found bool
	if id, err := strconv.ParseInt(name, 10, 64); err == nil {
		a, found = s.people.byID(id)
	} else if strings.Contains(name, "@") {
		a, found = s.people.byEmail(name)
	}
	if !found {
		return nil, bad("No such user")
	}
	return reply{"user": s.userObject(a)}, nil
}
