package flow

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"platform.dev/platform/flowclient"
	"platform.dev/platform/flowclient/wire"
)

// large is a controller with ten thousand components in two environments each.
type large struct {
	flowclient.Flow
	all flowclient.Delivery
}

func newLarge() large {
	since := noon
	var l large
	for i := range 10_000 {
		c := flowclient.ComponentDelivery{Project: fmt.Sprintf("project-%d", i/10), Component: fmt.Sprintf("component-%d", i), Repository: fmt.Sprintf("http://git.example/platform/project-%d.git", i/10)}
		for _, environment := range []string{flowclient.Staging, flowclient.Production} {
			c.Environments = append(c.Environments, flowclient.Deployment{
				Environment: environment, Binding: c.Component + "-" + environment, Release: c.Component + "-1a2b3c4d", Commit: sha,
				Image: "registry.example/platform/" + c.Component + "@sha256:" + strings.Repeat("ab", 32), Build: c.Component + "-run-1a2b3c4d",
				State: "Active", Ready: true, Since: &since, PromotedBy: "developer", URL: "http://" + environment + ".example/" + c.Component,
			})
		}
		l.all.Components = append(l.all.Components, c)
	}
	return l
}

func (l large) Delivery(context.Context) (flowclient.Delivery, error) { return l.all, nil }

// copied is a client that takes what is written to it into memory of its own.
type copied struct {
	header http.Header
	status int
	buffer []byte
	length int
}

func (c *copied) Header() http.Header    { return c.header }
func (c *copied) WriteHeader(status int) { c.status = status }

func (c *copied) Write(p []byte) (int, error) {
	n := copy(c.buffer[c.length:], p)
	c.length += n
	return n, nil
}

// BenchmarkDelivery asks for what is deployed, of ten thousand components in two
// environments each, while nothing changes, against the limit: the same bytes
// written to the same client. The two are asked in turn, so that whatever else
// the machine does falls on both.
func BenchmarkDelivery(b *testing.B) {
	s, err := New(Config{Flow: newLarge(), Token: testToken, WebhookSecret: testSecret, Deliveries: still{}, Generation: func() uint64 { return 1 },
		Pushed: func(context.Context, string, string, string) error { return nil }})
	require.NoError(b, err)
	handler := s.Handler()
	first := httptest.NewRecorder()
	request := httptest.NewRequest(http.MethodGet, wire.DeliveryPath, nil)
	request.Header = write("GET", wire.DeliveryPath, "").header
	handler.ServeHTTP(first, request)
	require.Equal(b, http.StatusOK, first.Code)
	whole := first.Body.Bytes()
	client := &copied{buffer: make([]byte, len(whole))}
	timed := func(h http.Handler) time.Duration {
		*client = copied{header: http.Header{}, buffer: client.buffer}
		begun := time.Now()
		h.ServeHTTP(client, request)
		if client.length != len(whole) {
			b.Fatalf("%d bytes of %d", client.length, len(whole))
		}
		return time.Since(begun)
	}
	limit := http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write(whole) })
	b.ReportAllocs()
	var took, least time.Duration
	for b.Loop() {
		took += timed(handler)
		least += timed(limit)
	}
	b.ReportMetric(float64(took)/float64(least), "x-limit")
}
