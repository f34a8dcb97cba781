package botstest

import (
	"encoding/json"
	"slices"
	"strings"
	"unicode/utf8"
)

// What Slack takes at most of one message.
const (
	slackTextLimit = 40_000 // characters of a post's text
	slackEditLimit = 4_000  // bytes of an edit's text
	slackMetaLimit = 8_192  // bytes of metadata
)

func (s *Slack) chatPostMessage(c slackCall) (answer, string) {
	in, code := s.writable(c)
	if code != "" {
		return nil, code
	}
	m := &slackMessage{user: c.app.User, bot: c.app.bot, thread: c.text("thread_ts")}
	if a, code := m.fill(c, slackTextLimit, s.cfg.Old); code != "" {
		return a, code
	}
	if m.thread != "" {
		root := in.message(m.thread)
		if root == nil {
			return nil, "cannot_reply_to_message"
		}
		if root.thread != "" {
			m.thread = root.thread // a reply to a reply is a reply to its root
		}
	}
	s.add(in, m)
	return answer{"channel": in.id, "ts": m.ts, "message": m.json(false)}, ""
}

// writable is the conversation that a call names, when its app may post there.
func (s *Slack) writable(c slackCall) (*slackChannel, string) {
	in := s.channels[c.text("channel")]
	switch {
	case in == nil:
		return nil, "channel_not_found"
	case in.archived:
		return nil, "is_archived"
	case !in.members[c.app.User]:
		return nil, "not_in_channel"
	}
	return in, ""
}

// fill takes over what a call says a message shows. Of a post the limit is counted in characters, of an edit in bytes.
func (m *slackMessage) fill(c slackCall, limit int, old bool) (answer, string) {
	text := c.text("text")
	size := utf8.RuneCountInString(text)
	if limit == slackEditLimit {
		size = len(text)
	}
	blocks, metadata := json.RawMessage(c.text("blocks")), json.RawMessage(c.text("metadata"))
	switch {
	case size > limit:
		return nil, "msg_too_long"
	case text == "" && len(blocks) == 0:
		return nil, "no_text"
	case len(metadata) > slackMetaLimit:
		return nil, "metadata_too_large"
	case len(metadata) > 0 && !json.Valid(metadata):
		return nil, "invalid_metadata_format"
	}
	if len(blocks) > 0 {
		if faults, code := checkBlocks(blocks, old); code != "" {
			return answer{"errors": faults, "response_metadata": answer{"messages": faults}}, code
		}
	}
	m.text, m.blocks = text, blocks
	if len(metadata) > 0 {
		m.metadata = metadata
	}
	return nil, ""
}

// add appends a message to a conversation and tells the apps; the lock is held.
func (s *Slack) add(in *slackChannel, m *slackMessage) {
	m.ts = s.stamp()
	m.reactions = map[string][]string{}
	in.messages = append(in.messages, m)
	in.byTS[m.ts] = m
	if m.bot != "" && s.cfg.Posted != nil {
		s.cfg.Posted(in.id, m.thread)
	}
	s.change()
	s.tell(in, m)
}

// json is a message as Slack shows it.
func (m *slackMessage) json(metadata bool) answer {
	a := answer{"type": "message", "user": m.user, "text": m.text, "ts": m.ts, "team": slackTeam}
	if m.bot != "" {
		a["bot_id"] = m.bot
	}
	if len(m.blocks) > 0 {
		a["blocks"] = m.blocks
	}
	if m.thread != "" {
		a["thread_ts"] = m.thread
	}
	if m.edits > 0 {
		a["edited"] = answer{"user": m.user, "ts": m.ts}
	}
	if metadata && len(m.metadata) > 0 {
		a["metadata"] = m.metadata
	}
	var reactions []answer
	for name, users := range m.reactions {
		reactions = append(reactions, answer{"name": name, "users": users, "count": len(users)})
	}
	if len(reactions) > 0 {
		a["reactions"] = reactions
	}
	return a
}

