package zulip

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/hashicorp/go-retryablehttp"
)

const (
	requestTimeout = 30 * time.Second
	answerLimit    = 64 << 20 // a realm's users can fill megabytes
	// userAgent must not contain "mirror": the server then suspects a loop.
	userAgent = "platform-bots/1"
)

// ClientConfig is what a Client needs. Site is the organisation's address
// without a path ("http://127.0.0.1:9991"); Email and Key are the account's.
type ClientConfig struct {
	Site, Email, Key string
	Transport        http.RoundTripper // nil: the network
	Now              func() time.Time  // nil: time.Now
	Log              *slog.Logger      // nil: nothing is logged
}

// Client speaks Zulip's REST API for one account. Every error of the server is
// an *Error. It is safe for concurrent use.
type Client struct {
	site, email, key string
	now              func() time.Time
	log              *slog.Logger
	once             *retryablehttp.Client // what must not be repeated, and long polls
	patient          *retryablehttp.Client // what may be

	mu     sync.Mutex
	silent time.Time // the server asked for silence until then
}

// NewClient checks the configuration; it makes no request.
func NewClient(cfg ClientConfig) (*Client, error) {
	u, err := url.Parse(cfg.Site)
	if err != nil || (u.Scheme != "http" && u.Scheme != "https") || u.Host == "" {
		return nil, fmt.Errorf("zulip site %q: give an address such as https://chat.example.org", cfg.Site)
	}
	if cfg.Email == "" || cfg.Key == "" {
		return nil, fmt.Errorf("zulip %s: an account needs an email and an API key", cfg.Site)
	}
	if cfg.Now == nil {
		cfg.Now = time.Now
	}
	if cfg.Log == nil {
		cfg.Log = slog.New(slog.DiscardHandler)
	}
	if cfg.Transport == nil {
		cfg.Transport = network()
	}
	plain := &http.Client{
		Transport: cfg.Transport,
		// A redirect would turn a POST into a GET; the site's true address belongs into the configuration.
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
	return &Client{
		site: strings.TrimRight(cfg.Site, "/"), email: cfg.Email, key: cfg.Key, now: cfg.Now, log: cfg.Log,
		once: retrying(plain, 0), patient: retrying(plain, 3),
	}, nil
}

// Site is the organisation's address, without a slash at its end.
func (c *Client) Site() string { return c.site }

// Close closes the idle connections.
func (c *Client) Close() { c.once.HTTPClient.CloseIdleConnections() }

// network is a transport of our own, so that closing it closes nobody else's connections.
func network() *http.Transport {
	dialer := &net.Dialer{Timeout: 10 * time.Second, KeepAlive: 30 * time.Second}
	return &http.Transport{
		Proxy:               http.ProxyFromEnvironment,
		DialContext:         dialer.DialContext,
		ForceAttemptHTTP2:   true,
		MaxIdleConnsPerHost: 8,
		IdleConnTimeout:     90 * time.Second,
		TLSHandshakeTimeout: 10 * time.Second,
	}
}

// retrying wraps plain. Only lost connections and 5xx are tried again here: a
// rate limit is for the caller, who knows what else waits.
func retrying(plain *http.Client, retries int) *retryablehttp.Client {
	return &retryablehttp.Client{
		HTTPClient:   plain,
		RetryMax:     retries,
		RetryWaitMin: 100 * time.Millisecond,
		RetryWaitMax: 2 * time.Second,
		Backoff:      retryablehttp.DefaultBackoff,
		ErrorHandler: retryablehttp.PassthroughErrorHandler,
		CheckRetry: func(ctx context.Context, resp *http.Response, err error) (bool, error) {
			if resp != nil && resp.StatusCode == http.StatusTooManyRequests {
				return false, nil
			}
			return retryablehttp.DefaultRetryPolicy(ctx, resp, err)
		},
	}
}

// call is one request. Values that are not strings are JSON (params.form).
type call struct {
	method, path string
	form         url.Values
	timeout      time.Duration // zero: requestTimeout
	repeatable   bool          // the request may be sent twice
	urgent       bool          // sent although a rate limit is known: the event poll, which has its own pause
}

// do sends a call and decodes a success into answer (nil: nothing is wanted).
func (c *Client) do(ctx context.Context, k call, answer any) error {
	if wait := c.silence(); wait > 0 && !k.urgent {
		return &LimitedError{After: wait}
	}
	if k.timeout == 0 {
		k.timeout = requestTimeout
	}
	ctx, cancel := context.WithTimeout(ctx, k.timeout)
	defer cancel()
	req, err := c.request(ctx, k)
	if err != nil {
		return err
	}
	client := c.once
	if k.repeatable {
		client = c.patient
	}
	resp, err := client.Do(req)
	if err != nil {
		return fmt.Errorf("%s %s: %w", k.method, k.path, err)
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(io.LimitReader(resp.Body, answerLimit+1))
	if err != nil {
		return fmt.Errorf("%s %s: read answer: %w", k.method, k.path, err)
	}
	if len(body) > answerLimit {
		return fmt.Errorf("%s %s: the answer is larger than %d bytes", k.method, k.path, answerLimit)
	}
	return c.decode(k, resp, body, answer)
}

// request builds the HTTP request: parameters in the query of a GET, else in a form.
func (c *Client) request(ctx context.Context, k call) (*retryablehttp.Request, error) {
	target := c.site + "/api/v1" + k.path
	var body any
	if k.method == http.MethodGet || k.method == http.MethodDelete {
		if len(k.form) > 0 {
			target += "?" + k.form.Encode()
		}
	} else {
		body = []byte(k.form.Encode()) // bytes rewind, so that a repetition sends them whole
	}
	req, err := retryablehttp.NewRequestWithContext(ctx, k.method, target, body)
	if err != nil {
		return nil, fmt.Errorf("%s %s: %w", k.method, k.path, err)
	}
	req.SetBasicAuth(c.email, c.key)
	req.Header.Set("User-Agent", userAgent)
	if body != nil {
		req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	}
	return req, nil
}

// decode tells success from error. The envelope decides, not the status alone.
func (c *Client) decode(k call, resp *http.Response, body []byte, answer any) error {
	var envelope struct {
		Result      string   `json:"result"`
		Code        string   `json:"code"`
		Msg         string   `json:"msg"`
		RetryAfter  *float64 `json:"retry-after"` // a float, whatever the description says
		Unsupported []string `json:"ignored_parameters_unsupported"`
	}
	if err := json.Unmarshal(body, &envelope); err != nil || envelope.Result == "" {
		envelope.Result, envelope.Code = "error", codeNotZulip
		envelope.Msg = "the answer is not Zulip's: " + strconv.QuoteToASCII(string(body[:min(len(body), shownResponseBytes)]))
		if to := resp.Header.Get("Location"); to != "" {
			envelope.Msg = "the server redirects to " + strconv.QuoteToASCII(to) + "; use that site"
		}
	}
	if resp.StatusCode != http.StatusOK || envelope.Result != "success" {
		e := &Error{Method: k.method, Path: k.path, Status: resp.StatusCode, Code: envelope.Code, Msg: envelope.Msg}
		if e.Status == http.StatusTooManyRequests {
			e.RetryAfter = wait(envelope.RetryAfter, resp.Header.Get("Retry-After"))
			c.quiet(e.RetryAfter)
		}
		return e
	}
	if len(envelope.Unsupported) > 0 {
		c.log.Warn("zulip ignored parameters", "request", k.method+" "+k.path, "parameters", envelope.Unsupported)
	}
	if answer == nil {
		return nil
	}
	if err := json.Unmarshal(body, answer); err != nil {
		return fmt.Errorf("%s %s: decode answer: %w", k.method, k.path, err)
	}
	return nil
}

// wait is the pause that a 429 asks for: its body's word, else its header's, both seconds as floats.
func wait(body *float64, header string) time.Duration {
	seconds := -1.0
	if body != nil {
		seconds = *body
	} else if f, err := strconv.ParseFloat(header, 64); err == nil {
		seconds = f
	}
	// NaN fails both comparisons and falls to the default.
	if !(seconds > 0) {
		return defaultRetryAfter
	}
	if !(seconds < longestRetryAfter.Seconds()) {
		return longestRetryAfter
	}
	return time.Duration(seconds * float64(time.Second))
}

// quiet remembers a rate limit: it counts for the whole account.
func (c *Client) quiet(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if until := c.now().Add(d); until.After(c.silent) {
		c.silent = until
	}
}

// silence is how long a known rate limit still lasts.
func (c *Client) silence() time.Duration {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.silent.Sub(c.now())
}

// params are the parameters of a request by name.
type params map[string]any

// form encodes parameters: strings as they are, everything else as JSON, empty strings left out.
func (p params) form() (url.Values, error) {
	v := url.Values{}
	for name, value := range p {
		if s, ok := value.(string); ok {
			if s != "" {
				v.Set(name, s)
			}
			continue
		}
		text, err := json.Marshal(value)
		if err != nil {
			return nil, fmt.Errorf("parameter %s: %w", name, err)
		}
		v.Set(name, string(text))
	}
	return v, nil
}
