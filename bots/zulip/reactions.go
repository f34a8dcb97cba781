package zulip

import (
	"context"
	"net/http"
	"strconv"
)

// React puts an emoji on a message, or takes it off. Repeating it is no error.
func (c *Client) React(ctx context.Context, id int64, emoji string, on bool) error {
	method, already := http.MethodPost, codeReacted
	if !on {
		method, already = http.MethodDelete, codeNotReacted
	}
	f, err := params{"emoji_name": emoji}.form()
	if err != nil {
		return err
	}
	err = c.do(ctx, call{method: method, path: "/messages/" + strconv.FormatInt(id, 10) + "/reactions", form: f, repeatable: true}, nil)
	if is(err, already) {
		return nil
	}
	return err
}
