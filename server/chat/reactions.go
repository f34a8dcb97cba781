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
	id, err := c.id("message_id", "message(s)")
	if err != nil {
		return nil, err
	}
	e, err := readEmoji(c.params, false)
	if err != nil {
		return nil, err
	}
	return reply{}, s.write(c.ctx, "reaction", func(ctx context.Context, tx *sql.Tx) ([]*notice, error) {
		m, err := findMessage(ctx, tx, c.who.ID, id)
		if err != nil {
			return nil, err
		}
		for _, r := range m.reactions {
			if r["user_id"] == c.who.ID && r["emoji_code"] == e.code {
				return nil, coded(codeReactionExists, "Reaction already exists.")
			}
		}
		if len(m.reactions) >= maxReactions {
			return nil, bad("Message has %d reactions: no more are kept", maxReactions)
		}
		_, err = tx.ExecContext(ctx, `INSERT INTO reactions (message_id, user_id, emoji_code, emoji_name, position)
			VALUES (?1, ?2, ?3, ?4, (SELECT coalesce(max(position), 0) + 1 FROM reactions WHERE message_id = ?1))`, id, c.who.ID, e.code, e.name)
		if err != nil {
			return nil, fmt.Errorf("insert reaction: %w", err)
		}
		return reactionNotice(ctx, tx, "add", m, c.who.ID, e)
	})
}

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

// reactionNotice announces a reaction to the message's readers.
func reactionNotice(ctx context.Context, tx *sql.Tx, op string, m message, user int64, e emoji) ([]*notice, error) {
	readers, err := readersOf(ctx, tx, m)
	if err != nil {
		return nil, err
	}
	n := newNotice("reaction", map[string]any{"op": op, "user_id": user, "message_id": m.ID,
		"emoji_name": e.name, "emoji_code": e.code, "reaction_type": unicodeEmoji})
	n.audience = readers
	return []*notice{n}, nil
}

// readersOf are those who hear of a change to a message, with the flags of
// their copies: who has one, and who has since subscribed to the channel.
func readersOf(ctx context.Context, q querier, m message) (map[int64]int, error) {
	readers := map[int64]int{}
	err := eachRow(ctx, q, func(scan func(...any) error) error {
		var id int64
		var flags int
		err := scan(&id, &flags)
		readers[id] = flags
		return err
	}, `SELECT user_id, flags FROM copies WHERE message_id = ?1
		UNION SELECT user_id, 1 FROM subscriptions WHERE stream_id = ?2
			AND user_id NOT IN (SELECT user_id FROM copies WHERE message_id = ?1)`, m.ID, m.StreamID)
	if err != nil {
		return nil, fmt.Errorf("read readers of %d: %w", m.ID, err)
	}
	return readers, nil
}
