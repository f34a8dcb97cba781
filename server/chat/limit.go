package chat

import (
	"math"
	"net/http"
	"strconv"
	"sync"
	"time"

	"golang.org/x/time/rate"
)

// limiter counts requests per user: a bucket of a minute's requests that refills evenly.
type limiter struct {
	perMinute int
	mu        sync.Mutex
	buckets   map[int64]*rate.Limiter // by user id: as many as there are accounts
}

func newLimiter(perMinute int) *limiter {
	return &limiter{perMinute: perMinute, buckets: map[int64]*rate.Limiter{}}
}

// take counts a request of user at now, writes the X-RateLimit headers and
// refuses when the bucket is empty. The seconds to wait are a float in the body
// and in the header, as Zulip sends them.
func (l *limiter) take(h http.Header, user int64, now time.Time) error {
	l.mu.Lock()
	bucket := l.buckets[user]
	if bucket == nil {
		bucket = rate.NewLimiter(rate.Limit(float64(l.perMinute)/60), l.perMinute)
		l.buckets[user] = bucket
	}
	l.mu.Unlock()

	allowed := bucket.AllowN(now, 1)
	tokens := max(bucket.TokensAt(now), 0)
	full := (float64(l.perMinute) - tokens) / float64(bucket.Limit())
	h.Set("X-RateLimit-Limit", strconv.Itoa(l.perMinute))
	h.Set("X-RateLimit-Remaining", strconv.Itoa(int(tokens)))
	h.Set("X-RateLimit-Reset", strconv.FormatInt(now.Unix()+int64(math.Ceil(full)), 10))
	if allowed {
		return nil
	}
	wait := (1 - tokens) / float64(bucket.Limit())
	h.Set("Retry-After", strconv.FormatFloat(wait, 'f', -1, 64))
	return &apiError{status: http.StatusTooManyRequests, code: codeRateLimit,
		msg: "API usage exceeded rate limit", extra: map[string]any{"retry-after": wait}}
}
