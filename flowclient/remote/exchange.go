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

// exchange sends one request and decodes its answer; what is no success comes
// back as the error that the controller meant.
func (c *Client) exchange(ctx context.Context, via *retryablehttp.Client, method, path, query string, header http.Header, body, answer any) error {
	var content any // stays nil without a body: a typed nil would be one
	if body != nil {
		text, err := json.Marshal(body)
		if err != nil {
			return fmt.Errorf("%s %s: %w", method, path, err)
		}
		if len(text) > wire.MaxBody {
			return wire.ErrTooLarge
		}
		content = text
		header.Set("Content-Type", "application/json")
	}
	address := c.base + path
	if query != "" {
		address += "?" + query
	}
	req, err := retryablehttp.NewRequestWithContext(ctx, method, address, content)
	if err != nil {
		return fmt.Errorf("%s %s: %w", method, path, err)
	}
	req.Header = header
	req.Header.Set("Authorization", "Bearer "+c.token)
	req.Header.Set("Accept", "application/json")
	resp, err := via.Do(req)
	if err != nil {
		return failed(ctx, err)
	}
	defer resp.Body.Close()
	text, err := outgoing.Read(resp.Body)
	if err != nil {
		return failed(ctx, fmt.Errorf("%s %s: %w", method, path, err))
	}
	if err := wire.FromStatus(resp.StatusCode, text); err != nil {
		return err
	}
	if err := json.Unmarshal(text, answer); err != nil {
		return failed(ctx, fmt.Errorf("the answer to %s %s is not what this client reads: %w", method, path, err))
	}
	return nil
}

// failed is an exchange without an answer: the caller's own end when it has
// given up, else an *flowclient.Upstream.
func failed(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return fmt.Errorf("%s: %w", part, ctx.Err())
	}
	return &flowclient.Upstream{Part: part, Err: err}
}
