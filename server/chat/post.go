package chat

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"strings"
)

// postMessage is POST /messages. The message is durable when it answers. Sent
// again with the same origin, a parameter of this server's own, it is the first.
func (s *Server) postMessage(c *call) (reply, error) {
	d, err := s.readDraft(c)
	if err != nil {
		return nil, err
	}
	// Accounts are only ever added, so that what is rendered before the write still holds in it.
	html, found := s.mill.render(d.content, s.names(c.ctx))
	var m message
	err = s.write(c.ctx, "message", func(ctx context.Context, tx *sql.Tx) ([]*notice, error) {
		if sent, err := sentBefore(ctx, tx, c.who.ID, d.origin); err != nil || sent != 0 {
			m.ID = sent
			return nil, err
		}
		m = message{Origin: d.origin, SenderID: c.who.ID, Topic: d.topic, Content: d.content, HTML: html, Client: c.params.text(c.agent, "client"), Sent: s.unix()}
		m.Client = cut(m.Client, maxClientName, "")
		if err := s.address(ctx, tx, d, &m); err != nil {
			return nil, err
		}
		copies, err := s.copiesOf(ctx, tx, m, c.who, found)
		if err != nil {
			return nil, err
		}
		if flags, ok := copies[c.who.ID]; ok && d.read {
			copies[c.who.ID] = flags | flagRead
		}
		if err := insertMessage(ctx, tx, &m, copies); err != nil {
			return nil, err
		}
		n, err := s.messageNotice(m, copies)
		if err != nil {
			return nil, err
		}
		n.post.senderQueue, n.post.localID = d.senderQueue, d.localID
		return []*notice{n}, nil
	})
	return reply{"id": m.ID}, err
}

// sentBefore is the message that a sender sent with an origin, 0 when there is none.
func sentBefore(ctx context.Context, tx *sql.Tx, sender int64, origin string) (int64, error) {
	if origin == "" {
		return 0, nil
	}
	list, err := ids(ctx, tx, `SELECT id FROM messages WHERE sender_id = ? AND origin = ?`, sender, origin)
	if err != nil || len(list) == 0 {
		return 0, err
	}
	return list[0], nil
}

// address finds or makes the place that a message goes to.
func (s *Server) address(ctx context.Context, tx *sql.Tx, d draft, m *message) error {
	if d.stream == nil {
		key := memberKey(append(slices.Clone(d.direct), m.SenderID))
		m.Members = parseMembers(key)
		err := tx.QueryRowContext(ctx, `INSERT INTO recipients (members) VALUES (?)
			ON CONFLICT (members) DO UPDATE SET members = members RETURNING id`, key).Scan(&m.Recipient)
		if err != nil {
			return fmt.Errorf("direct conversation %s: %w", key, err)
		}
		return nil
	}
	var st stream
	var err error
	switch to := d.stream.(type) {
	case float64:
		if st, err = streamByID(ctx, tx, int64(to)); errors.Is(err, sql.ErrNoRows) {
			return coded(codeNoStream, fmt.Sprintf("Channel with ID '%d' does not exist", int64(to)), "stream_id", int64(to))
		}
	case string:
		if st, err = streamByName(ctx, tx, strings.TrimSpace(to)); errors.Is(err, sql.ErrNoRows) {
			return noStream(to)
		}
	}
	m.Recipient, m.StreamID, m.StreamName = st.Recipient, st.ID, st.Name
	return err
}

// copiesOf tells who gets a copy of a message, each with its flags: the members
// of the conversation or the channel's subscribers, and bots that it mentions.
func (s *Server) copiesOf(ctx context.Context, tx *sql.Tx, m message, sender account, found mentions) (map[int64]int, error) {
	readers := m.Members
	if m.StreamID != 0 {
		var err error
		if readers, err = subscribers(ctx, tx, m.StreamID); err != nil {
			return nil, err
		}
	}
	copies := make(map[int64]int, len(readers))
	for _, id := range readers {
		copies[id] = 0
	}
	for _, id := range found.users {
		a, _ := s.people.byID(id)
		if _, reads := copies[id]; reads || m.StreamID != 0 && a.Bot {
			copies[id] |= flagMentioned
		}
	}
	if found.wide {
		if m.StreamID != 0 && len(readers) > wildcardLimit && sender.Role > RoleModerator {
			return nil, coded(codeStreamWildcard, "You do not have permission to use channel wildcard mentions in this channel.")
		}
		for _, id := range readers {
			copies[id] |= flagStreamWildcard
		}
	}
	if found.topic && m.StreamID != 0 {
		there, err := participants(ctx, tx, m)
		if err != nil {
			return nil, err
		}
		if len(there) > wildcardLimit && sender.Role > RoleModerator {
			return nil, coded(codeTopicWildcard, "You do not have permission to use topic wildcard mentions in this topic.")
		}
		for _, id := range there {
			if _, reads := copies[id]; reads {
				copies[id] |= flagTopicWildcard
			}
		}
	}
	return copies, nil
}

// participants are those who wrote or reacted in a message's topic, its sender among them.
func participants(ctx context.Context, q querier, m message) ([]int64, error) {
	return ids(ctx, q, `SELECT sender_id FROM messages WHERE recipient_id = ?1 AND topic_key = ?2
		UNION SELECT x.user_id FROM reactions x JOIN messages m ON m.id = x.message_id WHERE m.recipient_id = ?1 AND m.topic_key = ?2
		UNION SELECT ?3`, m.Recipient, fold(m.Topic), m.SenderID)
}

// insertMessage writes a message with its copies and gives it its id.
func insertMessage(ctx context.Context, tx *sql.Tx, m *message, copies map[int64]int) error {
	err := tx.QueryRowContext(ctx, `INSERT INTO messages (recipient_id, sender_id, topic, topic_key, content, html, client, sent_at, origin)
		VALUES (?, ?, ?, ?, ?, ?, ?, ?, nullif(?, '')) RETURNING id`,
		m.Recipient, m.SenderID, m.Topic, fold(m.Topic), m.Content, m.HTML, m.Client, m.Sent, m.Origin).Scan(&m.ID)
	if err != nil {
		return fmt.Errorf("insert message: %w", err)
	}
	insert, err := tx.PrepareContext(ctx, `INSERT INTO copies (user_id, message_id, flags) VALUES (?, ?, ?)`)
	if err != nil {
		return fmt.Errorf("insert copies: %w", err)
	}
	defer insert.Close()
	for user, flags := range copies {
		if _, err := insert.ExecContext(ctx, user, m.ID, flags); err != nil {
			return fmt.Errorf("insert copy for %d: %w", user, err)
		}
	}
	return nil
}

// messageNotice announces a message to those who have a copy, and to queues of all public channels.
func (s *Server) messageNotice(m message, copies map[int64]int) (*notice, error) {
	raw, err := encode(s.messageObject(m, false))
	if err != nil {
		return nil, fmt.Errorf("write message %d: %w", m.ID, err)
	}
	html, err := encode(s.messageObject(m, true))
	if err != nil {
		return nil, fmt.Errorf("write message %d: %w", m.ID, err)
	}
	n := newNotice("message", nil)
	n.audience, n.public, n.flagged = copies, m.StreamID != 0, true
	n.post = &posted{message: m, raw: raw, html: html}
	return n, nil
}
