package chat

import (
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
)

// updateFlags is POST /messages/flags: the caller's own flags of messages.
func (s *Server) updateFlags(c *call) (reply, error) {
	var list []int64
	found, err := c.params.json("messages", &list, "a list of integers")
	if err != nil {
		return nil, err
	}
	if !found {
		_, err := c.params.need("messages")
		return nil, err
	}
	if len(list) > maxMessages {
		return nil, bad("messages names %d messages: at most %d at once", len(list), maxMessages)
	}
	op, err := c.params.need("op")
	if err != nil {
		return nil, err
	}
	if op != "add" && op != "remove" {
		return nil, bad("Invalid message flag operation: '%s'", op)
	}
	name, err := c.params.need("flag")
	if err != nil {
		return nil, err
	}
	mask := 0
	for _, f := range flagTable {
		if f.name == name && f.settable {
			mask = f.mask
		}
	}
	if mask == 0 {
		return nil, bad("Invalid flag: '%s'", name)
	}
	changed := []int64{}
	err = s.write(c.ctx, "flags", func(ctx context.Context, tx *sql.Tx) ([]*notice, error) {
		in, err := json.Marshal(list)
		if err != nil {
			return nil, err
		}
		set := `UPDATE copies SET flags = flags | ?1 WHERE flags & ?1 = 0`
		if op == "remove" {
			set = `UPDATE copies SET flags = flags & ~?1 WHERE flags & ?1 <> 0`
		}
		changed, err = ids(ctx, tx, set+` AND user_id = ?2 AND message_id IN (SELECT value FROM json_each(?3)) RETURNING message_id`, mask, c.who.ID, string(in))
		if err != nil {
			return nil, fmt.Errorf("update flags: %w", err)
		}
		if len(changed) == 0 {
			return nil, nil
		}
		return []*notice{newNotice("update_message_flags", map[string]any{"op": op, "operation": op, "flag": name, "messages": changed, "all": false}).to(c.who.ID)}, nil
	})
	return reply{"messages": changed}, err
}
