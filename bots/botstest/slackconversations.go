package botstest

import (
	"maps"
	"regexp"
	"slices"
	"strings"
)

// json is a conversation as Slack shows it to an app.
func (in *slackChannel) json(viewer string) answer {
	a := answer{
		"id": in.id, "created": 1700000000, "is_archived": in.archived, "is_member": in.members[viewer],
		"is_channel": in.kind == "channel", "is_im": in.kind == "im", "is_mpim": in.kind == "mpim", "is_private": in.kind != "channel",
	}
	if in.kind == "channel" {
		a["name"], a["name_normalized"] = in.name, in.name
	}
	if in.kind == "im" {
		for m := range in.members {
			if m != viewer {
				a["user"] = m
			}
		}
	}
	return a
}

func (s *Slack) conversationsList(c slackCall) (answer, string) {
	var found []any
	for _, id := range slices.Sorted(maps.Keys(s.channels)) {
		in := s.channels[id]
		if in.kind == "channel" && (!in.archived || !c.yes("exclude_archived")) {
			found = append(found, in.json(c.app.User))
		}
	}
	page, next := pageOf(found, c, 1000)
	return answer{"channels": page, "response_metadata": answer{"next_cursor": next}}, ""
}

// usersConversations are the conversations that an app is a member of.
func (s *Slack) usersConversations(c slackCall) (answer, string) {
	types := strings.Split(c.text("types"), ",")
	if c.text("types") == "" {
		types = []string{"public_channel"}
	}
	var found []any
	for _, id := range slices.Sorted(maps.Keys(s.channels)) {
		in := s.channels[id]
		kind := map[string]string{"channel": "public_channel", "im": "im", "mpim": "mpim"}[in.kind]
		if in.members[c.app.User] && slices.Contains(types, kind) && (!in.archived || !c.yes("exclude_archived")) {
			found = append(found, in.json(c.app.User))
		}
	}
	page, next := pageOf(found, c, 999)
	return answer{"channels": page, "response_metadata": answer{"next_cursor": next}}, ""
}

func (s *Slack) conversationsInfo(c slackCall) (answer, string) {
	in := s.channels[c.text("channel")]
	if in == nil || in.kind != "channel" && !in.members[c.app.User] {
		return nil, "channel_not_found"
	}
	return answer{"channel": in.json(c.app.User)}, ""
}

// readable is the conversation that a call names, when its app may read it.
func (s *Slack) readable(c slackCall) (*slackChannel, string) {
	in := s.channels[c.text("channel")]
	switch {
	case in == nil:
		return nil, "channel_not_found"
	case !in.members[c.app.User]:
		return nil, "not_in_channel"
	}
	return in, ""
}

// between tells whether a timestamp is within the bounds of a call.
func (c slackCall) between(ts string) bool {
	oldest, latest := c.text("oldest"), c.text("latest")
	if c.yes("inclusive") {
		return (oldest == "" || ts >= oldest) && (latest == "" || ts <= latest)
	}
	return (oldest == "" || ts > oldest) && (latest == "" || ts < latest)
}

func (s *Slack) conversationsHistory(c slackCall) (answer, string) {
	in, code := s.readable(c)
	if code != "" {
		return nil, code
	}
	var found []any
	for _, m := range slices.Backward(in.messages) {
		if m.thread == "" && c.between(m.ts) {
			a := m.json(c.yes("include_all_metadata"))
			maps.Copy(a, in.threadOf(m))
			found = append(found, a)
		}
	}
	return paged(found, c), ""
}

// threadOf is what the first message of a thread tells of it; nothing for any other message.
func (in *slackChannel) threadOf(root *slackMessage) answer {
	var users []string
	latest, count := "", 0
	for _, m := range in.messages {
		if m.thread != root.ts {
			continue
		}
		latest, count = m.ts, count+1
		if !slices.Contains(users, m.user) && len(users) < 5 {
			users = append(users, m.user)
		}
	}
	if count == 0 {
		return nil
	}
	return answer{
		"thread_ts": root.ts, "reply_count": count, "reply_users": users, "reply_users_count": len(users), "latest_reply": latest, "subscribed": false, "is_locked": false,
	}
}

func (s *Slack) conversationsReplies(c slackCall) (answer, string) {
	in, code := s.readable(c)
	if code != "" {
		return nil, code
	}
	root := in.message(c.text("ts"))
	if root == nil {
		return nil, "thread_not_found"
	}
	var found []any
	for _, m := range in.messages {
		// The root is always there; asked for a reply, Slack shows that alone.
		if m == root || m.thread == root.ts && c.between(m.ts) {
			a := m.json(c.yes("include_all_metadata"))
			if m == root {
				maps.Copy(a, in.threadOf(m))
			}
			found = append(found, a)
		}
	}
	return paged(found, c), ""
}

// paged is a page of messages.
func paged(found []any, c slackCall) answer {
	page, next := pageOf(found, c, 999)
	return answer{"messages": page, "has_more": next != "", "pin_count": 0, "response_metadata": answer{"next_cursor": next}}
}

func (s *Slack) conversationsJoin(c slackCall) (answer, string) {
	in := s.channels[c.text("channel")]
	switch {
	case in == nil || in.kind != "channel":
		return nil, "channel_not_found"
	case in.archived:
		return nil, "is_archived"
	}
	in.members[c.app.User] = true
	s.change()
	return answer{"channel": in.json(c.app.User)}, ""
}

var slackChannelName = regexp.MustCompile(`^[\pL0-9_-]{1,80}$`)

func (s *Slack) conversationsCreate(c slackCall) (answer, string) {
	name := c.text("name")
	if !slackChannelName.MatchString(name) || strings.ToLower(name) != name {
		return nil, "invalid_name_specials"
	}
	for _, in := range s.channels {
		if in.kind == "channel" && in.name == name {
			return nil, "name_taken"
		}
	}
	return answer{"channel": s.conversation("channel", name, c.app.User).json(c.app.User)}, ""
}

func (s *Slack) conversationsInvite(c slackCall) (answer, string) {
	in, code := s.writable(c)
	if code != "" {
		return nil, code
	}
	for user := range strings.SplitSeq(c.text("users"), ",") {
		if s.users[user] == nil {
			return nil, "user_not_found"
		}
		in.members[user] = true
	}
	s.change()
	return answer{"channel": in.json(c.app.User)}, ""
}

func (s *Slack) conversationsOpen(c slackCall) (answer, string) {
	users := strings.Split(c.text("users"), ",")
	for _, user := range users {
		if s.users[user] == nil {
			return nil, "user_not_found"
		}
	}
	in := s.direct(append(users, c.app.User)...)
	return answer{"channel": in.json(c.app.User), "no_op": false, "already_open": false}, ""
}
