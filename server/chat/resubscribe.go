package chat

import (
	"context"
	"database/sql"
)

// changeSubscriptions is PATCH /users/me/subscriptions: "add" and "delete" in one write, for who asks.
func (s *Server) changeSubscriptions(c *call) (reply, error) {
	var wanted []newStream
	adding, err := c.params.json("add", &wanted, `a list of {"name", "description"}`)
	if err != nil {
		return nil, err
	}
	names, err := c.params.strings("delete")
	if err != nil {
		return nil, err
	}
	if !adding && names == nil {
		return nil, bad("Nothing to do. Specify at least one of \"add\" or \"delete\".")
	}
	if len(wanted) > maxSubscribe || len(names) > maxSubscribe {
		return nil, bad("add and delete name at most %d channels at once", maxSubscribe)
	}
	var out subscribed
	var removed, not []string
	err = s.write(c.ctx, "subscription", func(ctx context.Context, tx *sql.Tx) ([]*notice, error) {
		var joined, left []*notice
		var err error
		if out, joined, err = s.subscribeAll(ctx, tx, c.who, wanted, []account{c.who}); err != nil {
			return nil, err
		}
		removed, not, left, err = unsubscribeAll(ctx, tx, names, []account{c.who})
		return append(joined, left...), err
	})
	return reply{"subscribed": out.added, "already_subscribed": out.already, "removed": removed, "not_removed": not}, err
}
