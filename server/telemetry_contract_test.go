package server

import (
	"net/http"
	"os"
	"testing"

	"github.com/stretchr/testify/require"

	"platform.dev/platform/flowclient/flowtest"
	"platform.dev/platform/flowclient/telemetry"
)

func TestTheTelemetryClientKeepsItsContractOnTheEmbeddedObserver(t *testing.T) {
	p := start(t, config(t, t.TempDir()))
	base := p.ports.URL("observer")
	flowtest.Telemetry(t, func(*testing.T) flowtest.Observed {
		return flowtest.Observed{Telemetry: p.telemetry(), OTLP: base, Loki: base, Token: p.secret("observer.token")}
	})
}

func TestTheTelemetryClientKeepsItsContractAgainstRealStores(t *testing.T) {
	tempo, loki, otlp := os.Getenv("PLATFORM_TEST_TEMPO_URL"), os.Getenv("PLATFORM_TEST_LOKI_URL"), os.Getenv("PLATFORM_TEST_OTLP_URL")
	if tempo == "" || loki == "" || otlp == "" {
		t.Skip("give PLATFORM_TEST_TEMPO_URL, PLATFORM_TEST_LOKI_URL and PLATFORM_TEST_OTLP_URL (Tempo's receiver) to run it")
	}
	c, err := telemetry.New(telemetry.Config{Tempo: tempo, Loki: loki, Transport: &http.Transport{DisableKeepAlives: true}})
	require.NoError(t, err)
	flowtest.Telemetry(t, func(*testing.T) flowtest.Observed {
		return flowtest.Observed{Telemetry: c, OTLP: otlp, Loki: loki}
	})
}
