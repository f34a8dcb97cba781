package server

import (
	"context"
	"log/slog"

	"github.com/prometheus/client_golang/prometheus"

	"platform.dev/platform/server/controlplane"
	"platform.dev/platform/server/runtime"
)

// usage tells what the deployed processes use, measured whenever metrics are
// asked for. What has no process, such as a static site, has no sample.
type usage struct {
	measure func(context.Context) (map[string]runtime.Usage, error) // by the deployment's name
	place   func(name string) controlplane.Deployment
	log     *slog.Logger

	memory, cpu, processes *prometheus.Desc
}

// openUsage registers the measurements of the runtime's processes.
func (r *rooms) openUsage() error {
	return r.telemetry.registry.Register(newUsage(r.runtime.Usage, r.telemetry.places.get, r.telemetry.log))
}

// newUsage makes the measurements of what measure tells by deployment, shown by place.
func newUsage(measure func(context.Context) (map[string]runtime.Usage, error), place func(name string) controlplane.Deployment, log *slog.Logger) *usage {
	labels := []string{labelProject, labelComponent, labelEnvironment}
	return &usage{
		measure: measure, place: place, log: log,
		memory:    prometheus.NewDesc("platform_workload_memory_bytes", "Resident memory of a deployment's processes; pages that two share count twice.", labels, nil),
		cpu:       prometheus.NewDesc("platform_workload_cpu_seconds_total", "CPU used by a deployment's living processes and their collected children.", labels, nil),
		processes: prometheus.NewDesc("platform_workload_processes", "Processes of a deployment.", labels, nil),
	}
}

// Describe names the three measurements.
func (u *usage) Describe(to chan<- *prometheus.Desc) {
	to <- u.memory
	to <- u.cpu
	to <- u.processes
}

// Collect measures. A machine that does not show its processes gives no
// samples, and says so in the log.
func (u *usage) Collect(to chan<- prometheus.Metric) {
	ctx, cancel := context.WithTimeout(context.Background(), gaugePatience)
	defer cancel()
	all, err := u.measure(ctx)
	if err != nil {
		u.log.Warn("what processes use cannot be measured", "error", err)
		return
	}
	sums := map[[3]string]runtime.Usage{} // two bindings may stand for one place
	for name, used := range all {
		d := u.place(name)
		at := [3]string{d.Project, d.Component, d.Environment}
		sum := sums[at]
		sum.MemoryBytes += used.MemoryBytes
		sum.CPUSeconds += used.CPUSeconds
		sum.Processes += used.Processes
		sums[at] = sum
	}
	for at, sum := range sums {
		to <- prometheus.MustNewConstMetric(u.memory, prometheus.GaugeValue, float64(sum.MemoryBytes), at[:]...)
		to <- prometheus.MustNewConstMetric(u.cpu, prometheus.CounterValue, sum.CPUSeconds, at[:]...)
		to <- prometheus.MustNewConstMetric(u.processes, prometheus.GaugeValue, float64(sum.Processes), at[:]...)
	}
}
