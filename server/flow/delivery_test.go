package flow

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"platform.dev/platform/flowclient"
	"platform.dev/platform/flowclient/wire"
)

// deployed is a controller whose Delivery tells how often it was read, and waits where a test holds it.
type deployed struct {
	*recorder
	reads atomic.Int64
	world atomic.Int64 // what is deployed
	held  func(ctx context.Context, read int64) error
}

func (d *deployed) Delivery(ctx context.Context) (flowclient.Delivery, error) {
	read, seen := d.reads.Add(1), d.world.Load()
	if d.held != nil {
		if err := d.held(ctx, read); err != nil {
			return flowclient.Delivery{}, err
		}
	}
	return flowclient.Delivery{Components: []flowclient.ComponentDelivery{{Project: "shop", Component: fmt.Sprintf("web-%d", seen)}}}, nil
}

// newDeployed is a surface over it, whose generation the test turns.
func newDeployed(t *testing.T) (*surface, *deployed, *atomic.Uint64) {
	s, generation := newSurface(t), new(atomic.Uint64)
	d := &deployed{recorder: s.flow}
	s.cfg.Flow, s.cfg.Generation = d, generation.Load
	return s, d, generation
}

// body is the body of an answer.
func body(t *testing.T, resp *http.Response) string {
	t.Helper()
	raw, err := io.ReadAll(resp.Body)
	require.NoError(t, err)
	return string(raw)
}

var ask = write("GET", wire.DeliveryPath, "")

func TestDeliveryIsReadOncePerGeneration(t *testing.T) {
	s, d, generation := newDeployed(t)
	first := s.do(ask)
	for range 5 {
		again := s.do(ask)
		assert.Equal(t, first.Header.Get("ETag"), again.Header.Get("ETag"))
		assert.Contains(t, body(t, again), "web-0")
	}
	assert.EqualValues(t, 1, d.reads.Load())

	d.world.Store(1)
	generation.Add(1)
	changed := s.do(ask)
	assert.Contains(t, body(t, changed), "web-1")
	assert.NotEqual(t, first.Header.Get("ETag"), changed.Header.Get("ETag"))
	assert.EqualValues(t, 2, d.reads.Load())

	generation.Add(1) // something else changed
	assert.Equal(t, changed.Header.Get("ETag"), s.do(ask).Header.Get("ETag"), "the same answer has the same tag")
	assert.EqualValues(t, 3, d.reads.Load())
}

func TestWithoutGenerationsDeliveryIsReadEachTime(t *testing.T) {
	s, d, _ := newDeployed(t)
	s.cfg.Generation = nil
	tag := s.do(ask).Header.Get("ETag")
	assert.Equal(t, http.StatusNotModified, s.do(ask.with("If-None-Match", tag)).StatusCode)
	d.world.Store(1)
	assert.Equal(t, http.StatusOK, s.do(ask.with("If-None-Match", tag)).StatusCode)
	assert.EqualValues(t, 3, d.reads.Load())
}

func TestAClientThatHasTheAnswerIsSentNoneOfIt(t *testing.T) {
	s, _, _ := newDeployed(t)
	first := s.do(ask)
	tag := first.Header.Get("ETag")
	require.Regexp(t, `^"[A-Za-z0-9_-]{24}"$`, tag)
	for _, same := range []string{tag, "W/" + tag, `"other", ` + tag, "*"} {
		resp := s.do(ask.with("If-None-Match", same))
		assert.Equal(t, http.StatusNotModified, resp.StatusCode, same)
		assert.Equal(t, tag, resp.Header.Get("ETag"))
		assert.Empty(t, body(t, resp))
	}
	for _, other := range []string{`"other"`, "", tag[1 : len(tag)-1]} {
		assert.Equal(t, http.StatusOK, s.do(ask.with("If-None-Match", other)).StatusCode, other)
	}
	head := s.do(write("HEAD", wire.DeliveryPath, ""))
	assert.Equal(t, http.StatusOK, head.StatusCode)
	assert.Equal(t, tag, head.Header.Get("ETag"))
	assert.Equal(t, fmt.Sprint(len(body(t, first))), head.Header.Get("Content-Length"))
	assert.Empty(t, body(t, head))
	assert.Equal(t, http.StatusUnauthorized, s.do(call{method: "GET", target: wire.DeliveryPath, header: http.Header{"If-None-Match": {tag}}}).StatusCode, "a tag is no token")
}

