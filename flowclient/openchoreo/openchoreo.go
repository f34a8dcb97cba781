// Package openchoreo reads and writes control-plane objects over OpenChoreo's
// REST API (version 1.2): the embedded control plane and a real OpenChoreo are
// reached by the same code.
//
// It knows nothing of what the objects mean.
package openchoreo

import (
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/hashicorp/go-retryablehttp"

	"platform.dev/platform/flowclient"
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
	if cfg.Transport == nil {
		cfg.Transport = http.DefaultTransport
	}
	if cfg.Log == nil {
		cfg.Log = slog.New(slog.DiscardHandler)
	}
	plain := &http.Client{Transport: cfg.Transport, Timeout: timeout, CheckRedirect: noRedirect}
	retrying := &retryablehttp.Client{
		HTTPClient:   plain,
		Logger:       quiet{cfg.Log},
		RetryWaitMin: 50 * time.Millisecond,
		RetryWaitMax: time.Second,
		RetryMax:     retries,
		CheckRetry:   retryablehttp.DefaultRetryPolicy,
		Backoff:      retryablehttp.DefaultBackoff,
		ErrorHandler: retryablehttp.PassthroughErrorHandler,
	}
	return &Client{
		base:      strings.TrimSuffix(base.String(), "/"),
		namespace: cfg.Namespace,
		token:     cfg.Token,
		once:      plain,
		again:     retrying.StandardClient(),
	}, nil
}

// noRedirect refuses to carry the token elsewhere.
func noRedirect(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }

// quiet logs what retries say at debug level: the last failure reaches the caller as an error.
type quiet struct{ log *slog.Logger }

func (q quiet) Error(msg string, kv ...any) { q.log.Debug(msg, kv...) }
func (q quiet) Info(msg string, kv ...any)  { q.log.Debug(msg, kv...) }
func (q quiet) Debug(msg string, kv ...any) { q.log.Debug(msg, kv...) }
func (q quiet) Warn(msg string, kv ...any)  { q.log.Debug(msg, kv...) }

// bodyLimit bounds a response; a page of 100 objects of usual size is far below it.
const bodyLimit = 32 << 20

// read reads a whole body of at most bodyLimit bytes.
func read(r io.Reader) ([]byte, error) {
	b, err := io.ReadAll(io.LimitReader(r, bodyLimit+1))
	if err != nil {
		return nil, fmt.Errorf("read answer: %w", err)
	}
	if len(b) > bodyLimit {
		return nil, errTooLarge
	}
	return b, nil
}

var errTooLarge = errors.New("the answer is larger than 32 MiB")
