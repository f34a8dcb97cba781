package chat

import (
	"database/sql"
	"encoding/json"
	"errors"
	"slices"
	"strconv"
	"strings"
)

const (
	maxMessages = 5000                   // that one GET /messages may ask for
	newestID    = 10_000_000_000_000_000 // Zulip's number above every message id
)

// window is which messages around an anchor a GET /messages asks for.
type window struct {
	anchor, before, after int64
	withAnchor            bool
	firstUnread           bool
	rendered              bool
}

// getMessages is GET /messages: those around an anchor that meet a narrow, or those with given ids.
func (s *Server) getMessages(c *call) (reply, error) {
	w, err := readWindow(c.params)
	if err != nil {
		return nil, err
	}
	terms, err := readNarrowFor(c.params, s, c.who.ID)
	if err != nil {
		return nil, err
	}
	var listed []int64
	byID, err := c.params.json("message_ids", &listed, "a list of integers")
	if err != nil {
		return nil, err
	}
	cond, err := s.condition(c, terms)
	if err != nil {
		return nil, err
	}
	if byID {
		return s.listedMessages(c, cond, listed, w.rendered)
	}
	for _, name := range []string{"num_before", "num_after"} {
		if _, err := c.params.need(name); err != nil {
			return nil, err
		}
	}
	cond.own = !cond.history
	return s.around(c, w, cond)
}

// readWindow reads the anchor and the counts.
func readWindow(p *params) (window, error) {
	var w window
	var err error
	if w.before, err = p.number("num_before", 0); err != nil {
		return w, err
	}
	if w.after, err = p.number("num_after", 0); err != nil {
		return w, err
	}
	if w.before < 0 || w.after < 0 {
		return w, bad("num_before and num_after must not be negative")
	}
	if w.before > maxMessages || w.after > maxMessages || w.before+w.after > maxMessages {
		return w, bad("Too many messages requested (maximum %d).", maxMessages)
	}
	if w.withAnchor, err = p.flag("include_anchor", true); err != nil {
		return w, err
	}
	if w.rendered, err = p.flag("apply_markdown", true); err != nil {
		return w, err
	}
	if w.firstUnread, err = p.flag("use_first_unread_anchor", false); err != nil {
		return w, err
	}
	p.raw("client_gravatar")
	p.raw("allow_empty_topic_name")
	switch anchor := p.text("newest", "anchor"); anchor {
	case "newest":
		w.anchor = newestID
	case "oldest":
		w.anchor = 0
	case "first_unread":
		w.firstUnread = true
	default:
		if w.anchor, err = strconv.ParseInt(anchor, 10, 64); err != nil {
			return w, bad("Invalid anchor")
		}
		w.anchor = min(max(w.anchor, 0), newestID)
	}
	return w, nil
}

// condition is a narrow as SQL, its parts all to be met.
type condition struct {
	parts   []string
	args    []any
	history bool // it names a channel, whose whole history is open to everyone
	own     bool // only messages that the reader has a copy of
}

// and is the condition with one more part.
func (c condition) and(part string, args ...any) condition {
	c.parts, c.args = append(slices.Clip(c.parts), part), append(slices.Clip(c.args), args...)
	return c
}

// condition translates a narrow. One that names a channel reads its history;
// anything else reads the messages that the reader has a copy of.
func (s *Server) condition(c *call, terms []term) (condition, error) {
	var cond condition
	for _, t := range terms {
		part, args := t.op.where(t)
		if t.negated {
			part = "NOT " + part
		}
		cond = cond.and(part, args...)
		if (t.name == "channel" || t.name == "stream") && !t.negated {
			if err := s.checkChannel(c, t); err != nil {
				return cond, err
			}
			cond.history = true
		}
	}
	return cond, nil
}

