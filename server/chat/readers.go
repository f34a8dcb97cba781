package chat

// readReceipts is GET /messages/{message_id}/read_receipts: who has read a message, beside its sender.
func (s *Server) readReceipts(c *call) (reply, error) {
	id, err := c.id("message_id", "message(s)")
	if err != nil {
		return nil, err
	}
	m, err := findMessage(c.ctx, s.file.Reader(), c.who.ID, id)
	if err != nil {
		return nil, err
	}
	list, err := ids(c.ctx, s.file.Reader(), `SELECT user_id FROM copies WHERE message_id = ? AND flags & 1 <> 0 AND user_id <> ? ORDER BY user_id`, m.ID, m.SenderID)
	return reply{"user_ids": list}, err
}
