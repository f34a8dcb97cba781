package chat

import (
	"context"
	"database/sql"
	"fmt"
	"slices"
	"time"
)

// maxMoved is how many messages one change of topic may move.
const maxMoved = 10_000

// change is what an edit asks for.
type change struct {
	content *string
	html    string
	found   mentions
	topic   *string
	mode    string // which messages the topic is for: change_one, change_later, change_all
	stream  int64  // the channel that was named; 0: none
}

// editMessage is PATCH /messages/{message_id}.
func (s *Server) editMessage(c *call) (reply, error) {
	id, err := c.id("message_id", "message(s)")
	if err != nil {
		return nil, err
	}
	ch, err := s.readChange(c)
	if err != nil {
		return nil, err
	}
	err = s.write(c.ctx, "edit", func(ctx context.Context, tx *sql.Tx) ([]*notice, error) {
		m, err := findMessage(ctx, tx, c.who.ID, id)
		if err != nil {
			return nil, err
		}
		if err := s.mayChange(m, c.who, ch); err != nil {
			return nil, err
		}
		return s.applyChange(ctx, tx, m, c.who, ch)
	})
	return reply{"detached_uploads": []any{}}, err
}

// readChange reads the parameters of an edit.
func (s *Server) readChange(c *call) (change, error) {
	p := c.params
	ch := change{mode: p.text("change_one", "propagate_mode")}
	if !slices.Contains([]string{"change_one", "change_later", "change_all"}, ch.mode) {
		return ch, bad("Invalid propagate_mode: %s", ch.mode)
	}
	p.raw("send_notification_to_old_thread") // no notices are posted about moves
	p.raw("send_notification_to_new_thread")
	var err error
	if ch.stream, err = p.number("stream_id", 0); err != nil {
		return ch, err
	}
	if p.given("stream_id") && ch.stream < 1 {
		return ch, bad("Invalid channel ID")
	}
	if text, ok := p.raw("content"); ok {
		if text == "" {
			text = "(deleted)" // as Zulip keeps an emptied message
		}
		text, err := cleanContent(text, s.cfg.MaxContent)
		if err != nil {
			return ch, err
		}
		ch.content = &text
		ch.html, ch.found = s.mill.render(text, s.names(c.ctx))
	}
	if text, ok := p.raw("topic", "subject"); ok {
		text, err := cleanTopic(text)
		if err != nil {
			return ch, err
		}
		ch.topic = &text
	}
	if ch.content == nil && ch.topic == nil {
		return ch, bad("Nothing to change")
	}
	return ch, nil
}

// mayChange refuses what the account may not change, or no longer.
func (s *Server) mayChange(m message, who account, ch change) error {
	if ch.stream != 0 && ch.stream != m.StreamID { // clients that rename a topic name the channel that it is in
		return bad("Messages cannot be moved to another channel here: leave stream_id out")
	}
	moderates := who.Role <= RoleModerator
	age := s.cfg.Now().Sub(time.Unix(m.Sent, 0))
	if ch.content != nil {
		if m.SenderID != who.ID {
			return bad("You don't have permission to edit this message")
		}
		if age > editLimit+editGrace {
			return bad("The time limit for editing this message has passed")
		}
	}
	if ch.topic == nil {
		return nil
	}
	if m.StreamID == 0 {
		return bad("Direct messages cannot have topics.")
	}
	if !moderates && (m.SenderID != who.ID || ch.mode != "change_one") {
		return bad("You don't have permission to edit this message")
	}
	if !moderates && age > moveLimit+editGrace {
		return bad("The time limit for editing this message's topic has passed.")
	}
	return nil
}

