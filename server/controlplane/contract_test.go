package controlplane_test

import (
	"context"
	"log/slog"
	"net"
	"net/http"
	"os"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"platform.dev/platform/flowclient"
	"platform.dev/platform/flowclient/flowtest"
	"platform.dev/platform/flowclient/openchoreo"
	"platform.dev/platform/server/web"
)

func TestContractInProcess(t *testing.T) {
	w := newWorld(t)
	flowtest.ControlPlane(t, func(*testing.T) flowclient.ControlPlane { return w.client })
}

func TestContractOverASocket(t *testing.T) {
	w := newWorld(t)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	ctx, cancel := context.WithCancel(context.Background())
	var group sync.WaitGroup
	group.Go(func() { _ = web.Serve(ctx, l, w.server.Handler(), slog.New(slog.DiscardHandler)) }) // its error would fail the requests
	transport := &http.Transport{}
	t.Cleanup(func() {
		cancel()
		transport.CloseIdleConnections()
		group.Wait()
	})
	flowtest.ControlPlane(t, func(t *testing.T) flowclient.ControlPlane {
		return w.open(validating(t, transport), "http://"+l.Addr().String())
	})
}

func TestContractAgainstARealOpenChoreo(t *testing.T) {
	base := os.Getenv("PLATFORM_TEST_OPENCHOREO_URL")
	if base == "" {
		t.Skip("PLATFORM_TEST_OPENCHOREO_URL is not set: no real OpenChoreo to run the contract against (its token goes in PLATFORM_TEST_OPENCHOREO_TOKEN)")
	}
	client, err := openchoreo.New(openchoreo.Config{BaseURL: base, Namespace: "default", Token: os.Getenv("PLATFORM_TEST_OPENCHOREO_TOKEN")})
	require.NoError(t, err)
	flowtest.ControlPlane(t, func(*testing.T) flowclient.ControlPlane { return client })
}
