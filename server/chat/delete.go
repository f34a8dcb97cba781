package chat

import (
	"context"
	"database/sql"
	"fmt"
	"time"
)

// deleteMessage is DELETE /messages/{message_id}: an administrator's of any
// message, and anybody's of their own for as long as they may edit it.
func (s *Server) deleteMessage(c *call) (reply, error) {
	id, err := c.id("message_id", "message(s)")
	if err != nil {
		return nil, err
	}
	return reply{}, s.write(c.ctx, "delete", func(ctx context.Context, tx *sql.Tx) ([]*notice, error) {
		m, err := findMessage(ctx, tx, c.who.ID, id)
		if err != nil {
			return nil, err
		}
		if err := s.mayDelete(m, c.who); err != nil {
			return nil, err
		}
		fields := map[string]any{"message_id": m.ID, "message_ids": []int64{m.ID}, "message_type": "private"}
		if m.StreamID != 0 {
			fields["message_type"], fields["stream_id"], fields["topic"] = "stream", m.StreamID, m.Topic
		}
		n := newNotice("delete_message", fields)
		if n.audience, err = readersOf(ctx, tx, m); err != nil {
			return nil, err
		}
		for _, table := range []string{"copies", "reactions", "edits"} {
			if _, err := tx.ExecContext(ctx, `DELETE FROM `+table+` WHERE message_id = ?`, m.ID); err != nil {
				return nil, fmt.Errorf("delete message %d: %w", m.ID, err)
			}
		}
		if _, err := tx.ExecContext(ctx, `DELETE FROM messages WHERE id = ?`, m.ID); err != nil {
			return nil, fmt.Errorf("delete message %d: %w", m.ID, err)
		}
		return []*notice{n}, nil
	})
}

// mayDelete refuses what the account may not delete, or no longer.
func (s *Server) mayDelete(m message, who account) error {
	switch age := s.cfg.Now().Sub(time.Unix(m.Sent, 0)); {
	case who.Role <= RoleAdmin:
		return nil
	case m.SenderID != who.ID:
		return bad("You don't have permission to delete this message")
	case age > editLimit+editGrace:
		return bad("The time limit for deleting this message has passed")
	}
	return nil
}
