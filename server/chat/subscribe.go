package chat

import (
	"context"
	"database/sql"
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
