package chat

// getStreams is GET /streams.
func (s *Server) getStreams(c *call) (reply, error) {
	for _, name := range []string{"include_public", "include_subscribed", "include_web_public", "include_default", "include_all", "include_all_active", "include_owner_subscribed", "exclude_archived"} {
		c.params.raw(name)
	}
	list, err := listStreams(c.ctx, s.file.Reader(), "")
	if err != nil {
		return nil, err
	}
	objects := make([]map[string]any, 0, len(list))
	for _, st := range list {
		objects = append(objects, streamObject(st))
	}
	return reply{"streams": objects}, nil
}
