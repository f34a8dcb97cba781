package chat

// getMe is GET /users/me: the account that asks.
func (s *Server) getMe(c *call) (reply, error) {
	u := s.userObject(c.who)
	delete(u, "bot_type")
	delete(u, "bot_owner_id")
	u["profile_data"] = map[string]any{}
	last, err := lastMessage(c.ctx, s.file.Reader())
	if err != nil {
		return nil, err
	}
	u["max_message_id"] = last
	return u, nil
}
