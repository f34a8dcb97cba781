package chat

// getUserGroups is GET /user_groups.
func (s *Server) getUserGroups(c *call) (reply, error) {
	c.params.raw("include_deactivated_groups")
	return reply{"user_groups": systemGroups(s.people.all())}, nil
}
