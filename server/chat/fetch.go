package chat

// getMessage is GET /messages/{message_id}.
func (s *Server) getMessage(c *call) (reply, error) {
	id, err := c.id("message_id", "message(s)")
	if err != nil {
		return nil, err
	}
	rendered, err := c.params.flag("apply_markdown", true)
	if err != nil {
		return nil, err
	}
	c.params.raw("allow_empty_topic_name")
	m, err := findMessage(c.ctx, s.file.Reader(), c.who.ID, id)
	if err != nil {
		return nil, err
	}
	return reply{"raw_content": m.Content, "message": s.readerObject(m, rendered)}, nil
}
