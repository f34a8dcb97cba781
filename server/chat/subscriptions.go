package chat

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"strconv"
)

// maxSubscribe is how many channels, and how many people, one request may name.
const maxSubscribe = 200

// newStream is one entry of the parameter "subscriptions".
type newStream struct {
	Name        string `json:"name"`
	Description string `json:"description"`
	Color       string `json:"color"` // accepted: there are no personal colours
}

// subscribers are the user ids of a channel, ascending.
func subscribers(ctx context.Context, q querier, stream int64) ([]int64, error) {
	return ids(ctx, q, `SELECT user_id FROM subscriptions WHERE stream_id = ? ORDER BY user_id`, stream)
}

// ids runs a query of one integer column; never nil.
func ids(ctx context.Context, q querier, query string, args ...any) ([]int64, error) {
	rows, err := q.QueryContext(ctx, query, args...)
	if err != nil {
		return nil, fmt.Errorf("read ids: %w", err)
	}
	defer rows.Close()
	list := []int64{}
	for rows.Next() {
		var id int64
		if err := rows.Scan(&id); err != nil {
			return nil, fmt.Errorf("read ids: %w", err)
		}
		list = append(list, id)
	}
	return list, rows.Err()
}

// subscribed tells, per user id as the API writes it, which channels a request added and which it found.
type subscribed struct{ added, already map[string][]string }

// subscribeAll subscribes each of who to each of wanted, making channels that are not there.
func (s *Server) subscribeAll(ctx context.Context, tx *sql.Tx, by account, wanted []newStream, who []account) (subscribed, []*notice, error) {
	out := subscribed{added: map[string][]string{}, already: map[string][]string{}}
	var notices []*notice
	for _, w := range wanted {
		st, fresh, err := s.ensureStream(ctx, tx, w.Name, w.Description, by.ID)
		if err != nil {
			return out, nil, err
		}
		if fresh && by.Role == RoleGuest {
			return out, nil, bad("Insufficient permission")
		}
		if fresh {
			notices = append(notices, newNotice("stream", map[string]any{"op": "create", "streams": []any{streamObject(st)}}).toAll())
		}
		before, err := subscribers(ctx, tx, st.ID)
		if err != nil {
			return out, nil, err
		}
		var joined []int64
		for _, a := range who {
			key := strconv.FormatInt(a.ID, 10)
			if slices.Contains(before, a.ID) || slices.Contains(joined, a.ID) {
				out.already[key] = append(out.already[key], st.Name)
				continue
			}
			if _, err := tx.ExecContext(ctx, `INSERT INTO subscriptions (stream_id, user_id) VALUES (?, ?)`, st.ID, a.ID); err != nil {
				return out, nil, fmt.Errorf("subscribe %d to %s: %w", a.ID, st.Name, err)
			}
			out.added[key] = append(out.added[key], st.Name)
			joined = append(joined, a.ID)
		}
		if len(joined) == 0 {
			continue
		}
		object := subscriptionObject(st, append(slices.Clone(before), joined...), true)
		notices = append(notices,
			newNotice("subscription", map[string]any{"op": "add", "subscriptions": []any{object}}).to(joined...),
			newNotice("subscription", map[string]any{"op": "peer_add", "stream_ids": []int64{st.ID}, "user_ids": joined}).toAllBut(joined...))
	}
	return out, notices, nil
}

// subscriptionObject is a channel as its subscriber sees it.
func subscriptionObject(st stream, members []int64, withMembers bool) map[string]any {
	o := streamObject(st)
	for _, name := range []string{"desktop_notifications", "email_notifications", "wildcard_mentions_notify", "push_notifications", "audible_notifications"} {
		o[name] = nil // as the account's own settings say
	}
	o["pin_to_top"], o["is_muted"], o["in_home_view"], o["color"] = false, false, true, "#76ce90"
	if withMembers {
		slices.Sort(members)
		o["subscribers"] = members
	}
	return o
}

// principals are the accounts that a request speaks for: those named, else who asks.
func (s *Server) principals(c *call) ([]account, error) {
	var named []any
	found, err := c.params.json("principals", &named, "a list of user IDs or emails")
	if err != nil {
		return nil, err
	}
	if !found || len(named) == 0 {
		return []account{c.who}, nil
	}
	if len(named) > maxSubscribe {
		return nil, bad("principals names %d people: at most %d at once", len(named), maxSubscribe)
	}
	var who []account
	for _, n := range named {
		a, err := s.resolveUser(n)
		if err != nil {
			return nil, err
		}
		who = append(who, a)
	}
	return who, nil
}

// wantedStreams reads a list of channels to subscribe to.
func wantedStreams(p *params, name string) ([]newStream, error) {
	var wanted []newStream
	found, err := p.json(name, &wanted, `a list of {"name", "description"}`)
	switch {
	case err != nil:
		return nil, err
	case !found:
		_, err := p.need(name)
		return nil, err
	case len(wanted) > maxSubscribe:
		return nil, bad("%s names %d channels: at most %d at once", name, len(wanted), maxSubscribe)
	}
	return wanted, nil
}

// subscribe is POST /users/me/subscriptions.
func (s *Server) subscribe(c *call) (reply, error) {
	wanted, err := wantedStreams(c.params, "subscriptions")
	if err != nil {
		return nil, err
	}
	who, err := s.principals(c)
	if err != nil {
		return nil, err
	}
	if c.who.Role == RoleGuest && slices.ContainsFunc(who, func(a account) bool { return a.ID != c.who.ID }) {
		return nil, bad("Insufficient permission")
	}
	c.params.raw("authorization_errors_fatal") // every channel is public: there are none
	private, err := c.params.flag("invite_only", false)
	if err != nil {
		return nil, err
	}
	if private {
		return nil, bad("Private channels are not available here: leave invite_only out")
	}
	var out subscribed
	err = s.write(c.ctx, "subscription", func(ctx context.Context, tx *sql.Tx) ([]*notice, error) {
		var notices []*notice
		var err error
		out, notices, err = s.subscribeAll(ctx, tx, c.who, wanted, who)
		return notices, err
	})
	return reply{"subscribed": out.added, "already_subscribed": out.already}, err
}

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

// subscriptionObjects are the channels that a user is subscribed to.
func (s *Server) subscriptionObjects(ctx context.Context, user int64, withMembers bool) ([]map[string]any, error) {
	q := s.file.Reader()
	list, err := listStreams(ctx, q, ` WHERE s.id IN (SELECT stream_id FROM subscriptions WHERE user_id = ?)`, user)
	if err != nil {
		return nil, err
	}
	objects := make([]map[string]any, 0, len(list))
	for _, st := range list {
		var members []int64
		if withMembers {
			if members, err = subscribers(ctx, q, st.ID); err != nil {
				return nil, err
			}
		}
		objects = append(objects, subscriptionObject(st, members, withMembers))
	}
	return objects, nil
}

// getSubscriptions is GET /users/me/subscriptions.
func (s *Server) getSubscriptions(c *call) (reply, error) {
	withMembers, err := c.params.flag("include_subscribers", false)
	if err != nil {
		return nil, err
	}
	list, err := s.subscriptionObjects(c.ctx, c.who.ID, withMembers)
	return reply{"subscriptions": list}, err
}
