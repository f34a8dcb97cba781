package chat

// getEvents is GET /events: the long poll.
func (s *Server) getEvents(c *call) (reply, error) {
	id, err := c.params.need("queue_id")
	if err != nil {
		return nil, err
	}
	if _, err := c.params.need("last_event_id"); err != nil {
		return nil, err
	}
	last, err := c.params.number("last_event_id", -1)
	if err != nil {
		return nil, err
	}
	dontBlock, err := c.params.flag("dont_block", false)
	if err != nil {
		return nil, err
	}
	q, err := s.queues.find(id, c.who.ID)
	if err != nil {
		return nil, err
	}
	events, err := q.poll(c.ctx, s.done, s.cfg.Now, last, !dontBlock)
	if events == nil {
		events = []event{}
	}
	return reply{"events": events, "queue_id": q.id}, err
}
