package zulip

import (
	"context"
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

// Limits are what the organisation accepts. Lengths are code points.
type Limits struct {
	Message, Topic, Stream int
	// Edit is how long after posting a message may be changed; below 0 not at all, 0 for ever.
	Edit time.Duration
}

// defaultLimits are those of every Zulip server up to now; registering gives the organisation's own.
var defaultLimits = Limits{Message: 10000, Topic: 60, Stream: 60}

// Register makes an event queue. Each queue has its own event ids.
func (c *Client) Register(ctx context.Context, r RegisterRequest) (Queue, error) {
	f, err := params{
		"event_types": r.Events, "fetch_event_types": r.Fetch, "apply_markdown": false, "client_gravatar": true,
	}.form()
	if err != nil {
		return Queue{}, err
	}
	var answer struct {
		QueueID     string `json:"queue_id"`
		LastEventID int64  `json:"last_event_id"`
		LongPoll    int    `json:"event_queue_longpoll_timeout_seconds"`
		MaxMessage  int    `json:"max_message_length"`
		MaxTopic    int    `json:"max_topic_length"`
		MaxStream   int    `json:"max_stream_name_length"`
		EditLimit   *int   `json:"realm_message_content_edit_limit_seconds"`
		EditAllowed *bool  `json:"realm_allow_message_editing"`
		Users       []User `json:"realm_users"`
		Gone        []User `json:"realm_non_active_users"`
		SystemBots  []User `json:"cross_realm_bots"`
	}
	k := call{method: http.MethodPost, path: "/register", form: f}
	if err := c.do(ctx, k, &answer); err != nil {
		return Queue{}, err
	}
	q := Queue{ID: answer.QueueID, LastEventID: answer.LastEventID, LongPoll: time.Duration(answer.LongPoll) * time.Second, Limits: defaultLimits}
	for _, l := range []struct {
		to   *int
		from int
	}{{&q.Limits.Message, answer.MaxMessage}, {&q.Limits.Topic, answer.MaxTopic}, {&q.Limits.Stream, answer.MaxStream}} {
		if l.from > 0 {
			*l.to = l.from
		}
	}
	switch {
	case answer.EditAllowed != nil && !*answer.EditAllowed:
		q.Limits.Edit = -1
	case answer.EditLimit != nil:
		q.Limits.Edit = time.Duration(*answer.EditLimit) * time.Second
	}
	for _, u := range answer.SystemBots {
		u.IsBot = true
		q.Users = append(q.Users, u)
	}
	q.Users = append(append(q.Users, answer.Users...), answer.Gone...)
	return q, nil
}
