package chat

import (
	"context"
	"database/sql"
	"fmt"
)

// maxReactions is how many reactions one message may carry.
const maxReactions = 500

// addReaction is POST /messages/{message_id}/reactions.
func (s *Server) addReaction(c *call) (reply, error) {
	return s.changeReaction(c, "add", func(ctx context.Context, tx *sql.Tx, m message, e *emoji) error {
		for _, r := range m.reactions {
			if r["user_id"] == c.who.ID && r["emoji_code"] == e.code {
				return coded(codeReactionExists, "Reaction already exists.")
			}
		}
		if len(m.reactions) >= maxReactions {
			return bad("Message has %d reactions: no more are kept", maxReactions)
		}
		_, err := tx.ExecContext(ctx, `INSERT INTO reactions (message_id, user_id, emoji_code, emoji_name, position)
			VALUES (?1, ?2, ?3, ?4, (SELECT coalesce(max(position), 0) + 1 FROM reactions WHERE message_id = ?1))`, m.ID, c.who.ID, e.code, e.name)
		if err != nil {
			return fmt.Errorf("insert reaction: %w", err)
		}
		return nil
	})
}
