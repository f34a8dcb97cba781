// Package remote is a flow controller that runs elsewhere, as the one in this
// process would be called: the roles of package flowclient over the flow
// endpoints. Errors come back as the types that went in. A read is tried again
// when it fails; so is a write, whose origin key makes it have one effect
// however often it arrives.
//
// It knows nothing of how anything is decided, and of the endpoints only what
// package wire says.
package remote

import (
	"log/slog"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/hashicorp/go-retryablehttp"

	"platform.dev/platform/flowclient"
	"platform.dev/platform/flowclient/outgoing"
)

const (
	// part is how errors name the controller.
	part = "flow controller"
	// readTimeout and writeTimeout are how long one exchange may take, its body
	// included: a teardown waits until everything is gone.
	readTimeout  = 30 * time.Second
	writeTimeout = 5 * time.Minute
	// retries is how often a request is tried again after a failure of the network or a 5xx.
	retries = 3
)

// Config says which controller, and as whom.
type Config struct {
	BaseURL   string            // "http://127.0.0.1:8090", without a path
	Token     string            // bearer token
	Actor     string            // who asks where a request's origin names nobody; "": such a request is *flowclient.Invalid
	Transport http.RoundTripper // nil: http.DefaultTransport
	Log       *slog.Logger      // nil: silent
}

// Client is a flowclient.Flow. It may be used by many goroutines at once.
type Client struct {
	base, token, actor string
	reads, writes      *retryablehttp.Client
	delivery           lastDelivery
}

var _ flowclient.Flow = (*Client)(nil)

// New checks the configuration; it connects to nothing. A missing or malformed
// field is a *flowclient.Invalid.
func New(cfg Config) (*Client, error) {
	base, err := url.Parse(cfg.BaseURL)
	if err != nil || base.Scheme != "http" && base.Scheme != "https" || base.Host == "" || base.RawQuery != "" || base.User != nil {
		return nil, &flowclient.Invalid{Field: "BaseURL", Value: base.Redacted(), Why: "must be an http or https address such as http://127.0.0.1:8090"}
	}
	if strings.TrimSpace(cfg.Token) == "" || strings.ContainsFunc(cfg.Token, func(r rune) bool { return r <= ' ' || r >= 0x7f }) {
		return nil, &flowclient.Invalid{Field: "Token", Why: "must be a token: printable characters without spaces"}
	}
	asking := func(timeout time.Duration) *retryablehttp.Client {
		return outgoing.Client(outgoing.Config{Transport: cfg.Transport, Timeout: timeout, Retries: retries, Log: cfg.Log})
	}
	return &Client{
		base: strings.TrimSuffix(base.String(), "/"), token: cfg.Token, actor: cfg.Actor,
		reads: asking(readTimeout), writes: asking(writeTimeout),
	}, nil
}
