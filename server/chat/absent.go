package chat

// What Zulip has and this server does not, where clients ask for it unbidden:
// they are told that there is none, rather than that the address is unknown.

// alertWords is GET /users/me/alert_words.
func (s *Server) alertWords(*call) (reply, error) { return reply{"alert_words": []any{}}, nil }

// linkifiers is GET /realm/linkifiers.
func (s *Server) linkifiers(*call) (reply, error) { return reply{"linkifiers": []any{}}, nil }

// filters is GET /realm/filters, the older name of linkifiers.
func (s *Server) filters(*call) (reply, error) { return reply{"filters": []any{}}, nil }

// profileFields is GET /realm/profile_fields.
func (s *Server) profileFields(*call) (reply, error) { return reply{"custom_fields": []any{}}, nil }

// realmPresence is GET /realm/presence.
func (s *Server) realmPresence(*call) (reply, error) {
	return reply{"presences": map[string]any{}, "server_timestamp": float64(s.cfg.Now().UnixMilli()) / 1000}, nil
}

// userPresence is GET /users/{user}/presence.
func (s *Server) userPresence(c *call) (reply, error) {
	if _, err := s.getUser(c); err != nil {
		return nil, err
	}
	return nil, bad("No presence data for %s", c.path("user"))
}

// userStatus is GET /users/{user}/status.
func (s *Server) userStatus(c *call) (reply, error) {
	if _, err := s.getUser(c); err != nil {
		return nil, err
	}
	return reply{"status": map[string]any{}}, nil
}

// setStatus is POST /users/me/status: refused, since nobody would see it.
func (s *Server) setStatus(c *call) (reply, error) {
	for _, name := range []string{"status_text", "away", "emoji_name", "emoji_code", "reaction_type"} {
		c.params.raw(name)
	}
	return nil, bad("There are no statuses here: say it in a channel")
}
