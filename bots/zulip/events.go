package zulip

import (
	"context"
	"encoding/json"
	"net/http"
	"time"
)

// defaultLongPoll is how long a poll may take when the server did not say.
const defaultLongPoll = 90 * time.Second

// Event is what a queue tells. The fields in use depend on Type: "message",
// "update_message", "reaction", "realm_user", "realm"; a "heartbeat" has none.
type Event struct {
	ID             int64    `json:"id"`
	Type           string   `json:"type"`
	Op             string   `json:"op"`
	Message        *Message `json:"message"`
	Flags          []string `json:"flags"`
	LocalMessageID string   `json:"local_message_id"` // only on the queue that the message was posted with

	MessageID int64  `json:"message_id"` // update_message, reaction
	Content   string `json:"content"`    // update_message: the new content, raw
	UserID    int64  `json:"user_id"`    // reaction, update_message
	Emoji     string `json:"emoji_name"` // reaction
	Person    *User  `json:"person"`     // realm_user; only the changed fields beside the id

	Property string          `json:"property"` // realm, op "update"
	Value    json.RawMessage `json:"value"`    // realm, op "update"
	Data     json.RawMessage `json:"data"`     // realm, op "update_dict": properties with their values
}

// Events polls a queue: at once when it holds events newer than last, else the
// server holds the request until one comes or a heartbeat is due. Asking
// acknowledges everything up to last.
func (c *Client) Events(ctx context.Context, queue string, last int64, longPoll time.Duration) ([]Event, error) {
	if longPoll <= 0 {
		longPoll = defaultLongPoll
	}
	f, err := params{"queue_id": queue, "last_event_id": last}.form()
	if err != nil {
		return nil, err
	}
	var answer struct {
		Events []json.RawMessage `json:"events"`
	}
	k := call{method: http.MethodGet, path: "/events", form: f, timeout: longPoll + 10*time.Second, urgent: true}
	if err := c.do(ctx, k, &answer); err != nil {
		return nil, err
	}
	return c.events(answer.Events), nil
}

// events decodes a batch. An event that cannot be read is passed on with its id
// and type alone, so that one odd event loses none of the others.
func (c *Client) events(raw []json.RawMessage) []Event {
	events := make([]Event, 0, len(raw))
	for _, r := range raw {
		var e Event
		if err := json.Unmarshal(r, &e); err != nil {
			c.log.Warn("zulip event not understood", "error", err)
			var head struct {
				ID int64 `json:"id"`
			}
			if json.Unmarshal(r, &head) != nil {
				continue
			}
			e = Event{ID: head.ID, Type: "unknown"}
		}
		events = append(events, e)
	}
	return events
}

// DeleteQueue frees a queue.
func (c *Client) DeleteQueue(ctx context.Context, queue string) error {
	f, err := params{"queue_id": queue}.form()
	if err != nil {
		return err
	}
	return c.do(ctx, call{method: http.MethodDelete, path: "/events", form: f, urgent: true}, nil)
}
