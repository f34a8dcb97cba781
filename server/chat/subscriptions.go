package chat

import (
	"context"
	"slices"
)

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
