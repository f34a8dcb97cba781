package slack

import (
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"path"
	"strconv"
	"sync"
	"time"

	"golang.org/x/time/rate"
)

const (
	requestTimeout    = 30 * time.Second
	defaultRetryAfter = time.Second      // of a 429 that names no time
	longestRetryAfter = 10 * time.Minute // a server that says more is not believed
	poolSize          = 64               // idle connections kept; the library's client keeps two and opens one for every call beyond
)

// LimitedError says that Slack asks for silence: a call was refused, or not
// made because an earlier one had been.
type LimitedError struct {
	Method string        // of the Web API, "chat.postMessage"
	After  time.Duration // how long to wait
}

// Error says for how long.
func (l *LimitedError) Error() string {
	return fmt.Sprintf("%s: the rate limit lasts %s more", l.Method, l.After)
}

// web carries the calls of the Web API. It keeps rate limits, which Slack
// counts by method; those of posting it counts by channel, and pace keeps them.
type web struct {
	client  *http.Client
	now     func() time.Time
	opening *rate.Limiter // event streams that end at once are not opened without pause

	mu     sync.Mutex
	silent map[string]time.Time // method -> when it may be called again
}

func newWeb(cfg Config) *web {
	via := cfg.Transport
	if via == nil {
		via = pool(cfg)
	}
	return &web{
		client: &http.Client{
			Transport: via, Timeout: requestTimeout,
			// A redirect would carry the token elsewhere, and turn a POST into a GET.
			CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
		},
		now: cfg.Now, silent: map[string]time.Time{},
		opening: rate.NewLimiter(rate.Every(openEvery), 2*connections),
	}
}

// pool is a transport of our own, so that closing it closes nobody else's connections.
func pool(cfg Config) *http.Transport {
	dial := cfg.Dial
	if dial == nil {
		dial = (&net.Dialer{Timeout: 10 * time.Second, KeepAlive: 30 * time.Second}).DialContext
	}
	return &http.Transport{
		Proxy:               proxy(cfg),
		DialContext:         dial,
		ForceAttemptHTTP2:   true,
		MaxIdleConns:        poolSize,
		MaxIdleConnsPerHost: poolSize,
		IdleConnTimeout:     90 * time.Second,
		TLSHandshakeTimeout: 10 * time.Second,
	}
}

// proxy is the machine's, unless connections are made in a way of their own.
func proxy(cfg Config) func(*http.Request) (*url.URL, error) {
	if cfg.Dial != nil {
		return nil
	}
	return http.ProxyFromEnvironment
}

// bounded is a body of which no more is read than an answer may have.
type bounded struct {
	io.Reader
	io.Closer
}

// Do makes a call, for the library as well. A rate limit is a *LimitedError.
func (w *web) Do(req *http.Request) (*http.Response, error) {
	method := path.Base(req.URL.Path)
	if wait := w.silence(method); wait > 0 {
		return nil, &LimitedError{Method: method, After: wait}
	}
	if method == methodOpen {
		if err := w.opening.Wait(req.Context()); err != nil {
			return nil, err
		}
	}
	resp, err := w.client.Do(req) //nolint:bodyclose // whoever calls closes it
	if err != nil {
		return nil, err
	}
	if resp.StatusCode != http.StatusTooManyRequests {
		resp.Body = bounded{io.LimitReader(resp.Body, answerLimit+1), resp.Body}
		return resp, nil
	}
	_ = resp.Body.Close()
	limited := &LimitedError{Method: method, After: retryAfter(resp.Header.Get("Retry-After"))}
	w.quiet(limited)
	return nil, limited
}

// The methods that are told apart.
const (
	methodOpen = "apps.connections.open"
	methodPost = "chat.postMessage"
)

// retryAfter is the pause that a 429 asks for: seconds, perhaps with a fraction.
func retryAfter(header string) time.Duration {
	seconds, err := strconv.ParseFloat(header, 64)
	switch {
	case err != nil || !(seconds > 0): // not a number fails every comparison
		return defaultRetryAfter
	case seconds >= longestRetryAfter.Seconds():
		return longestRetryAfter
	default:
		return time.Duration(seconds * float64(time.Second))
	}
}

// quiet remembers a method's rate limit.
func (w *web) quiet(l *LimitedError) {
	if l.Method == methodPost {
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.silent[l.Method] = w.now().Add(l.After)
}

// silence is how long a method's rate limit still lasts.
func (w *web) silence(method string) time.Duration {
	w.mu.Lock()
	defer w.mu.Unlock()
	until, ok := w.silent[method]
	if !ok {
		return 0
	}
	wait := until.Sub(w.now())
	if wait <= 0 {
		delete(w.silent, method)
	}
	return wait
}