// checkChannel refuses a narrow to a channel that is not there.
func (s *Server) checkChannel(c *call, t term) error {
	var err error
	if t.id != 0 {
		_, err = streamByID(c.ctx, s.file.Reader(), t.id)
	} else {
		_, err = streamByName(c.ctx, s.file.Reader(), t.text)
	}
	if errors.Is(err, sql.ErrNoRows) {
		return badNarrow("unknown channel")
	}
	return err
}

// pick reads ids of messages that meet a condition, in an order ("ASC", "DESC"), at most limit.
func (s *Server) pick(c *call, cond condition, order string, limit int64) ([]int64, error) {
	if limit == 0 {
		return nil, nil
	}
	from := `SELECT m.id FROM messages m JOIN recipients r ON r.id = m.recipient_id
		LEFT JOIN copies c ON c.message_id = m.id AND c.user_id = ? WHERE `
	by := `m.id `
	if cond.own { // starts from the reader's copies, which are in the order of the messages
		from = `SELECT m.id FROM copies c JOIN messages m ON m.id = c.message_id JOIN recipients r ON r.id = m.recipient_id
			WHERE c.user_id = ? AND `
		by = `c.message_id `
	}
	query := from + strings.Join(cond.parts, " AND ") + ` ORDER BY ` + by + order + ` LIMIT ?`
	return ids(c.ctx, s.file.Reader(), query, slices.Concat([]any{c.who.ID}, cond.args, []any{limit})...)
}

// around reads the messages before, at and after the anchor.
func (s *Server) around(c *call, w window, cond condition) (reply, error) {
	if w.firstUnread {
		first, err := s.pick(c, cond.and(`c.flags IS NOT NULL`).and(`c.flags & 1 = 0`), "ASC", 1)
		if err != nil {
			return nil, err
		}
		w.anchor = newestID
		if len(first) == 1 {
			w.anchor = first[0]
		}
	}
	var at []int64
	before, err := s.pick(c, cond.and(`m.id < ?`, w.anchor), "DESC", w.before)
	if err == nil && w.withAnchor {
		at, err = s.pick(c, cond.and(`m.id = ?`, w.anchor), "ASC", 1)
	}
	if err != nil {
		return nil, err
	}
	after, err := s.pick(c, cond.and(`m.id > ?`, w.anchor), "ASC", w.after)
	if err != nil {
		return nil, err
	}
	slices.Reverse(before)
	objects, err := s.readerObjects(c, slices.Concat(before, at, after), w.rendered)
	return reply{
		"messages": objects, "anchor": w.anchor, "history_limited": false, "found_anchor": len(at) == 1,
		"found_oldest": w.anchor == 0 || int64(len(before)) < w.before,
		"found_newest": w.anchor == newestID || int64(len(after)) < w.after,
	}, err
}

// listedMessages reads the messages with these ids that the reader may see and that meet the condition.
func (s *Server) listedMessages(c *call, cond condition, listed []int64, rendered bool) (reply, error) {
	if len(listed) > maxMessages {
		return nil, bad("Too many messages requested (maximum %d).", maxMessages)
	}
	in, err := json.Marshal(listed)
	if err != nil {
		return nil, err
	}
	// Every member of a direct conversation has a copy; a channel is open to all.
	cond = cond.and(`(r.stream_id IS NOT NULL OR c.flags IS NOT NULL)`).
		and(`m.id IN (SELECT value FROM json_each(?))`, string(in))
	found, err := s.pick(c, cond, "ASC", maxMessages)
	if err != nil {
		return nil, err
	}
	objects, err := s.readerObjects(c, found, rendered)
	return reply{"messages": objects, "history_limited": false}, err
}

// readerObjects are messages by id as the caller has them; never nil.
func (s *Server) readerObjects(c *call, list []int64, rendered bool) ([]map[string]any, error) {
	messages, err := loadMessages(c.ctx, s.file.Reader(), c.who.ID, list)
	objects := make([]map[string]any, 0, len(messages))
	for _, m := range messages {
		objects = append(objects, s.readerObject(m, rendered))
	}
	return objects, err
}
