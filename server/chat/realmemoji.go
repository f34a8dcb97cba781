package chat

// getEmoji is GET /realm/emoji: the custom emoji, of which there are none.
func (s *Server) getEmoji(*call) (reply, error) {
	return reply{"emoji": map[string]any{}}, nil
}
