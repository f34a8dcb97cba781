package runtime

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"platform.dev/platform/flowclient"
)

func TestAReplacementDropsNoRequestUnderLoad(t *testing.T) {
	const clients, versions, least = 8, 5, 3000
	w := newWorkshop(t)
	abrupt := flowclient.EnvVar{Key: "ABRUPT", Value: "1"} // nothing is left to the process: it cuts off what it has begun
	w.runs(w.server("v0", abrupt))
	srv := w.front()
	client := &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: clients}}
	defer client.CloseIdleConnections()

	ctx, cancel := context.WithCancel(t.Context())
	var wg sync.WaitGroup
	var mu sync.Mutex
	seen := map[string]int{}
	var answered atomic.Int64
	bad := map[string]int{}
	for i := range clients {
		wg.Go(func() {
			for n := 0; ctx.Err() == nil || answered.Load() < least; n++ {
				sent := fmt.Sprintf("client %d request %d %s", i, n, strings.Repeat("x", n%4096))
				version, err := post(client, srv.URL+"/echo", sent)
				mu.Lock()
				if err != nil {
					bad[err.Error()]++
				}
				seen[version]++
				mu.Unlock()
				answered.Add(1)
			}
		})
	}
	for n := 1; n <= versions; n++ {
		version := fmt.Sprintf("v%d", n)
		w.runs(w.server(version, abrupt))
		require.Eventually(t, func() bool { mu.Lock(); defer mu.Unlock(); return seen[version] > 0 }, waitLong, waitShort)
	}
	cancel()
	wg.Wait()
	assert.Empty(t, bad)
	assert.Len(t, seen, versions+1, "%v", seen)
	t.Logf("%d requests over %d replacements: %v", answered.Load(), versions, seen)
	w.alone("v5")
}

// post has text echoed and returns what the answer ends with. No transport
// sends a POST a second time by itself.
func post(client *http.Client, url, text string) (version string, err error) {
	resp, err := client.Post(url, "text/plain", strings.NewReader(text))
	if err != nil {
		return "", err
	}
	defer resp.Body.Close()
	answer, err := io.ReadAll(resp.Body)
	if err != nil {
		return "", err
	}
	version, whole := strings.CutPrefix(string(answer), text+" ")
	if resp.StatusCode != http.StatusOK || !whole {
		return "", fmt.Errorf("status %d, an answer of %d bytes", resp.StatusCode, len(answer))
	}
	return version, nil
}

// alone waits until one process alone is left: the replaced ones end in their own time.
func (w *workshop) alone(version string) {
	w.t.Helper()
	require.Eventually(w.t, func() bool { return len(w.left()) == 1 }, waitLong, waitShort)
	assert.Equal(w.t, version+" /", w.text())
}

func TestARequestUnderWayIsAnsweredByTheProcessItReached(t *testing.T) {
	w := newWorkshop(t)
	w.runs(w.server("v1"))
	held, write := pipe(t)
	answer := make(chan string)
	go func() { answer <- body(t, w.routes.get(route, "/hold?pipe="+held)) }()
	require.Eventually(t, func() bool { return w.services["shop-web-staging"].underWay() == 1 }, waitLong, waitShort)
	w.runs(w.server("v2"))
	assert.Equal(t, "v2 /", w.text())
	assert.Len(t, w.left(), 2, "the replaced process waits for its request")
	write("at last")
	assert.Equal(t, "at last v1", <-answer)
	w.alone("v2")
}

// underWay counts the requests of all versions.
func (v *service) underWay() int {
	v.mu.Lock()
	defer v.mu.Unlock()
	n := 0
	for each := range v.living {
		n += each.requests
	}
	return n
}

