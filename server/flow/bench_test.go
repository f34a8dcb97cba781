package flow

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"platform.dev/platform/flowclient"
	"platform.dev/platform/flowclient/wire"
)

// still is a controller and an inbox that cost nothing: what is measured is the surface.
type still struct{ flowclient.Flow }

func (still) Delivered(context.Context, flowclient.PullDelivery) error { return nil }

func (still) Record(context.Context, string, string, time.Time) (bool, error) { return true, nil }

// hookOf is the surface over an inbox, with a controller that costs nothing.
func hookOf(b *testing.B, deliveries Deliveries) http.Handler {
	s, err := New(Config{Flow: still{}, Token: testToken, WebhookSecret: testSecret, Deliveries: deliveries,
		Pushed: func(context.Context, string, string, string) error { return nil }})
	require.NoError(b, err)
	return s.Handler()
}

// least is the least that a webhook may do: the body read, its HMAC taken once, and keep called.
func least(keep func(id string) error) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		m := hmac.New(sha256.New, []byte(testSecret))
		m.Write(body)
		if got, _ := hex.DecodeString(r.Header.Get("X-Gitea-Signature")); err != nil || !hmac.Equal(got, m.Sum(nil)) {
			w.WriteHeader(http.StatusUnauthorized)
		} else if err := keep(r.Header.Get("X-Gitea-Delivery")); err != nil {
			w.WriteHeader(http.StatusInternalServerError)
		}
	})
}

// BenchmarkADelivery takes deliveries of a real Gitea, signed four times over
// with two hashes, against the least that a webhook may do.
func BenchmarkADelivery(b *testing.B) {
	for _, delivery := range []struct {
		name string
		sent call
	}{
		{"push of 10240 bytes", pushOf(b, 10240)},
		{"pull request", recorded(b, "pull_request_closed_merged", wire.HookPath)},
	} {
		b.Run(delivery.name, func(b *testing.B) {
			take := func(h http.Handler) func(string) error {
				return func(string) error {
					r := httptest.NewRequest(http.MethodPost, wire.HookPath, strings.NewReader(delivery.sent.body))
					r.Header = delivery.sent.header
					w := httptest.NewRecorder()
					h.ServeHTTP(w, r)
					if w.Code != http.StatusOK {
						return fmt.Errorf("%d: %s", w.Code, w.Body)
					}
					return nil
				}
			}
			versus(b, 1, take(least(func(string) error { return nil })), take(hookOf(b, still{})))
		})
	}
}

// versus does something b.N times, by c goroutines, under another id each time,
// and what is its limit as often. They take turns, so that a busy machine is
// busy for both: x-limit is how many times as long as its limit it took.
func versus(b *testing.B, c int, limit, own func(id string) error) {
	const turn = 200 // times, by each goroutine
	var ids atomic.Int64
	took := func(n int, do func(id string) error) time.Duration {
		var left atomic.Int64
		left.Store(int64(n))
		var wg sync.WaitGroup
		start := time.Now()
		for range c {
			wg.Go(func() {
				for left.Add(-1) >= 0 {
					if err := do(fmt.Sprintf("06ce9e1d-b574-4454-9a3d-%012d", ids.Add(1))); err != nil {
						b.Error(err)
						return
					}
				}
			})
		}
		wg.Wait()
		return time.Since(start)
	}
	var limits, owns time.Duration
	b.ResetTimer()
	for left := b.N; left > 0 && !b.Failed(); left -= turn * c {
		n := min(left, turn*c)
		limits += took(n, limit)
		owns += took(n, own)
	}
	b.ReportMetric(float64(limits)/float64(b.N), "limit-ns/op")
	b.ReportMetric(float64(owns)/float64(b.N), "ns/op")
	b.ReportMetric(float64(owns)/float64(limits), "x-limit")
}

// pushOf is a recorded push whose commits were repeated until it has the size in bytes.
func pushOf(b *testing.B, size int) call {
	sent := recorded(b, "push_8_commits", wire.HookPath)
	const list, after = "\"commits\": [\n", "\n    },\n"
	_, commits, _ := strings.Cut(sent.body, list)
	commit, _, _ := strings.Cut(commits, after)
	for missing := size - len(sent.body); missing > 0; missing = size - len(sent.body) {
		more := commit + after
		if len(more) > missing { // the rest goes into its message
			sent.body = strings.Replace(sent.body, `"message": "`, `"message": "`+strings.Repeat("x", missing), 1)
			break
		}
		sent.body = strings.Replace(sent.body, list, list+more, 1)
	}
	require.Len(b, sent.body, size)
	digits := sign(sent.body, testSecret)
	for header, value := range map[string]string{
		"X-Gitea-Signature": digits, "X-Gogs-Signature": digits, "X-Hub-Signature-256": "sha256=" + digits,
		"X-Hub-Signature": "sha1=" + weakly(sent.body), "Content-Length": fmt.Sprint(size),
	} {
		sent = sent.with(header, value)
	}
	return sent
}
