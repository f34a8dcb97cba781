package chat

import (
	"context"
	"database/sql"
	"fmt"
)

// markAllRead is POST /mark_all_as_read.
func (s *Server) markAllRead(c *call) (reply, error) {
	return reply{"complete": true}, s.markRead(c, ``)
}

// markStreamRead is POST /mark_stream_as_read.
func (s *Server) markStreamRead(c *call) (reply, error) {
	st, err := s.streamParam(c)
	if err != nil {
		return nil, err
	}
	return reply{}, s.markRead(c, ` AND message_id IN (SELECT id FROM messages WHERE recipient_id = ?)`, st.Recipient)
}

// markTopicRead is POST /mark_topic_as_read.
func (s *Server) markTopicRead(c *call) (reply, error) {
	st, err := s.streamParam(c)
	if err != nil {
		return nil, err
	}
	name, err := c.params.need("topic_name")
	if err != nil {
		return nil, err
	}
	return reply{}, s.markRead(c, ` AND message_id IN (SELECT id FROM messages WHERE recipient_id = ? AND topic_key = ?)`, st.Recipient, fold(name))
}

// streamParam is the channel of the parameter stream_id.
func (s *Server) streamParam(c *call) (stream, error) {
	if _, err := c.params.need("stream_id"); err != nil {
		return stream{}, err
	}
	id, err := c.params.number("stream_id", 0)
	if err != nil {
		return stream{}, err
	}
	st, err := streamByID(c.ctx, s.file.Reader(), id)
	return st, streamFault(err)
}

// markRead marks the caller's unread copies that meet where, and announces those that were not read before.
func (s *Server) markRead(c *call, where string, args ...any) error {
	return s.write(c.ctx, "flags", func(ctx context.Context, tx *sql.Tx) ([]*notice, error) {
		changed, err := ids(ctx, tx, `UPDATE copies SET flags = flags | 1 WHERE user_id = ? AND flags & 1 = 0`+where+` RETURNING message_id`,
			append([]any{c.who.ID}, args...)...)
		if err != nil {
			return nil, fmt.Errorf("mark as read: %w", err)
		}
		if len(changed) == 0 {
			return nil, nil
		}
		return []*notice{newNotice("update_message_flags",
			map[string]any{"op": "add", "operation": "add", "flag": "read", "messages": changed, "all": false}).to(c.who.ID)}, nil
	})
}
