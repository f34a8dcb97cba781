package chat

import (
	"context"
	"database/sql"
	"fmt"
)

// removeReaction is DELETE /messages/{message_id}/reactions.
func (s *Server) removeReaction(c *call) (reply, error) {
	return s.changeReaction(c, "remove", func(ctx context.Context, tx *sql.Tx, m message, e *emoji) error {
		there := false
		for _, r := range m.reactions {
			if r["user_id"] == c.who.ID && r["emoji_code"] == e.code {
				e.name, there = fmt.Sprint(r["emoji_name"]), true
			}
		}
		if !there {
			return coded(codeNoReaction, "Reaction doesn't exist.")
		}
		if _, err := tx.ExecContext(ctx, `DELETE FROM reactions WHERE message_id = ? AND user_id = ? AND emoji_code = ?`, m.ID, c.who.ID, e.code); err != nil {
			return fmt.Errorf("delete reaction: %w", err)
		}
		return nil
	})
}
