package zulip

import (
	"context"
	"encoding/json"
	"net/http"
	"time"
)

// RegisterRequest asks for an event queue. Fetch names the state to return
// with it: "realm" for limits, "realm_user" for accounts.
type RegisterRequest struct {
	Events []string // event types: "message", "update_message", "reaction", "realm_user"
	Fetch  []string
}

// Queue is a registered queue with the state that was fetched. Lengths are code points.
type Queue struct {
	ID          string
	LastEventID int64
	LongPoll    time.Duration // how long a poll may take
	Limits      Limits
	Users       []User // active and deactivated people and bots, the server's own bots included
}

// Register makes an event queue. Each queue has its own event ids.
func (c *Client) Register(ctx context.Context, r RegisterRequest) (Queue, error) {
	f, err := params{
		"event_types": r.Events, "fetch_event_types": r.Fetch, "apply_markdown": false, "client_gravatar": true,
	}.form()
	if err != nil {
		return Queue{}, err
	}
	var answer struct {
		QueueID     string          `json:"queue_id"`
		LastEventID int64           `json:"last_event_id"`
		LongPoll    int             `json:"event_queue_longpoll_timeout_seconds"`
		MaxMessage  *int            `json:"max_message_length"`
		MaxTopic    *int            `json:"max_topic_length"`
		MaxStream   *int            `json:"max_stream_name_length"`
		EditLimit   json.RawMessage `json:"realm_message_content_edit_limit_seconds"`
		EditAllowed *bool           `json:"realm_allow_message_editing"`
		Users       []User          `json:"realm_users"`
		Gone        []User          `json:"realm_non_active_users"`
		SystemBots  []User          `json:"cross_realm_bots"`
	}
	k := call{method: http.MethodPost, path: "/register", form: f}
	if err := c.do(ctx, k, &answer); err != nil {
		return Queue{}, err
	}
	q := Queue{ID: answer.QueueID, LastEventID: answer.LastEventID, LongPoll: time.Duration(answer.LongPoll) * time.Second, Limits: defaultLimits}
	limitsChange{Message: answer.MaxMessage, Topic: answer.MaxTopic, Stream: answer.MaxStream,
		Editing: answer.EditAllowed, Seconds: answer.EditLimit}.apply(&q.Limits)
	for _, u := range answer.SystemBots {
		u.IsBot = true
		q.Users = append(q.Users, u)
	}
	q.Users = append(append(q.Users, answer.Users...), answer.Gone...)
	return q, nil
}
