package chat

// postPresence is POST /users/me/presence: accepted, since clients insist on sending it; nothing is kept.
func (s *Server) postPresence(c *call) (reply, error) {
	status, err := c.params.need("status")
	if err != nil {
		return nil, err
	}
	if status != "active" && status != "idle" {
		return nil, bad("Invalid status: %s", status)
	}
	for _, name := range []string{"last_update_id", "history_limit_days", "new_user_input", "ping_only", "slim_presence"} {
		c.params.raw(name)
	}
	now := float64(s.cfg.Now().UnixMilli()) / 1000
	return reply{"server_timestamp": now, "presences": map[string]any{}, "presence_last_update_id": -1}, nil
}
