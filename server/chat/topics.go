package chat

import (
	"context"
	"fmt"
)

// topic is one conversation of a channel.
type topic struct {
	Name string `json:"name"`
	Last int64  `json:"max_id"` // its newest message
}

// listTopics is a channel's topics, the most recently used first, each spelled as its newest message has it.
func listTopics(ctx context.Context, q querier, recipient int64) ([]topic, error) {
	rows, err := q.QueryContext(ctx, `SELECT topic, max(id) FROM messages WHERE recipient_id = ? GROUP BY topic_key ORDER BY 2 DESC`, recipient)
	if err != nil {
		return nil, fmt.Errorf("read topics: %w", err)
	}
	defer rows.Close()
	list := []topic{}
	for rows.Next() {
		var t topic
		if err := rows.Scan(&t.Name, &t.Last); err != nil {
			return nil, fmt.Errorf("read topics: %w", err)
		}
		list = append(list, t)
	}
	return list, rows.Err()
}

// getTopics is GET /users/me/{stream_id}/topics.
func (s *Server) getTopics(c *call) (reply, error) {
	c.params.raw("allow_empty_topic_name")
	st, err := s.streamOf(c)
	if err != nil {
		return nil, err
	}
	list, err := listTopics(c.ctx, s.file.Reader(), st.Recipient)
	return reply{"topics": list}, err
}