func TestAFailedReadingIsNotKept(t *testing.T) {
	s, d, _ := newDeployed(t)
	d.held = func(_ context.Context, read int64) error {
		if read == 1 {
			return &flowclient.Upstream{Part: "control plane", Err: errors.New("connection refused")}
		}
		return nil
	}
	assert.Equal(t, http.StatusBadGateway, s.do(ask).StatusCode)
	assert.Equal(t, http.StatusOK, s.do(ask).StatusCode)
	assert.Equal(t, http.StatusOK, s.do(ask).StatusCode)
	assert.EqualValues(t, 2, d.reads.Load())
}

func TestThoseWhoAskAtOnceShareAReading(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, d, _ := newDeployed(t)
		release := make(chan struct{})
		d.held = func(context.Context, int64) error { <-release; return nil }
		var all sync.WaitGroup
		var fine atomic.Int64
		for range 100 {
			all.Go(func() {
				if s.do(ask).StatusCode == http.StatusOK {
					fine.Add(1)
				}
			})
		}
		synctest.Wait() // one reads, the others wait
		assert.EqualValues(t, 1, d.reads.Load())
		close(release)
		all.Wait()
		assert.EqualValues(t, 100, fine.Load())
		assert.EqualValues(t, 1, d.reads.Load())
	})
}

func TestAReadingThatBeganBeforeAChangeIsNotTakenForOneAfterIt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, d, generation := newDeployed(t)
		old := make(chan struct{})
		d.held = func(_ context.Context, read int64) error {
			if read == 1 {
				<-old
			}
			return nil
		}
		var late sync.WaitGroup
		late.Go(func() { assert.Contains(t, body(t, s.do(ask)), "web-0") })
		synctest.Wait()
		d.world.Store(1)
		generation.Add(1)
		assert.Contains(t, body(t, s.do(ask)), "web-1", "whoever asks after the change does not wait for the old reading")
		close(old)
		late.Wait()
		assert.Contains(t, body(t, s.do(ask)), "web-1", "the old reading, ending last, does not displace the newer one")
		assert.EqualValues(t, 2, d.reads.Load())
	})
}

func TestWhenTheReaderGoesAwayOneOfThoseWhoWaitReads(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, d, _ := newDeployed(t)
		release := make(chan struct{})
		d.held = func(ctx context.Context, _ int64) error {
			select {
			case <-release:
				return nil
			case <-ctx.Done():
				return ctx.Err()
			}
		}
		// as asks with a context and gives the status.
		as := func(ctx context.Context) int {
			r := httptest.NewRequestWithContext(ctx, http.MethodGet, wire.DeliveryPath, nil)
			r.Header = ask.header
			w := httptest.NewRecorder()
			s.Handler().ServeHTTP(w, r)
			return w.Code
		}
		first, leave := context.WithCancel(t.Context())
		second, leaveToo := context.WithCancel(t.Context())
		var all sync.WaitGroup
		all.Go(func() { assert.Equal(t, http.StatusServiceUnavailable, as(first)) })
		synctest.Wait()
		all.Go(func() {
			assert.Equal(t, http.StatusServiceUnavailable, as(second), "whoever waits may go away as well")
		})
		var stayed atomic.Int64
		for range 3 {
			all.Go(func() {
				if as(t.Context()) == http.StatusOK {
					stayed.Add(1)
				}
			})
		}
		synctest.Wait()
		leaveToo()
		synctest.Wait()
		assert.EqualValues(t, 1, d.reads.Load())
		leave()
		synctest.Wait()
		assert.EqualValues(t, 2, d.reads.Load())
		close(release)
		all.Wait()
		assert.EqualValues(t, 3, stayed.Load())
		assert.EqualValues(t, 2, d.reads.Load())
	})
}

func TestAReadingThatPanicsKeepsNobodyWaiting(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, d, _ := newDeployed(t)
		release := make(chan struct{})
		d.held = func(_ context.Context, read int64) error {
			if read > 1 {
				return nil
			}
			<-release
			panic("broken")
		}
		var all sync.WaitGroup
		all.Go(func() {
			defer func() { assert.NotNil(t, recover()) }()
			s.do(ask)
		})
		synctest.Wait()
		all.Go(func() { assert.Equal(t, http.StatusInternalServerError, s.do(ask).StatusCode) })
		synctest.Wait()
		close(release)
		all.Wait()
		assert.Equal(t, http.StatusOK, s.do(ask).StatusCode)
	})
}

func TestTheDescriptionHasATagAsWell(t *testing.T) {
	s := newSurface(t)
	c := call{method: "GET", target: wire.DescriptionPath}
	tag := s.do(c).Header.Get("ETag")
	c.header = http.Header{"If-None-Match": {tag}}
	assert.Equal(t, http.StatusNotModified, s.do(c).StatusCode)
}
