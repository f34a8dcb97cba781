package flow

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
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

// BenchmarkADelivery takes a pull-request delivery of a real Gitea (13 kB),
// signed three times over, against the limit: the body read and its HMAC taken once.
func BenchmarkADelivery(b *testing.B) {
	sent := recorded(b, "pull_request_closed_merged", wire.HookPath)
	s, err := New(Config{Flow: still{}, Token: testToken, WebhookSecret: testSecret, Deliveries: still{},
		Pushed: func(context.Context, string, string, string) error { return nil }})
	require.NoError(b, err)
	for _, bench := range []struct {
		name    string
		handler http.Handler
	}{
		{"limit", http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			body, err := io.ReadAll(r.Body)
			m := hmac.New(sha256.New, []byte(testSecret))
			m.Write(body)
			if got, _ := hex.DecodeString(r.Header.Get("X-Gitea-Signature")); err != nil || !hmac.Equal(got, m.Sum(nil)) {
				w.WriteHeader(http.StatusUnauthorized)
			}
		})},
		{"hook", s.Handler()},
	} {
		b.Run(bench.name, func(b *testing.B) {
			b.SetBytes(int64(len(sent.body)))
			b.ReportAllocs()
			for b.Loop() {
				r := httptest.NewRequest(http.MethodPost, wire.HookPath, strings.NewReader(sent.body))
				r.Header = sent.header
				w := httptest.NewRecorder()
				bench.handler.ServeHTTP(w, r)
				if w.Code != http.StatusOK {
					b.Fatalf("%d: %s", w.Code, w.Body)
				}
			}
		})
	}
}
