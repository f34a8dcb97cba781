package server

import (
	"context"
	"log/slog"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"platform.dev/platform/fixtures"
	"platform.dev/platform/flowclient"
	"platform.dev/platform/flowclient/flowtest"
	"platform.dev/platform/flowclient/remote"
	"platform.dev/platform/flowclient/store"
	"platform.dev/platform/server/flow"
	"platform.dev/platform/server/web"
)

// A controller elsewhere is one that is reached over HTTP: in this process over
// the listener in memory, and over a socket. Each passes the suite of the
// controller itself.
func TestAControllerElsewhereKeepsTheContract(t *testing.T) {
	if testing.Short() {
		t.Skip("starts the platform for each check; unset -short to run it")
	}
	for name, via := range ways {
		t.Run(name, func(t *testing.T) {
			flowtest.Flow(t, func(t *testing.T) flowtest.World {
				p := start(t, config(t, t.TempDir()))
				return flowtest.World{Flow: p.elsewhere(via(p)), ControlPlane: p.rooms.plane, Journal: p.rooms.store}
			})
		})
	}
}

// ways lead to a platform's flow endpoints.
var ways = map[string]func(*started) *http.Transport{
	"in memory":     func(p *started) *http.Transport { return p.transport("flow") },
	"over a socket": func(*started) *http.Transport { return &http.Transport{} },
}

// elsewhere is the platform's controller as another machine would reach it.
func (s *started) elsewhere(via *http.Transport) *remote.Client {
	s.t.Helper()
	s.t.Cleanup(via.CloseIdleConnections)
	token, err := os.ReadFile(s.Path("secrets", "flow.token"))
	require.NoError(s.t, err)
	return elsewhere(s.t, s.ports.URL("flow"), strings.TrimSpace(string(token)), via)
}

// Pull requests, manifests and evidence over HTTP, with the deliveries passed
// on as well. What the controller writes to is the suite's own plane: nothing
// is built, so that a check takes milliseconds.
func TestAControllerElsewhereKeepsTheContractOfReviews(t *testing.T) {
	flowtest.Reviews(t, func(t *testing.T) flowtest.ReviewWorld {
		plane := flowtest.NewPlane(time.Now)
		s, err := store.Open(t.Context(), filepath.Join(t.TempDir(), "flow.db"), nil)
		require.NoError(t, err)
		t.Cleanup(func() { require.NoError(t, s.Close()) })
		c := flowtest.NewController(t, plane, s, fixtures.Templates())
		surface, err := flow.New(flow.Config{Flow: c, Token: "the-token", WebhookSecret: "secret", Deliveries: s,
			Pushed: func(context.Context, string, string, string) error { return nil }, Log: slog.New(slog.DiscardHandler)})
		require.NoError(t, err)
		door := web.NewMemory()
		ctx, stop := context.WithCancel(context.WithoutCancel(t.Context()))
		ended := make(chan error, 2)
		go func() { ended <- web.Serve(ctx, door, surface.Handler(), slog.New(slog.DiscardHandler)) }()
		go func() { ended <- c.Run(ctx) }()
		t.Cleanup(func() {
			stop()
			assert.NoError(t, <-ended)
			assert.NoError(t, <-ended)
		})
		controller := elsewhere(t, "http://flow.example", "the-token", door.Transport())
		plane.Watch(c.Changed)
		plane.Told(func(d flowclient.PullDelivery) { assert.NoError(t, controller.Delivered(ctx, d)) })
		return flowtest.ReviewWorld{World: flowtest.World{Flow: controller, ControlPlane: plane, Journal: s, Patience: 10 * time.Second}, People: plane}
	})
}

// The same with everything real: git server, builds, deployments and the
// deliveries between them, from another process's side of a socket.
func TestAControllerElsewhereKeepsTheContractOfReviewsOnTheEmbeddedParts(t *testing.T) {
	if testing.Short() {
		t.Skip("starts the platform for each check; unset -short to run it")
	}
	flowtest.Reviews(t, func(t *testing.T) flowtest.ReviewWorld {
		p := start(t, config(t, t.TempDir()))
		return flowtest.ReviewWorld{
			World:  flowtest.World{Flow: p.elsewhere(&http.Transport{}), ControlPlane: p.rooms.plane, Journal: p.rooms.store},
			People: gitPeople{p},
		}
	})
}

// elsewhere is a client of a controller's flow endpoints, as another machine would have one.
func elsewhere(t testing.TB, url, token string, via http.RoundTripper) *remote.Client {
	t.Helper()
	c, err := remote.New(remote.Config{BaseURL: url, Token: token, Transport: via})
	require.NoError(t, err)
	return c
}
