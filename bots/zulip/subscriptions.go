package zulip

import (
	"context"
	"net/http"
)

// Stream is a channel that the account is subscribed to.
type Stream struct {
	ID          int64  `json:"stream_id"`
	Name        string `json:"name"`
	Description string `json:"description"`
}

// NewStream is a channel to subscribe to: it is created when it does not exist.
type NewStream struct {
	Name        string `json:"name"`
	Description string `json:"description,omitempty"` // read on creation alone
}

// Subscriptions are the channels that the account is subscribed to.
func (c *Client) Subscriptions(ctx context.Context) ([]Stream, error) {
	var answer struct {
		Subscriptions []Stream `json:"subscriptions"`
	}
	err := c.do(ctx, call{method: http.MethodGet, path: "/users/me/subscriptions", repeatable: true}, &answer)
	return answer.Subscriptions, err
}

// Subscribe subscribes principals (user ids; none: the account itself) to
// streams, creating those that do not exist. Repeating it changes nothing.
func (c *Client) Subscribe(ctx context.Context, streams []NewStream, principals ...int64) error {
	all := params{"subscriptions": streams}
	if len(principals) > 0 {
		all["principals"] = principals
	}
	f, err := all.form()
	if err != nil {
		return err
	}
	return c.do(ctx, call{method: http.MethodPost, path: "/users/me/subscriptions", form: f, repeatable: true}, nil)
}
