package remote

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"net/http"

	"github.com/hashicorp/go-retryablehttp"

	"platform.dev/platform/flowclient"
	"platform.dev/platform/flowclient/outgoing"
	"platform.dev/platform/flowclient/wire"
)

// get reads an answer.
func get[A any](ctx context.Context, c *Client, path, query string) (answer A, err error) {
	err = c.exchange(ctx, c.reads, http.MethodGet, path, query, http.Header{}, nil, &answer)
	return answer, err
}

// send makes a write under its origin: whoever is not named there is the
// client's actor. body is nil where the query says everything.
func send[A any](ctx context.Context, c *Client, method, path, query string, o flowclient.Origin, body any) (answer A, err error) {
	o.Who = cmp.Or(o.Who, c.actor)
	if err := wire.CheckOrigin(o); err != nil {
		return answer, err
	}
	header := http.Header{}
	wire.SetOrigin(header, o)
	err = c.exchange(ctx, c.writes, method, path, query, header, body, &answer)
	return answer, err
}

// tell makes a write that has no origin, because to hear it twice is the same
// as to hear it once.
func (c *Client) tell(ctx context.Context, method, path string, body any) error {
	return c.exchange(ctx, c.writes, method, path, "", http.Header{}, body, &struct{}{})
}

// list reads a list to its end, page by page. of is what an answer holds of
// it, and the cursor of the page behind.
func list[A, T any](ctx context.Context, c *Client, path string, of func(A) (items []T, next string)) ([]T, error) {
	all, cursor := []T{}, ""
	for range maxPages {
		answer, err := get[A](ctx, c, path, wire.PageQuery(cursor))
		if err != nil {
			return nil, err
		}
		items, next := of(answer)
		if all = append(all, items...); next == "" {
			return all, nil
		}
		cursor = next
	}
	return nil, &flowclient.Upstream{Part: part, Err: fmt.Errorf("%s goes on after %d pages", path, maxPages)}
}

// maxPages is how many pages of a list are read.
const maxPages = 200

// exchange sends one request and decodes its answer; what is no success comes
// back as the error that the controller meant.
func (c *Client) exchange(ctx context.Context, via *retryablehttp.Client, method, path, query string, header http.Header, body, answer any) error {
	said, err := c.ask(ctx, via, method, path, query, header, body)
	if err != nil {
		return err
	}
	return said.decode(ctx, answer)
}

// said is what a controller answered.
type said struct {
	to     string // the request's method and path
	status int
	tag    string // ETag
	text   []byte
}

// decode reads the answer, or gives the error that it is.
func (s said) decode(ctx context.Context, answer any) error {
	if err := wire.FromStatus(s.status, s.text); err != nil {
		return err
	}
	if err := json.Unmarshal(s.text, answer); err != nil {
		return failed(ctx, fmt.Errorf("the answer to %s is not what this client reads: %w", s.to, err))
	}
	return nil
}

// ask sends one request and reads its answer, whatever it is.
func (c *Client) ask(ctx context.Context, via *retryablehttp.Client, method, path, query string, header http.Header, body any) (said, error) {
	var content any // stays nil without a body: a typed nil would be one
	if body != nil {
		sent, err := json.Marshal(body)
		if err != nil {
			return said{}, fmt.Errorf("%s %s: %w", method, path, err)
		}
		if len(sent) > wire.MaxBody {
			return said{}, wire.ErrTooLarge
		}
		content = sent
		header.Set("Content-Type", "application/json")
	}
	address := c.base + path
	if query != "" {
		address += "?" + query
	}
	req, err := retryablehttp.NewRequestWithContext(ctx, method, address, content)
	if err != nil {
		return said{}, fmt.Errorf("%s %s: %w", method, path, err)
	}
	req.Header = header
	req.Header.Set("Authorization", "Bearer "+c.token)
	req.Header.Set("Accept", "application/json")
	resp, err := via.Do(req)
	if err != nil {
		return said{}, failed(ctx, err)
	}
	defer resp.Body.Close()
	text, err := outgoing.Read(resp.Body)
	if err != nil {
		return said{}, failed(ctx, fmt.Errorf("%s %s: %w", method, path, err))
	}
	return said{method + " " + path, resp.StatusCode, resp.Header.Get("ETag"), text}, nil
}

// failed is an exchange without an answer: the caller's own end when it has
// given up, else an *flowclient.Upstream.
func failed(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return fmt.Errorf("%s: %w", part, ctx.Err())
	}
	return &flowclient.Upstream{Part: part, Err: err}
}
