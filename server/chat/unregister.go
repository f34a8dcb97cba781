package chat

// deleteQueue is DELETE /events.
func (s *Server) deleteQueue(c *call) (reply, error) {
	id, err := c.params.need("queue_id")
	if err != nil {
		return nil, err
	}
	q, err := s.queues.find(id, c.who.ID)
	if err != nil {
		return nil, err
	}
	s.queues.drop(q)
	return reply{}, nil
}
