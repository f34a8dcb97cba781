package server

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"platform.dev/platform/flowclient"
	"platform.dev/platform/server/controlplane"
	"platform.dev/platform/server/runtime"
)

func TestAServiceIsMeasuredAndItsMemoryLimitKeptOrSaidNotToBe(t *testing.T) {
	p := start(t, config(t, t.TempDir()))
	p.scaffold("shop")
	p.withService()
	first, err := p.Flow().Commit(t.Context(), flowclient.CommitRequest{
		Origin: flowclient.Origin{Key: "test:first", Who: "developer"}, Project: "shop", Message: "Add the service", Files: serviceFiles(t, "one"),
	})
	require.NoError(t, err)
	p.deployed("shop-api", flowclient.Staging, first.SHA)

	metrics := ask(t, http.MethodGet, p.ports.URL("flow")+"/metrics", "", "", "").body
	at := `{component="shop-api",environment="staging",project="shop"} `
	assert.Contains(t, metrics, "platform_workload_processes"+at+"1\n")
	assert.Contains(t, metrics, "platform_workload_cpu_seconds_total"+at)
	found := regexp.MustCompile(regexp.QuoteMeta("platform_workload_memory_bytes"+at) + `(\S+)`).FindStringSubmatch(metrics)
	require.Len(t, found, 2, metrics)
	resident, err := strconv.ParseFloat(found[1], 64)
	require.NoError(t, err)
	assert.Greater(t, resident, 1e6)
	assert.NotContains(t, metrics, `platform_workload_processes{component="shop-web"`, "a site has no process")

	b, err := p.rooms.plane.Get(t.Context(), flowclient.KindReleaseBinding, "shop-api-staging")
	require.NoError(t, err)
	enforced, why := p.rooms.runtime.Limits()
	if enforced {
		assert.NotContains(t, string(b.Status), "is not kept")
		return
	}
	assert.Contains(t, string(b.Status), "its memory limit of 256 MiB is not kept", "what its component type declares")
	assert.Contains(t, p.Notes(), why, "whoever starts the platform is told")
}

func TestARepositoryHasTheLabelThatPromotes(t *testing.T) {
	p := start(t, config(t, t.TempDir()))
	p.scaffold("shop")
	labels := ask(t, http.MethodGet, p.ports.URL("git")+"/api/v1/repos/platform/shop/labels", "", p.rooms.tokens.git, "").body
	assert.Equal(t, 1, strings.Count(labels, `"name":"promote"`), labels)
}

func TestProcessesOfOnePlaceAreOneSample(t *testing.T) {
	registry := prometheus.NewPedanticRegistry()
	var fault error
	u := newUsage(func(context.Context) (map[string]runtime.Usage, error) {
		return map[string]runtime.Usage{"a": {MemoryBytes: 1, CPUSeconds: 2, Processes: 3}, "b": {MemoryBytes: 10, CPUSeconds: 20, Processes: 30}}, fault
	}, func(string) controlplane.Deployment {
		return controlplane.Deployment{Project: "shop", Component: "shop-api", Environment: "staging"}
	}, slog.New(slog.DiscardHandler))
	require.NoError(t, registry.Register(u))
	families, err := registry.Gather()
	require.NoError(t, err)
	got := map[string]float64{}
	for _, f := range families {
		require.Len(t, f.GetMetric(), 1, f.GetName())
		m := f.GetMetric()[0]
		got[f.GetName()] = m.GetGauge().GetValue() + m.GetCounter().GetValue()
	}
	assert.Equal(t, map[string]float64{"platform_workload_memory_bytes": 11, "platform_workload_cpu_seconds_total": 22, "platform_workload_processes": 33}, got)

	fault = errors.New("nothing is shown")
	families, err = registry.Gather()
	require.NoError(t, err, "the other metrics are there all the same")
	assert.Empty(t, families)
}
