package remote

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"platform.dev/platform/flowclient"
)

// told is a controller that tells what is deployed under a tag.
type told struct {
	mu        sync.Mutex
	tag, body string
	status    int      // instead of an answer, when it is not 0
	asked     []string // the tags that requests came with
}

func (d *told) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.asked = append(d.asked, r.Header.Get("If-None-Match"))
	if d.tag != "" {
		w.Header().Set("ETag", d.tag)
	}
	switch {
	case d.status != 0:
		w.WriteHeader(d.status)
	case d.tag != "" && r.Header.Get("If-None-Match") == d.tag:
		w.WriteHeader(http.StatusNotModified)
	default:
		fmt.Fprint(w, d.body)
	}
}

func (d *told) client(t *testing.T) *Client {
	t.Helper()
	srv := httptest.NewServer(d)
	t.Cleanup(srv.Close)
	c, err := New(Config{BaseURL: srv.URL, Token: "the-token", Transport: &http.Transport{DisableKeepAlives: true}})
	require.NoError(t, err)
	return c
}

// deployed is the name of the first component.
func deployed(t *testing.T, c *Client) string {
	t.Helper()
	d, err := c.Delivery(t.Context())
	require.NoError(t, err)
	require.NotEmpty(t, d.Components)
	return d.Components[0].Component
}

func TestWhatIsDeployedIsSentOnceWhileItStaysTrue(t *testing.T) {
	d := &told{tag: `"1"`, body: `{"components":[{"project":"shop","component":"web-1","environments":[]}]}`}
	c := d.client(t)
	for range 3 {
		assert.Equal(t, "web-1", deployed(t, c))
	}
	d.tag, d.body = `"2"`, `{"components":[{"project":"shop","component":"web-2","environments":[]}]}`
	assert.Equal(t, "web-2", deployed(t, c))
	assert.Equal(t, "web-2", deployed(t, c))
	assert.Equal(t, []string{"", `"1"`, `"1"`, `"1"`, `"2"`}, d.asked)

	d.tag = "" // a controller that names its answers no more
	d.body = `{"components":[{"component":"web-3"}]}`
	assert.Equal(t, "web-3", deployed(t, c))
	assert.Equal(t, "web-3", deployed(t, c))
	assert.Equal(t, []string{`"2"`, ""}, d.asked[5:])
}

func TestWhatACallerDoesToItsListIsItsOwn(t *testing.T) {
	d := &told{tag: `"1"`, body: `{"components":[{"component":"a"},{"component":"b"}]}`}
	c := d.client(t)
	mine, err := c.Delivery(t.Context())
	require.NoError(t, err)
	mine.Components[0], mine.Components = flowclient.ComponentDelivery{Component: "mine"}, mine.Components[:1]
	assert.Equal(t, "a", deployed(t, c))
	again, err := c.Delivery(t.Context())
	require.NoError(t, err)
	assert.Len(t, again.Components, 2)
}

func TestAFailureIsNotTakenForWhatWasToldBefore(t *testing.T) {
	d := &told{tag: `"1"`, body: `{"components":[{"component":"a"}]}`}
	c := d.client(t)
	assert.Equal(t, "a", deployed(t, c))
	d.status = http.StatusNotFound
	_, err := c.Delivery(t.Context())
	require.Error(t, err)
	d.status, d.tag, d.body = 0, `"2"`, `[]`
	_, err = c.Delivery(t.Context())
	require.ErrorContains(t, err, "not what this client reads")
	d.tag, d.body = `"1"`, `{"components":[{"component":"a"}]}`
	assert.Equal(t, "a", deployed(t, c))
	assert.Equal(t, `"1"`, d.asked[len(d.asked)-1], "an answer that could not be read is not remembered")

	never := &told{status: http.StatusNotModified}
	_, err = never.client(t).Delivery(t.Context())
	require.ErrorContains(t, err, "answered 304", "nothing was told before")
}

func TestManyMayAskWhatIsDeployedAtOnce(t *testing.T) {
	d := &told{tag: `"1"`, body: `{"components":[{"component":"a"}]}`}
	c := d.client(t)
	var all sync.WaitGroup
	for range 20 {
		all.Go(func() {
			d, err := c.Delivery(t.Context())
			assert.NoError(t, err)
			assert.Len(t, d.Components, 1)
		})
	}
	all.Wait()
}
