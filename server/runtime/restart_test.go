package runtime

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"platform.dev/platform/flowclient"
)

func TestAProcessThatEndsIsStartedAgainAndSaysHowItEnded(t *testing.T) {
	w := newWorkshop(t)
	d := w.script("echo first; echo cannot find the database >&2; exit 3")
	status := w.until(d, func(s DeploymentStatus) bool { return strings.Contains(s.Message, "3 times") })
	assert.Equal(t, ReasonCrashLoopBackOff, status.Reason)
	assert.Contains(t, status.Message, "shop-web ended: exit status 3")
	assert.Contains(t, status.Message, "cannot find the database")
	resp := w.routes.get(route, "/")
	assert.Equal(t, http.StatusServiceUnavailable, resp.StatusCode)
	assert.Contains(t, body(t, resp), "It is being started again by itself")

	w.stands(w.script("exit 0"), ReasonCrashLoopBackOff)
	status = w.until(w.script("kill -9 $$"), func(s DeploymentStatus) bool { return s.Reason == ReasonCrashLoopBackOff })
	assert.Contains(t, status.Message, "signal: killed; it wrote nothing")
}

func TestWhileAProcessIsGoneAPageNamesTheComponent(t *testing.T) {
	w := newWorkshop(t, func(c *Config) { c.Times.Restart = time.Hour })
	d := w.server("v1")
	w.runs(d)
	resp := w.routes.get(route, "/crash")
	assert.Equal(t, http.StatusBadGateway, resp.StatusCode)
	assert.Contains(t, body(t, resp), "<h1>shop-web does not answer</h1>")
	status := w.stands(d, ReasonCrashLoopBackOff)
	assert.Contains(t, status.Message, "exit status 7")
	assert.Contains(t, status.Message, "asked to crash")
	resp = w.routes.get(route, "/")
	assert.Equal(t, http.StatusServiceUnavailable, resp.StatusCode)
	assert.Equal(t, "2", resp.Header.Get("Retry-After"))
	assert.Contains(t, body(t, resp), "shop-web does not answer")
}

func TestAProcessThatEndedAnswersAgain(t *testing.T) {
	w := newWorkshop(t)
	d := w.server("v1")
	w.runs(d)
	w.routes.get(route, "/crash")
	status := w.until(d, func(s DeploymentStatus) bool { return s.Ready && strings.Contains(s.Message, "restarted once") })
	assert.Contains(t, status.Message, "exit status 7")
	w.alone("v1")
}

func TestPausesBetweenRestartsGrow(t *testing.T) {
	var pauses []string
	for before := range 9 {
		pauses = append(pauses, backoff(time.Second, before).String())
	}
	assert.Equal(t, []string{"1s", "2s", "4s", "8s", "16s", "32s", "1m0s", "1m0s", "1m0s"}, pauses)
	assert.Equal(t, longestPause, backoff(time.Millisecond, 1<<30))
}

func TestAProcessThatIsNotReadyInTimeSaysWhatItAnswered(t *testing.T) {
	w := newWorkshop(t, func(c *Config) { c.Times.Start = time.Second })
	d := w.server("v1", flowclient.EnvVar{Key: "STATUS", Value: "503"})
	status := w.until(d, func(s DeploymentStatus) bool { return strings.Contains(s.Message, "status 503") })
	assert.Equal(t, ReasonReadinessTimeout, status.Reason)
	assert.Contains(t, status.Message, "shop-web was not ready after 1s")
	assert.Contains(t, status.Message, "v1 listens", "the last lines are quoted")
	resp := w.routes.get(route, "/")
	assert.Equal(t, http.StatusServiceUnavailable, resp.StatusCode)
	assert.Contains(t, body(t, resp), "It is being started again by itself")

	status = w.stands(w.script("echo waiting for nothing; exec tail -f /dev/null"), ReasonReadinessTimeout)
	assert.Contains(t, status.Message, "refused")
	assert.Contains(t, status.Message, "waiting for nothing")
}

func TestWhatIsReadyAndWhatIsNot(t *testing.T) {
	for status, ready := range map[int]bool{200: true, 302: true, 404: true, 499: true, 500: false, 503: false} {
		t.Run(fmt.Sprint(status), func(t *testing.T) {
			srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				assert.Equal(t, "/health", r.URL.Path)
				w.Header().Set("Location", "/elsewhere")
				w.WriteHeader(status)
			}))
			defer srv.Close()
			p := &process{record: processRecord{Group: syscall.Getpgrp()}, port: port(t, srv)}
			ctx, cancel := context.WithTimeout(t.Context(), waitLong)
			if !ready {
				ctx, cancel = context.WithTimeout(t.Context(), 250*time.Millisecond)
			}
			defer cancel()
			err := p.probe(ctx, "/health")
			assert.Equal(t, ready, err == nil, err)
			if !ready {
				assert.ErrorContains(t, err, fmt.Sprint("status ", status))
			}
		})
	}
}

// port is where a server of the test listens.
func port(t *testing.T, srv *httptest.Server) int {
	t.Helper()
	address, ok := srv.Listener.Addr().(*net.TCPAddr)
	require.True(t, ok)
	return address.Port
}

func TestAnAnswerOfAnotherProcessIsNotReadiness(t *testing.T) {
	own := httptest.NewServer(http.NotFoundHandler())
	defer own.Close()
	for _, tc := range []struct {
		name  string
		group int
		want  error
	}{
		{"of the group", syscall.Getpgrp(), nil},
		{"of another group", 1 << 30, errForeign},
	} {
		t.Run(tc.name, func(t *testing.T) {
			p := &process{record: processRecord{Group: tc.group}, port: port(t, own)}
			ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
			defer cancel()
			require.ErrorIs(t, p.probe(ctx, "/"), tc.want)
		})
	}
}
