package chat

import (
	"context"
	"database/sql"
	"fmt"
)

// removeReaction is DELETE /messages/{message_id}/reactions.
func (s *Server) removeReaction(c *call) (reply, error) {
	id, err := c.id("message_id", "message(s)")
	if err != nil {
		return nil, err
	}
	e, err := readEmoji(c.params, true)
	if err != nil {
		return nil, err
	}
	return reply{}, s.write(c.ctx, "reaction", func(ctx context.Context, tx *sql.Tx) ([]*notice, error) {
		m, err := findMessage(ctx, tx, c.who.ID, id)
		if err != nil {
			return nil, err
		}
		there := false
		for _, r := range m.reactions {
			if r["user_id"] == c.who.ID && r["emoji_code"] == e.code {
				e.name, there = fmt.Sprint(r["emoji_name"]), true
			}
		}
		if !there {
			return nil, coded(codeNoReaction, "Reaction doesn't exist.")
		}
		if _, err := tx.ExecContext(ctx, `DELETE FROM reactions WHERE message_id = ? AND user_id = ? AND emoji_code = ?`, id, c.who.ID, e.code); err != nil {
			return nil, fmt.Errorf("delete reaction: %w", err)
		}
		return reactionNotice(ctx, tx, "remove", m, c.who.ID, e)
	})
}
