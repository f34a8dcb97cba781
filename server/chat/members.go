package chat

import (
	"context"
)

// getMembers is GET /streams/{stream_id}/members: the ids of the subscribers.
func (s *Server) getMembers(c *call) (reply, error) {
	st, err := s.streamOf(c)
	if err != nil {
		return nil, err
	}
	ids, err := subscribers(c.ctx, s.file.Reader(), st.ID)
	return reply{"subscribers": ids}, err
}

// subscribers are the user ids of a channel, ascending.
func subscribers(ctx context.Context, q querier, stream int64) ([]int64, error) {
	return ids(ctx, q, `SELECT user_id FROM subscriptions WHERE stream_id = ? ORDER BY user_id`, stream)
}
