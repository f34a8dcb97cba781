package chat

// getHistory is GET /messages/{message_id}/history: each version, oldest first.
func (s *Server) getHistory(c *call) (reply, error) {
	id, err := c.id("message_id", "message(s)")
	if err != nil {
		return nil, err
	}
	c.params.raw("allow_empty_topic_name")
	m, err := findMessage(c.ctx, s.file.Reader(), c.who.ID, id)
	if err != nil {
		return nil, err
	}
	// The edits tell what was before: walking back from now gives each version.
	content, html, topic := m.Content, m.HTML, m.Topic
	var versions []map[string]any
	for _, e := range m.edits {
		v := map[string]any{"timestamp": e["timestamp"], "user_id": e["user_id"], "topic": topic, "content": content, "rendered_content": html}
		if prev, ok := e["prev_content"].(string); ok {
			v["prev_content"], v["prev_rendered_content"] = prev, e["prev_rendered_content"]
			content = prev
			html, _ = e["prev_rendered_content"].(string)
		}
		if prev, ok := e["prev_topic"].(string); ok {
			v["prev_topic"] = prev
			topic = prev
		}
		versions = append([]map[string]any{v}, versions...)
	}
	first := map[string]any{"timestamp": m.Sent, "user_id": m.SenderID, "topic": topic, "content": content, "rendered_content": html}
	return reply{"message_history": append([]map[string]any{first}, versions...)}, nil
}
