// Package outgoing is how the controller's HTTP clients ask: they try again
// where that is harmless, carry credentials to no other place, and read answers
// of a bounded size.
//
// It knows nothing of who is asked, and what for.
package outgoing

import (
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"time"

	"github.com/hashicorp/go-retryablehttp"
)

// MaxAnswer is the largest answer that is read, in bytes.
const MaxAnswer = 32 << 20

// ErrTooLarge is the error of Read for an answer of more than MaxAnswer bytes.
var ErrTooLarge = errors.New("the answer is larger than 32 MiB")

// Config says how requests are made.
type Config struct {
	Transport http.RoundTripper // nil: http.DefaultTransport
	Timeout   time.Duration     // of one exchange, its body included
	Retries   int               // after a failure of the network or a 5xx; 0 sends once
	Log       *slog.Logger      // hears of retries at debug level: the last failure reaches the caller; nil: silent
}

// Client makes requests as cfg says. A last answer of 5xx is an answer, and so
// is a redirect: followed, it would carry the credentials elsewhere.
func Client(cfg Config) *retryablehttp.Client {
	if cfg.Transport == nil {
		cfg.Transport = http.DefaultTransport
	}
	if cfg.Log == nil {
		cfg.Log = slog.New(slog.DiscardHandler)
	}
	return &retryablehttp.Client{
		HTTPClient: &http.Client{
			Transport: cfg.Transport, Timeout: cfg.Timeout,
			CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
		},
		Logger:       quiet{cfg.Log},
		RetryWaitMin: 50 * time.Millisecond,
		RetryWaitMax: time.Second,
		RetryMax:     cfg.Retries,
		CheckRetry:   retryablehttp.DefaultRetryPolicy,
		Backoff:      retryablehttp.DefaultBackoff,
		ErrorHandler: retryablehttp.PassthroughErrorHandler,
	}
}

// Standard is c as an *http.Client, which would follow redirects by itself.
func Standard(c *retryablehttp.Client) *http.Client {
	standard := c.StandardClient()
	standard.CheckRedirect = c.HTTPClient.CheckRedirect
	return standard
}

// Read reads a whole answer of at most MaxAnswer bytes.
func Read(r io.Reader) ([]byte, error) {
	b, err := io.ReadAll(io.LimitReader(r, MaxAnswer+1))
	if err != nil {
		return nil, fmt.Errorf("read answer: %w", err)
	}
	if len(b) > MaxAnswer {
		return nil, ErrTooLarge
	}
	return b, nil
}

// quiet takes what is said of retries, whatever its level, as debugging.
type quiet struct{ log *slog.Logger }

func (q quiet) Error(msg string, kv ...any) { q.log.Debug(msg, kv...) }
func (q quiet) Info(msg string, kv ...any)  { q.log.Debug(msg, kv...) }
func (q quiet) Debug(msg string, kv ...any) { q.log.Debug(msg, kv...) }
func (q quiet) Warn(msg string, kv ...any)  { q.log.Debug(msg, kv...) }
