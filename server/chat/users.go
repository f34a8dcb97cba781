package chat

import (
	"fmt"
	"strconv"
	"strings"
	"time"
)

// userObject is an account as the API shows it to others.
func (s *Server) userObject(a account) map[string]any {
	u := map[string]any{
		"user_id": a.ID, "email": a.Email, "delivery_email": a.Email, "full_name": a.FullName,
		"date_joined": time.Unix(a.Joined, 0).UTC().Format(time.RFC3339),
		"is_active":   true, "is_bot": a.Bot, "role": a.Role,
		"is_owner": a.Role <= RoleOwner, "is_admin": a.Role <= RoleAdmin, "is_guest": a.Role == RoleGuest,
		"is_billing_admin": false, "bot_type": nil, "bot_owner_id": nil,
		"timezone": "", "avatar_url": s.avatarURL(a.ID), "avatar_version": 1,
	}
	if a.Bot {
		u["bot_type"] = 1 // a generic bot
	} else {
		u["profile_data"] = map[string]any{}
	}
	return u
}

// avatarURL is the address of an account's picture on this server.
func (s *Server) avatarURL(id int64) string { return fmt.Sprintf("%s/avatar/%d", s.cfg.URL, id) }

// members is every account as the API lists them.
func (s *Server) members() []map[string]any {
	people := s.people.all()
	list := make([]map[string]any, 0, len(people))
	for _, a := range people {
		list = append(list, s.userObject(a))
	}
	return list
}

// getUsers is GET /users.
func (s *Server) getUsers(c *call) (reply, error) {
	c.params.raw("client_gravatar")
	c.params.raw("include_custom_profile_fields")
	return reply{"members": s.members()}, nil
}

// getUser is GET /users/{user}: by id, or by email address.
func (s *Server) getUser(c *call) (reply, error) {
	c.params.raw("client_gravatar")
	c.params.raw("include_custom_profile_fields")
	name := c.path("user")
	var a account
	var found bool
	if id, err := strconv.ParseInt(name, 10, 64); err == nil {
		a, found = s.people.byID(id)
	} else if strings.Contains(name, "@") {
		a, found = s.people.byEmail(name)
	}
	if !found {
		return nil, bad("No such user")
	}
	return reply{"user": s.userObject(a)}, nil
}

// resolveUser is the account that a JSON number or string names, by id or email address.
func (s *Server) resolveUser(who any) (account, error) {
	switch v := who.(type) {
	case float64:
		if a, ok := s.people.byID(int64(v)); ok && v == float64(int64(v)) {
			return a, nil
		}
		return account{}, bad("Invalid user ID %v", v)
	case string:
		if a, ok := s.people.byEmail(strings.TrimSpace(v)); ok {
			return a, nil
		}
		return account{}, bad("Invalid email '%s'", v)
	default:
		return account{}, bad("Invalid data type for recipients")
	}
}

// postPresence is POST /users/me/presence: accepted, since clients insist on sending it; nothing is kept.
func (s *Server) postPresence(c *call) (reply, error) {
	status, err := c.params.need("status")
	if err != nil {
		return nil, err
	}
	if status != "active" && status != "idle" {
		return nil, bad("Invalid status: %s", status)
	}
	for _, name := range []string{"last_update_id", "history_limit_days", "new_user_input", "ping_only", "slim_presence"} {
		c.params.raw(name)
	}
	now := float64(s.cfg.Now().UnixMilli()) / 1000
	return reply{"server_timestamp": now, "presences": map[string]any{}, "presence_last_update_id": -1}, nil
}

// postTyping is POST /typing: accepted and told to nobody.
func (s *Server) postTyping(c *call) (reply, error) {
	op, err := c.params.need("op")
	if err != nil {
		return nil, err
	}
	if op != "start" && op != "stop" {
		return nil, bad("Invalid op: %s", op)
	}
	for _, name := range []string{"type", "to", "topic", "stream_id"} {
		c.params.raw(name)
	}
	return reply{}, nil
}
