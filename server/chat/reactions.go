package chat

import (
	"context"
	"database/sql"
	"fmt"
)

// changeReaction makes one change ("add" or "remove") to the reactions on the
// message of a call, and announces it. change may complete the emoji.
func (s *Server) changeReaction(c *call, op string, change func(ctx context.Context, tx *sql.Tx, m message, e *emoji) error) (reply, error) {
	id, err := c.id("message_id", "message(s)")
	if err != nil {
		return nil, err
	}
	e, err := readEmoji(c.params, op == "remove")
	if err != nil {
		return nil, err
	}
	return reply{}, s.write(c.ctx, "reaction", func(ctx context.Context, tx *sql.Tx) ([]*notice, error) {
		m, err := findMessage(ctx, tx, c.who.ID, id)
		if err != nil {
			return nil, err
		}
		if err := change(ctx, tx, m, &e); err != nil {
			return nil, err
		}
		return reactionNotice(ctx, tx, op, m, c.who.ID, e)
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
