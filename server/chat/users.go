package chat

import (
	"fmt"
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
