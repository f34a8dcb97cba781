package chat

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"
)

// unsubscribeAll ends the subscriptions of who to the channels with these names.
func unsubscribeAll(ctx context.Context, tx *sql.Tx, names []string, who []account) (removed, not []string, notices []*notice, err error) {
	removed, not = []string{}, []string{}
	for _, name := range names {
		st, err := streamByName(ctx, tx, name)
		if errors.Is(err, sql.ErrNoRows) {
			return nil, nil, nil, noStream(name)
		}
		if err != nil {
			return nil, nil, nil, err
		}
		var left []int64
		for _, a := range who {
			res, err := tx.ExecContext(ctx, `DELETE FROM subscriptions WHERE stream_id = ? AND user_id = ?`, st.ID, a.ID)
			if err != nil {
				return nil, nil, nil, fmt.Errorf("unsubscribe %d from %s: %w", a.ID, st.Name, err)
			}
			if n, err := res.RowsAffected(); err != nil || n == 0 {
				not = append(not, st.Name)
				continue
			}
			removed = append(removed, st.Name)
			left = append(left, a.ID)
		}
		if len(left) == 0 {
			continue
		}
		notices = append(notices,
			newNotice("subscription", map[string]any{"op": "remove", "subscriptions": []any{map[string]any{"stream_id": st.ID, "name": st.Name}}}).to(left...),
			newNotice("subscription", map[string]any{"op": "peer_remove", "stream_ids": []int64{st.ID}, "user_ids": left}).toAllBut(left...))
	}
	return removed, not, notices, nil
}

// unsubscribe is DELETE /users/me/subscriptions. Others are unsubscribed by administrators alone.
func (s *Server) unsubscribe(c *call) (reply, error) {
	names, err := c.params.strings("subscriptions")
	if err != nil {
		return nil, err
	}
	if names == nil {
		_, err := c.params.need("subscriptions")
		return nil, err
	}
	who, err := s.principals(c)
	if err != nil {
		return nil, err
	}
	if c.who.Role > RoleAdmin && slices.ContainsFunc(who, func(a account) bool { return a.ID != c.who.ID }) {
		return nil, bad("Insufficient permission")
	}
	var removed, not []string
	err = s.write(c.ctx, "subscription", func(ctx context.Context, tx *sql.Tx) (notices []*notice, err error) {
		removed, not, notices, err = unsubscribeAll(ctx, tx, names, who)
		return notices, err
	})
	return reply{"removed": removed, "not_removed": not}, err
}
