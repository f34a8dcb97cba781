package chat

// renderMessage is POST /messages/render.
func (s *Server) renderMessage(c *call) (reply, error) {
	content, err := c.params.need("content")
	if err != nil {
		return nil, err
	}
	if content, err = cleanContent(content, s.cfg.MaxContent); err != nil {
		return nil, err
	}
	out, _ := s.mill.render(content, s.names(c.ctx))
	return reply{"rendered": out}, nil
}
