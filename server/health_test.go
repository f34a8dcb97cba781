package server

import (
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// The flow surface is as well as its controller: a pass that is overdue turns it
// red. From the leap on every look at the clock is a day after the one before, so
// that whenever the last pass ended, it is overdue.
func TestAControllerThatDoesNotPassTurnsItsSurfaceRed(t *testing.T) {
	cfg := config(t, t.TempDir())
	var leapt atomic.Bool
	var days atomic.Int64
	cfg.Now = func() time.Time {
		if !leapt.Load() {
			return time.Now()
		}
		return time.Now().AddDate(0, 0, int(days.Add(1)))
	}
	p := start(t, cfg)
	url := p.ports.URL("flow") + "/healthz"
	require.Equal(t, http.StatusOK, ask(t, http.MethodGet, url, "", "", "").status)
	p.eventually(20*time.Second, "a bot that hears", func() bool {
		return strings.Contains(ask(t, http.MethodGet, p.ports.URL("flow")+"/metrics", "", "", "").body, `platform_bot_connected{bot="platform"} 1`)
	})
	leapt.Store(true)
	got := ask(t, http.MethodGet, url, "", "", "")
	assert.Equal(t, http.StatusServiceUnavailable, got.status, got.body)
	assert.Contains(t, got.body, "pass")
	assert.Contains(t, got.body, "bot platform has not heard its chat for", "so does a bot that hears nothing")
	assert.Equal(t, http.StatusOK, ask(t, http.MethodGet, p.ports.URL("git")+"/healthz", "", "", "").status, "the others are well")
}
