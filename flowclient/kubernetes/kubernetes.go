// Package kubernetes reads the quotas of cells over the data plane's Kubernetes
// API (core v1): the embedded runtime and a real cluster are reached by the
// same code.
//
// It knows nothing of what a quota is compared with.
package kubernetes

import (
	"bytes"
	"cmp"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/url"
	"os"
	"strings"
	"time"

	"platform.dev/platform/flowclient"
	"platform.dev/platform/flowclient/outgoing"
)

const (
	// part is how errors name the server.
	part = "data plane"
	// timeout is how long one exchange may take, its body included.
	timeout = 15 * time.Second
	// retries is how often a read is tried again after a failure of the network, a 429 or a 5xx.
	retries = 2
	// pageSize is how many quotas are asked for at once unless Config says otherwise: what kubectl asks for.
	pageSize = 500
	// mostToken is the largest token file that is read, in bytes.
	mostToken = 64 << 10
)

// Config says which API server, and as whom.
type Config struct {
	BaseURL   string            // "https://127.0.0.1:6550"; a path is kept
	TokenFile string            // holds the bearer token; read for each request, since a cluster replaces it; "" sends none
	Token     string            // bearer token, where it stands in no file
	CAFile    string            // certificates, PEM, that the server's is signed by; "": the machine's
	PageSize  int               // quotas asked for at once; 0: 500
	Transport http.RoundTripper // nil: one of its own, with the certificates of CAFile; given with CAFile it is an error
	Log       *slog.Logger      // nil: silent
}

// Client is a flowclient.Cells. It may be used by many goroutines at once.
type Client struct {
	cfg  Config
	http *http.Client
}

var _ flowclient.Cells = (*Client)(nil)

// New checks the configuration and reads CAFile; it connects to nothing. A
// missing or malformed field is a *flowclient.Invalid.
func New(cfg Config) (*Client, error) {
	base, err := url.Parse(cfg.BaseURL)
	if err != nil || (base.Scheme != "http" && base.Scheme != "https") || base.Host == "" || base.RawQuery != "" || base.Fragment != "" || base.User != nil {
		return nil, &flowclient.Invalid{Field: "BaseURL", Value: redacted(base), Why: "must be an http or https address such as https://127.0.0.1:6550, without credentials"}
	}
	cfg.BaseURL = strings.TrimSuffix(base.String(), "/")
	switch {
	case cfg.Token != "" && cfg.TokenFile != "":
		return nil, &flowclient.Invalid{Field: "Token", Why: "must not be given with TokenFile: one of the two is sent"}
	case cfg.CAFile != "" && cfg.Transport != nil:
		return nil, &flowclient.Invalid{Field: "CAFile", Value: cfg.CAFile, Why: "must not be given with Transport, which has certificates of its own"}
	case cfg.CAFile != "" && base.Scheme != "https":
		return nil, &flowclient.Invalid{Field: "CAFile", Value: cfg.CAFile, Why: "needs an https address"}
	}
	cfg.PageSize = cmp.Or(cfg.PageSize, pageSize)
	if cfg.CAFile != "" {
		if cfg.Transport, err = trusting(cfg.CAFile); err != nil {
			return nil, err
		}
	}
	asking := outgoing.Client(outgoing.Config{Transport: cfg.Transport, Timeout: timeout, Retries: retries, Log: cfg.Log})
	return &Client{cfg: cfg, http: outgoing.Standard(asking)}, nil
}

// redacted is an address as an error may show it.
func redacted(u *url.URL) string {
	if u == nil {
		return ""
	}
	return u.Redacted()
}

// trusting is a transport for servers whose certificates are signed by those of a file.
func trusting(file string) (http.RoundTripper, error) {
	pem, err := os.ReadFile(file)
	if err != nil {
		return nil, fmt.Errorf("certificates of the data plane: %w", err)
	}
	pool := x509.NewCertPool()
	if !pool.AppendCertsFromPEM(pem) {
		return nil, &flowclient.Invalid{Field: "CAFile", Value: file, Why: "holds no certificate in PEM"}
	}
	t := &http.Transport{
		Proxy: http.ProxyFromEnvironment, ForceAttemptHTTP2: true,
		MaxIdleConnsPerHost: 8, IdleConnTimeout: time.Minute, TLSHandshakeTimeout: timeout,
		TLSClientConfig: &tls.Config{RootCAs: pool, MinVersion: tls.VersionTLS12},
	}
	return t, nil
}

// token is what is sent, "" for none.
func (c *Client) token() (string, error) {
	if c.cfg.TokenFile == "" {
		return c.cfg.Token, nil
	}
	text, err := os.ReadFile(c.cfg.TokenFile)
	switch text = bytes.TrimSpace(text); {
	case err != nil:
		return "", fmt.Errorf("token: %w", err)
	case len(text) == 0 || len(text) > mostToken || bytes.ContainsAny(text, "\r\n"):
		return "", fmt.Errorf("token: %s does not hold one line", c.cfg.TokenFile)
	}
	return string(text), nil
}

// errGone is an answer of 410: the list has changed too much to go on where it was left.
var errGone = errors.New("the list has changed meanwhile")

// get GETs a path with a query and decodes the answer into out; errors are
// *flowclient.Upstream, or of kind errGone.
func (c *Client) get(ctx context.Context, path string, query url.Values, out any) error {
	fail := func(err error) error { return &flowclient.Upstream{Part: part, Err: err} }
	token, err := c.token()
	if err != nil {
		return fail(err)
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, c.cfg.BaseURL+path+"?"+query.Encode(), http.NoBody)
	if err != nil {
		return fail(err)
	}
	req.Header.Set("Accept", "application/json")
	if token != "" {
		req.Header.Set("Authorization", "Bearer "+token)
	}
	resp, err := c.http.Do(req)
	if err != nil {
		return fail(err)
	}
	defer resp.Body.Close()
	body, err := outgoing.Read(resp.Body)
	switch {
	case err != nil:
		return fail(err)
	case resp.StatusCode == http.StatusGone:
		return errGone
	case resp.StatusCode != http.StatusOK:
		return fail(fmt.Errorf("GET %s: status %d: %s", path, resp.StatusCode, said(body)))
	}
	if err := json.Unmarshal(body, out); err != nil {
		return fail(fmt.Errorf("GET %s: decode answer: %w", path, err))
	}
	return nil
}

// said is what an answer that is no success tells: the message of a Status, or
// the beginning of whatever a proxy said.
func said(body []byte) string {
	const limit = 300
	var status struct {
		Kind    string `json:"kind"`
		Message string `json:"message"`
	}
	text := string(body)
	if json.Unmarshal(body, &status) == nil && status.Kind == "Status" && status.Message != "" {
		text = status.Message
	}
	text = strings.Join(strings.Fields(text[:min(len(text), limit)]), " ")
	return strings.ToValidUTF8(text, "")
}
