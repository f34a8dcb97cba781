// Package openchoreo reads and writes control-plane objects over OpenChoreo's
// REST API (version 1.2): the embedded control plane and a real OpenChoreo are
// reached by the same code.
//
// It knows nothing of what the objects mean.
package openchoreo

import (
	"log/slog"
	"net/http"
	"net/url"
	"strings"
	"time"

	"platform.dev/platform/flowclient"
	"platform.dev/platform/flowclient/outgoing"
)

const (
	// part is how errors name the server.
	part = "control plane"
	// timeout is how long one exchange may take, its body included.
	timeout = 30 * time.Second
	// retries is how often a read is tried again after a failure of the network or a 5xx.
	retries = 3
)

// Config says which control plane, and as whom.
type Config struct {
	BaseURL   string            // "http://127.0.0.1:8080", without a path
	Namespace string            // "default"
	Token     string            // bearer token
	Transport http.RoundTripper // nil: http.DefaultTransport
	Log       *slog.Logger      // nil: silent
}

// Client is a flowclient.ControlPlane. It may be used by many goroutines at once.
type Client struct {
	base      string
	namespace string
	token     string
	once      *http.Client // writes: sent once
	again     *http.Client // reads: retried
}

var _ flowclient.ControlPlane = (*Client)(nil)

// New checks the configuration; it connects to nothing. A missing or malformed
// field is a *flowclient.Invalid.
func New(cfg Config) (*Client, error) {
	base, err := url.Parse(cfg.BaseURL)
	if err != nil || (base.Scheme != "http" && base.Scheme != "https") || base.Host == "" {
		return nil, &flowclient.Invalid{Field: "BaseURL", Value: cfg.BaseURL, Why: "must be an http or https address such as http://127.0.0.1:8080"}
	}
	if cfg.Namespace == "" {
		return nil, &flowclient.Invalid{Field: "Namespace", Why: "must not be empty"}
	}
	if cfg.Token == "" {
		return nil, &flowclient.Invalid{Field: "Token", Why: "must not be empty"}
	}
	asking := outgoing.Client(outgoing.Config{Transport: cfg.Transport, Timeout: timeout, Retries: retries, Log: cfg.Log})
	return &Client{
		base:      strings.TrimSuffix(base.String(), "/"),
		namespace: cfg.Namespace,
		token:     cfg.Token,
		once:      asking.HTTPClient,
		again:     outgoing.Standard(asking),
	}, nil
}
