package chat

import (
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// message is a message as the file has it.
type message struct {
	ID, Recipient    int64
	StreamID         int64  // 0 for a direct message
	StreamName       string // of a channel message
	Members          []int64
	SenderID         int64
	Topic            string
	Content, HTML    string
	Client           string
	Origin           string // of a message that is being sent
	Sent, Edited     int64  // unix seconds; Edited 0 when never
	Flags            int    // of the reader's copy
	Copied           bool   // the reader has a copy; without one it is history
	reactions, edits []map[string]any
}

// messageColumns are what loadMessages reads; the argument is the reader's id.
const messageColumns = `SELECT m.id, m.recipient_id, coalesce(r.stream_id, 0), coalesce(s.name, ''), coalesce(r.members, ''),
	m.sender_id, m.topic, m.content, m.html, m.client, m.sent_at, m.edited_at, coalesce(c.flags, 0), c.flags IS NOT NULL
	FROM messages m JOIN recipients r ON r.id = m.recipient_id
	LEFT JOIN streams s ON s.id = r.stream_id
	LEFT JOIN copies c ON c.message_id = m.id AND c.user_id = ?`

// loadMessages reads messages by id as the reader has them, with reactions and edits.
func loadMessages(ctx context.Context, q querier, reader int64, list []int64) ([]message, error) {
	if len(list) == 0 {
		return nil, nil
	}
	in, err := json.Marshal(list)
	if err != nil {
		return nil, err
	}
	var out []message
	at := map[int64]int{}
	err = eachRow(ctx, q, func(scan func(...any) error) error {
		var m message
		var members string
		err := scan(&m.ID, &m.Recipient, &m.StreamID, &m.StreamName, &members, &m.SenderID, &m.Topic,
			&m.Content, &m.HTML, &m.Client, &m.Sent, &m.Edited, &m.Flags, &m.Copied)
		m.Members = parseMembers(members)
		at[m.ID] = len(out)
		out = append(out, m)
		return err
	}, messageColumns+` WHERE m.id IN (SELECT value FROM json_each(?)) ORDER BY m.id`, reader, string(in))
	if err != nil {
		return nil, fmt.Errorf("read messages: %w", err)
	}
	err = eachRow(ctx, q, func(scan func(...any) error) error {
		var id, user int64
		var code, name string
		if err := scan(&id, &user, &code, &name); err != nil {
			return err
		}
		m := &out[at[id]]
		m.reactions = append(m.reactions, map[string]any{"user_id": user, "emoji_code": code, "emoji_name": name, "reaction_type": unicodeEmoji})
		return nil
	}, `SELECT message_id, user_id, emoji_code, emoji_name FROM reactions
		WHERE message_id IN (SELECT value FROM json_each(?)) ORDER BY message_id, position`, string(in))
	if err != nil {
		return nil, fmt.Errorf("read reactions: %w", err)
	}
	return out, loadEdits(ctx, q, string(in), func(id int64, edit map[string]any) {
		m := &out[at[id]]
		m.edits = append(m.edits, edit)
	})
}

// loadEdits visits the edits of messages, newest first, as the API's edit_history has them.
func loadEdits(ctx context.Context, q querier, in string, visit func(id int64, edit map[string]any)) error {
	return eachRow(ctx, q, func(scan func(...any) error) error {
		var id, user, when int64
		var content, html, prevTopic, topic sql.NullString
		if err := scan(&id, &user, &when, &content, &html, &prevTopic, &topic); err != nil {
			return err
		}
		edit := map[string]any{"user_id": user, "timestamp": when}
		if content.Valid {
			edit["prev_content"], edit["prev_rendered_content"] = content.String, html.String
		}
		if prevTopic.Valid {
			edit["prev_topic"], edit["topic"] = prevTopic.String, topic.String
		}
		visit(id, edit)
		return nil
	}, `SELECT message_id, user_id, edited_at, prev_content, prev_html, prev_topic, topic FROM edits
		WHERE message_id IN (SELECT value FROM json_each(?)) ORDER BY id DESC`, in)
}

// parseMembers reads the column recipients.members.
func parseMembers(key string) []int64 {
	var ids []int64
	for part := range strings.SplitSeq(key, ",") {
		if id, err := strconv.ParseInt(part, 10, 64); err == nil {
			ids = append(ids, id)
		}
	}
	return ids
}

// visible tells whether a reader may see a message: channels are public, and a
// direct conversation is its members'.
func (m message) visible(reader int64) bool {
	if m.StreamID != 0 {
		return true
	}
	return slices.Contains(m.Members, reader)
}

// findMessage is a message that the reader may see; otherwise the API's error, which does not tell whether it exists.
func findMessage(ctx context.Context, q querier, reader, id int64) (message, error) {
	list, err := loadMessages(ctx, q, reader, []int64{id})
	if err != nil {
		return message{}, err
	}
	if len(list) == 0 || !list[0].visible(reader) {
		return message{}, bad("Invalid message(s)")
	}
	return list[0], nil
}

// lastMessage is the highest message id, 0 without messages.
func lastMessage(ctx context.Context, q querier) (int64, error) {
	var id int64
	err := q.QueryRowContext(ctx, `SELECT coalesce(max(id), 0) FROM messages`).Scan(&id)
	return id, err
}

// messageObject is a message as the API writes it, content rendered or raw.
func (s *Server) messageObject(m message, rendered bool) map[string]any {
	sender, _ := s.people.byID(m.SenderID)
	o := map[string]any{
		"id": m.ID, "sender_id": m.SenderID, "sender_email": sender.Email, "sender_full_name": sender.FullName,
		"sender_realm_str": fold(s.cfg.Realm), "recipient_id": m.Recipient, "timestamp": m.Sent, "client": m.Client,
		"subject": m.Topic, "topic_links": []any{}, "submessages": []any{}, "reactions": []any{},
		"is_me_message": isMe(m.Content), "avatar_url": nil, "content": m.Content, "content_type": "text/x-markdown",
	}
	if rendered {
		o["content"], o["content_type"] = m.HTML, "text/html"
	}
	if m.reactions != nil {
		o["reactions"] = m.reactions
	}
	if m.Edited != 0 {
		o["last_edit_timestamp"] = m.Edited
		o["edit_history"] = m.edits
	}
	if m.StreamID != 0 {
		o["type"], o["stream_id"], o["display_recipient"] = "stream", m.StreamID, m.StreamName
		return o
	}
	people := make([]map[string]any, 0, len(m.Members))
	for _, id := range m.Members {
		a, _ := s.people.byID(id)
		people = append(people, map[string]any{"id": id, "email": a.Email, "full_name": a.FullName, "is_mirror_dummy": false})
	}
	o["type"], o["display_recipient"] = "private", people
	return o
}

// readerObject is messageObject with the reader's flags.
func (s *Server) readerObject(m message, rendered bool) map[string]any {
	o := s.messageObject(m, rendered)
	flags := []string{"read", "historical"} // from before the reader came
	if m.Copied {
		flags = flagNames(m.Flags)
	}
	o["flags"] = flags
	return o
}
