package zulip

import (
	"context"
	"encoding/json"
	"net/http"
	"slices"
	"strconv"
	"time"
)

// Message is a message as the server keeps it, its content raw Markdown.
type Message struct {
	ID         int64           `json:"id"`
	Type       string          `json:"type"` // "stream", "private"
	StreamID   int64           `json:"stream_id"`
	Display    json.RawMessage `json:"display_recipient"` // a channel's name, or a list of people
	Topic      string          `json:"subject"`
	SenderID   int64           `json:"sender_id"`
	SenderName string          `json:"sender_full_name"`
	Content    string          `json:"content"`
	Timestamp  int64           `json:"timestamp"` // Unix seconds
	Flags      []string        `json:"flags"`     // the reader's own; in events they stand beside the message
	Reactions  []Reaction      `json:"reactions"`
	LastEdit   int64           `json:"last_edit_timestamp"`
	History    []Edit          `json:"edit_history"` // newest first
}

// Reaction is an emoji that somebody put on a message.
type Reaction struct {
	Emoji  string `json:"emoji_name"`
	UserID int64  `json:"user_id"`
}

// Edit is one change of a message. PrevContent is nil when only the topic or channel changed.
type Edit struct {
	Timestamp   int64   `json:"timestamp"`
	PrevContent *string `json:"prev_content"`
}

// At is when the message was written.
func (m Message) At() time.Time { return time.Unix(m.Timestamp, 0).UTC() }

// Stream is the channel's name; empty for a direct message.
func (m Message) Stream() string {
	var name string
	if m.Type != "stream" || json.Unmarshal(m.Display, &name) != nil {
		return ""
	}
	return name
}

// Recipients are the user ids of a direct message's participants, the sender included, ascending; nil for a channel's message.
func (m Message) Recipients() []int64 {
	var people []struct {
		ID int64 `json:"id"`
	}
	if m.Type == "stream" || json.Unmarshal(m.Display, &people) != nil {
		return nil
	}
	ids := make([]int64, 0, len(people))
	for _, p := range people {
		ids = append(ids, p.ID)
	}
	slices.Sort(ids)
	return ids
}

// Term is one condition of a narrow: Operator "is", "channel", "topic", "dm", "sender"; Operand a string, an id, or a list of ids.
type Term struct {
	Operator string `json:"operator"`
	Operand  any    `json:"operand"`
}

// Query asks for messages around Anchor: an id, "newest" or "oldest". The anchor itself is left out.
type Query struct {
	Anchor        string
	Before, After int // how many at most; the server refuses more than 5000
	Narrow        []Term
}

// Page is what a Query found, ascending by id.
type Page struct {
	Messages    []Message `json:"messages"`
	FoundNewest bool      `json:"found_newest"`
	FoundOldest bool      `json:"found_oldest"`
}

// Messages reads messages with their raw content.
func (c *Client) Messages(ctx context.Context, q Query) (Page, error) {
	if q.Narrow == nil {
		q.Narrow = []Term{}
	}
	f, err := params{
		"anchor": q.Anchor, "num_before": q.Before, "num_after": q.After, "narrow": q.Narrow,
		"apply_markdown": false, "client_gravatar": true, "include_anchor": q.Anchor == "newest" || q.Anchor == "oldest",
	}.form()
	if err != nil {
		return Page{}, err
	}
	var page Page
	err = c.do(ctx, call{method: http.MethodGet, path: "/messages", form: f, repeatable: true}, &page)
	return page, err
}

// Message reads one message with its raw content.
func (c *Client) Message(ctx context.Context, id int64) (Message, error) {
	f, err := params{"apply_markdown": false}.form()
	if err != nil {
		return Message{}, err
	}
	var answer struct {
		Message Message `json:"message"`
	}
	err = c.do(ctx, call{method: http.MethodGet, path: "/messages/" + strconv.FormatInt(id, 10), form: f, repeatable: true}, &answer)
	return answer.Message, err
}

// Post is a message to post: to a Stream and Topic, or directly to people (user ids).
type Post struct {
	Stream, Topic string
	Direct        []int64
	Content       string
	QueueID       string // with LocalID: the queue whose event tells that the message arrived
	LocalID       string
}

// Post posts a message and returns its id. It is not idempotent: when the
// answer is lost, look for the message before posting again.
func (c *Client) Post(ctx context.Context, p Post) (int64, error) {
	all := params{"content": p.Content, "type": "stream", "to": streamOperand(p.Stream), "topic": p.Topic}
	if len(p.Direct) > 0 {
		all = params{"content": p.Content, "type": "direct", "to": p.Direct}
	}
	if p.QueueID != "" {
		all["queue_id"], all["local_id"] = p.QueueID, p.LocalID
	}
	f, err := all.form()
	if err != nil {
		return 0, err
	}
	var answer struct {
		ID int64 `json:"id"`
	}
	err = c.do(ctx, call{method: http.MethodPost, path: "/messages", form: f}, &answer)
	return answer.ID, err
}

// streamOperand names a channel. The server reads the parameter as JSON where
// it can, so that a channel named "123" or "true" must be quoted.
func streamOperand(name string) any {
	if !json.Valid([]byte(name)) {
		return name
	}
	quoted, err := json.Marshal(name)
	if err != nil {
		return name
	}
	return string(quoted)
}

// Patch replaces a message's content.
func (c *Client) Patch(ctx context.Context, id int64, content string) error {
	f, err := params{"content": content}.form()
	if err != nil {
		return err
	}
	return c.do(ctx, call{method: http.MethodPatch, path: "/messages/" + strconv.FormatInt(id, 10), form: f, repeatable: true}, nil)
}
