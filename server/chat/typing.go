package chat

// postTyping is POST /typing: accepted and told to nobody.
func (s *Server) postTyping(c *call) (reply, error) {
	op, err := c.params.need("op")
	if err != nil {
		return nil, err
	}
	if op != "start" && op != "stop" {
		return nil, bad("Invalid op: %s", op)
	}
	for _, name := range []string{"type", "to", "topic", "stream_id"} {
		c.params.raw(name)
	}
	return reply{}, nil
}