// applyChange writes an edit, remembers what was before, and announces it.
func (s *Server) applyChange(ctx context.Context, tx *sql.Tx, m message, who account, ch change) ([]*notice, error) {
	now := s.unix()
	moved, err := s.move(ctx, tx, m, who, ch, now)
	if err != nil {
		return nil, err
	}
	fields := map[string]any{"user_id": who.ID, "edit_timestamp": now, "message_id": m.ID, "message_ids": moved, "rendering_only": false}
	if m.StreamID != 0 {
		fields["stream_id"], fields["stream_name"] = m.StreamID, m.StreamName
	}
	if ch.topic != nil {
		fields["orig_subject"], fields["subject"], fields["topic_links"], fields["propagate_mode"] = m.Topic, *ch.topic, []any{}, ch.mode
	}
	if ch.content != nil {
		if err := s.rewrite(ctx, tx, m, who, ch); err != nil {
			return nil, err
		}
		fields["orig_content"], fields["orig_rendered_content"] = m.Content, m.HTML
		fields["content"], fields["rendered_content"], fields["is_me_message"] = *ch.content, ch.html, isMe(*ch.content)
	}
	n := newNotice("update_message", fields)
	n.flagged = true
	n.audience, err = readersOf(ctx, tx, m)
	return []*notice{n}, err
}

// move gives the topic to the messages that the change is for and tells which
// changed; with no new topic it marks the one message as edited.
func (s *Server) move(ctx context.Context, tx *sql.Tx, m message, who account, ch change, now int64) ([]int64, error) {
	moved := []int64{m.ID}
	if ch.topic != nil && ch.mode != "change_one" {
		from := m.ID
		if ch.mode == "change_all" {
			from = 0
		}
		var err error
		moved, err = ids(ctx, tx, `SELECT id FROM messages WHERE recipient_id = ? AND topic_key = ? AND id >= ? ORDER BY id LIMIT ?`,
			m.Recipient, fold(m.Topic), from, maxMoved)
		if err != nil {
			return nil, err
		}
	}
	for _, id := range moved {
		var content, html, prevTopic, topic any
		if ch.content != nil && id == m.ID {
			content, html = m.Content, m.HTML
		}
		if ch.topic != nil {
			prevTopic, topic = m.Topic, *ch.topic
			if _, err := tx.ExecContext(ctx, `UPDATE messages SET topic = ?, topic_key = ? WHERE id = ?`, *ch.topic, fold(*ch.topic), id); err != nil {
				return nil, fmt.Errorf("move message %d: %w", id, err)
			}
		}
		_, err := tx.ExecContext(ctx, `INSERT INTO edits (message_id, user_id, edited_at, prev_content, prev_html, prev_topic, topic)
			VALUES (?, ?, ?, ?, ?, ?, ?)`, id, who.ID, now, content, html, prevTopic, topic)
		if err == nil {
			_, err = tx.ExecContext(ctx, `UPDATE messages SET edited_at = ? WHERE id = ?`, now, id)
		}
		if err != nil {
			return nil, fmt.Errorf("remember edit of %d: %w", id, err)
		}
	}
	return moved, nil
}

// rewrite writes the new content and gives the copies that exist the mention
// flags of it. It makes no new copies: an edit starts nothing.
func (s *Server) rewrite(ctx context.Context, tx *sql.Tx, m message, who account, ch change) error {
	if _, err := tx.ExecContext(ctx, `UPDATE messages SET content = ?, html = ? WHERE id = ?`, *ch.content, ch.html, m.ID); err != nil {
		return fmt.Errorf("edit message %d: %w", m.ID, err)
	}
	if ch.topic != nil {
		m.Topic = *ch.topic
	}
	wanted, err := s.copiesOf(ctx, tx, m, who, ch.found)
	if err != nil {
		return err
	}
	if _, err := tx.ExecContext(ctx, `UPDATE copies SET flags = flags & ~? WHERE message_id = ?`, flagsMentioned, m.ID); err != nil {
		return fmt.Errorf("edit message %d: %w", m.ID, err)
	}
	for user, flags := range wanted {
		if flags == 0 {
			continue
		}
		if _, err := tx.ExecContext(ctx, `UPDATE copies SET flags = flags | ? WHERE message_id = ? AND user_id = ?`, flags, m.ID, user); err != nil {
			return fmt.Errorf("edit message %d: %w", m.ID, err)
		}
	}
	return nil
}
