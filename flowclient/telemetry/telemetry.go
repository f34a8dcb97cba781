// Package telemetry reads traces and logs over the queries of Tempo and Loki:
// the embedded observer and the real ones, directly or through a dashboard
// tool's datasource proxy, are reached by the same code.
//
// It knows nothing of what is traced or logged.
package telemetry

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/url"
	"strings"
	"time"

	"platform.dev/platform/flowclient"
	"platform.dev/platform/flowclient/outgoing"
)

const (
	timeout = 30 * time.Second // of one exchange, its body included
	retries = 2                // after a failure of the network or a 5xx
)

// Config says where traces and logs are asked for, and as whom.
type Config struct {
	Tempo string // base address: what stands before /api/traces; a path is kept
	Loki  string // base address: what stands before /loki/api/v1; a path is kept
	// User and Password are sent as Basic credentials, Token as a bearer token; at most one of the two.
	User, Password string
	Token          string
	Tenant         string            // X-Scope-OrgID of a store with tenants; "" sends none
	Transport      http.RoundTripper // nil: http.DefaultTransport
	Log            *slog.Logger      // nil: silent
}

// Client is a flowclient.Telemetry. It may be used by many goroutines at once.
type Client struct {
	cfg  Config
	http *http.Client
}

var _ flowclient.Telemetry = (*Client)(nil)

// New checks the configuration; it connects to nothing. A malformed field is a *flowclient.Invalid.
func New(cfg Config) (*Client, error) {
	for field, base := range map[string]*string{"Tempo": &cfg.Tempo, "Loki": &cfg.Loki} {
		u, err := url.Parse(*base)
		if err != nil || (u.Scheme != "http" && u.Scheme != "https") || u.Host == "" || u.RawQuery != "" || u.User != nil {
			return nil, &flowclient.Invalid{Field: field, Value: *base, Why: "must be an http or https address such as http://127.0.0.1:11080, without credentials"}
		}
		*base = strings.TrimSuffix(u.String(), "/")
	}
	if cfg.User != "" && cfg.Token != "" {
		return nil, &flowclient.Invalid{Field: "Token", Why: "must not be given with User: one of the two is sent"}
	}
	asking := outgoing.Client(outgoing.Config{Transport: cfg.Transport, Timeout: timeout, Retries: retries, Log: cfg.Log})
	return &Client{cfg: cfg, http: outgoing.Standard(asking)}, nil
}

// errMissing is an answer of 404.
var errMissing = errors.New("not found")

// ask GETs address and decodes the answer into out. part is how errors name the store.
func (c *Client) ask(ctx context.Context, part, address string, out any) error {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
	if err != nil {
		return &flowclient.Upstream{Part: part, Err: err}
	}
	req.Header.Set("Accept", "application/json")
	switch {
	case c.cfg.Token != "":
		req.Header.Set("Authorization", "Bearer "+c.cfg.Token)
	case c.cfg.User != "":
		req.SetBasicAuth(c.cfg.User, c.cfg.Password)
	}
	if c.cfg.Tenant != "" {
		req.Header.Set("X-Scope-OrgID", c.cfg.Tenant)
	}
	resp, err := c.http.Do(req)
	if err != nil {
		return &flowclient.Upstream{Part: part, Err: err}
	}
	defer resp.Body.Close()
	body, err := outgoing.Read(resp.Body)
	switch {
	case err != nil:
		return &flowclient.Upstream{Part: part, Err: err}
	case resp.StatusCode == http.StatusNotFound:
		return errMissing
	case resp.StatusCode == http.StatusBadRequest:
		return &flowclient.Invalid{Field: "query", Value: req.URL.RequestURI(), Why: said(body)}
	case resp.StatusCode != http.StatusOK:
		return &flowclient.Upstream{Part: part, Err: fmt.Errorf("status %d: %s", resp.StatusCode, said(body))}
	}
	if err := json.Unmarshal(body, out); err != nil {
		return &flowclient.Upstream{Part: part, Err: fmt.Errorf("decode answer: %w", err)}
	}
	return nil
}

// said is the beginning of an error's body: both products answer a line of text, proxies a page.
func said(body []byte) string {
	const limit = 300
	text := strings.Join(strings.Fields(string(body[:min(len(body), limit)])), " ")
	return strings.ToValidUTF8(text, "")
}