// own is the app's own message that a call names.
func (s *Slack) own(c slackCall, otherwise string) (*slackChannel, *slackMessage, string) {
	in := s.channels[c.text("channel")]
	if in == nil || !in.members[c.app.User] {
		return nil, nil, "channel_not_found"
	}
	m := in.message(c.text("ts"))
	switch {
	case m == nil:
		return nil, nil, "message_not_found"
	case m.user != c.app.User:
		return nil, nil, otherwise
	}
	return in, m, ""
}

func (s *Slack) chatUpdate(c slackCall) (answer, string) {
	in, m, code := s.own(c, "cant_update_message")
	if code != "" {
		return nil, code
	}
	changed := *m
	if c.text("blocks") == "" && len(m.blocks) > 0 {
		c.form.Set("blocks", string(m.blocks)) // without a word about blocks, those that are there stay
	}
	if a, code := changed.fill(c, slackEditLimit, s.cfg.Old); code != "" {
		return a, code
	}
	changed.edits++
	*m = changed
	s.change()
	return answer{"channel": in.id, "ts": m.ts, "text": m.text, "message": m.json(false)}, ""
}

func (s *Slack) chatDelete(c slackCall) (answer, string) {
	in, m, code := s.own(c, "cant_delete_message")
	if code != "" {
		return nil, code
	}
	in.messages = slices.DeleteFunc(in.messages, func(other *slackMessage) bool { return other == m })
	delete(in.byTS, m.ts)
	s.change()
	return answer{"channel": in.id, "ts": m.ts}, ""
}

func (s *Slack) chatGetPermalink(c slackCall) (answer, string) {
	in := s.channels[c.text("channel")]
	if in == nil {
		return nil, "channel_not_found"
	}
	m := in.message(c.text("message_ts"))
	if m == nil {
		return nil, "message_not_found"
	}
	link := slackDomain + "archives/" + in.id + "/p" + strings.Replace(m.ts, ".", "", 1)
	if m.thread != "" {
		link += "?thread_ts=" + m.thread + "&cid=" + in.id
	}
	return answer{"channel": in.id, "permalink": link}, ""
}

// slackEmoji are the names of emoji that Slack knows, as far as bots use them.
var slackEmoji = []string{"eyes", "white_check_mark", "no_entry", "x", "+1", "-1", "heavy_check_mark", "hourglass_flowing_sand", "question", "tada", "warning"}

func (s *Slack) reactionsAdd(c slackCall) (answer, string) {
	in, m, name, code := s.reacted(c)
	switch {
	case code != "":
		return nil, code
	case slices.Contains(m.reactions[name], c.app.User):
		return nil, "already_reacted"
	}
	s.react(in, m, c.app.User, name)
	return answer{}, ""
}

func (s *Slack) reactionsRemove(c slackCall) (answer, string) {
	_, m, name, code := s.reacted(c)
	switch {
	case code != "":
		return nil, code
	case !slices.Contains(m.reactions[name], c.app.User):
		return nil, "no_reaction"
	}
	m.reactions[name] = slices.DeleteFunc(m.reactions[name], func(u string) bool { return u == c.app.User })
	if len(m.reactions[name]) == 0 {
		delete(m.reactions, name)
	}
	s.change()
	return answer{}, ""
}

// reacted is the message and the emoji that a call names.
func (s *Slack) reacted(c slackCall) (*slackChannel, *slackMessage, string, string) {
	in := s.channels[c.text("channel")]
	if in == nil {
		return nil, nil, "", "channel_not_found"
	}
	m, name := in.message(c.text("timestamp")), c.text("name")
	switch {
	case m == nil:
		return nil, nil, "", "message_not_found"
	case !slices.Contains(slackEmoji, name):
		return nil, nil, "", "invalid_name"
	}
	return in, m, name, ""
}

// react puts somebody's reaction on a message and tells the apps; the lock is held.
func (s *Slack) react(in *slackChannel, m *slackMessage, user, name string) {
	m.reactions[name] = append(m.reactions[name], user)
	s.change()
	s.tellReaction(in, m, user, name)
}