func TestARequestThatTakesTooLongDoesNotKeepAReplacedProcess(t *testing.T) {
	w := newWorkshop(t, func(c *Config) { c.Times.Drain, c.Times.Stop = time.Millisecond, time.Millisecond })
	w.runs(w.server("v1"))
	held, _ := pipe(t)
	answer := make(chan *http.Response)
	go func() { answer <- w.routes.get(route, "/hold?pipe="+held) }()
	require.Eventually(t, func() bool { return w.services["shop-web-staging"].underWay() == 1 }, waitLong, waitShort)
	w.runs(w.server("v2"))
	resp := <-answer
	assert.Equal(t, http.StatusBadGateway, resp.StatusCode)
	assert.Contains(t, body(t, resp), "shop-web does not answer")
	w.alone("v2")
}

func TestAVersionThatFailsLeavesTheOneBeforeAnswering(t *testing.T) {
	w := newWorkshop(t)
	good := w.server("v1")
	w.runs(good)
	for reason, bad := range map[string]Deployment{
		ReasonCrashLoopBackOff: w.script("echo first; echo cannot find the database >&2; exit 3"),
		ReasonStarting:         w.script("exec tail -f /dev/null"),
		ReasonCommandInvalid:   w.service(good.Workload.Container.Image, []string{"no-such-program"}),
	} {
		t.Run(reason, func(t *testing.T) {
			status := w.stands(bad, reason)
			assert.False(t, status.Ready)
			assert.Contains(t, status.Message, good.Workload.Container.Image+" goes on answering")
			assert.NotEmpty(t, status.Endpoints)
			assert.Equal(t, "v1 /", w.text())
			assert.True(t, w.apply(good).Ready, "back at once: it never stopped")
			w.alone("v1")
		})
	}
}

func TestANameMayTurnFromASiteToAProcessAndBack(t *testing.T) {
	w := newWorkshop(t)
	site := staging(w.site("a site"))
	w.apply(site)
	w.runs(w.server("a process"))
	assert.Equal(t, "a process /", w.text())
	require.True(t, w.apply(site).Ready)
	assert.Equal(t, "a site", w.text())
	require.Eventually(t, func() bool { return len(w.left()) == 0 }, waitLong, waitShort)
}

func TestAProcessWhosePathIsTakenSaysSoAndTakesItOnceItIsFree(t *testing.T) {
	w := newWorkshop(t)
	other := staging(w.site("another"))
	other.Name = "another"
	w.apply(other)
	d := w.server("v1")
	status := w.stands(d, ReasonPathTaken)
	assert.Contains(t, status.Message, "another")
	assert.Equal(t, "another", w.text())
	require.NoError(t, w.Remove(t.Context(), other.Name))
	assert.True(t, w.apply(d).Ready)
	assert.Equal(t, "v1 /", w.text())
}

func TestAVersionToComeIsGivenUpWhenAnotherIsWantedThatCannotRun(t *testing.T) {
	w := newWorkshop(t)
	good := w.server("v1")
	w.runs(good)
	require.Equal(t, ReasonStarting, w.apply(w.script("exec tail -f /dev/null")).Reason)
	require.Eventually(t, func() bool { return len(w.left()) == 2 }, waitLong, waitShort)
	require.Equal(t, ReasonCommandInvalid, w.apply(w.service(good.Workload.Container.Image, []string{"no-such-program"})).Reason)
	w.alone("v1")
}

func TestPathsOfWhichOneIsTakenAreGivenBack(t *testing.T) {
	w := newWorkshop(t)
	first, other := w.site("first"), staging(w.site("another"))
	w.apply(staging(first))
	other.Name = "another"
	other.Workload.Endpoints = map[string]flowclient.Endpoint{"last": {Type: "HTTP"}}
	require.True(t, w.apply(other).Ready)
	for name, d := range map[string]Deployment{"a site": staging(w.site("second")), "a process": w.server("v1")} {
		t.Run(name, func(t *testing.T) {
			d.Workload.Endpoints = map[string]flowclient.Endpoint{"http": {Type: "HTTP"}, "last": {Type: "HTTP"}}
			status := w.stands(d, ReasonPathTaken)
			assert.Contains(t, status.Message, first+" goes on answering")
			assert.Equal(t, "first", w.text())
		})
	}
}
