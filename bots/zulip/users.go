package zulip

import (
	"context"
	"net/http"
	"strconv"
)

// User is an account of the organisation.
type User struct {
	ID       int64  `json:"user_id"`
	Email    string `json:"email"` // may be synthetic: authorise by ID alone
	FullName string `json:"full_name"`
	IsBot    bool   `json:"is_bot"`
	IsActive bool   `json:"is_active"`
	Role     int    `json:"role"`
}

// Me is the account that the client signs in as.
func (c *Client) Me(ctx context.Context) (User, error) {
	var u User
	err := c.do(ctx, call{method: http.MethodGet, path: "/users/me", repeatable: true}, &u)
	return u, err
}

// User is one account.
func (c *Client) User(ctx context.Context, id int64) (User, error) {
	var answer struct {
		User User `json:"user"`
	}
	err := c.do(ctx, call{method: http.MethodGet, path: "/users/" + strconv.FormatInt(id, 10), repeatable: true}, &answer)
	return answer.User, err
}

// Users are all accounts, bots and deactivated ones included.
func (c *Client) Users(ctx context.Context) ([]User, error) {
	var answer struct {
		Members []User `json:"members"`
	}
	err := c.do(ctx, call{method: http.MethodGet, path: "/users", repeatable: true}, &answer)
	return answer.Members, err
}
