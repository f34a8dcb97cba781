package server

import (
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"platform.dev/platform/bots"
	"platform.dev/platform/commands"
)

func TestTheTimeOfACommandLeadsToItsTrace(t *testing.T) {
	registry := prometheus.NewRegistry()
	m, err := newCommandMetrics(registry)
	require.NoError(t, err)
	const trace = "0af7651916cd43dd8448eb211c80319c"
	m.observe(bots.Observation{Bot: "platform", Verb: "promote", Effect: commands.Write, Outcome: bots.ReactionDone, Took: 40 * time.Millisecond, Trace: trace})
	m.observe(bots.Observation{Bot: "platform", Verb: "promote", Effect: commands.Write, Outcome: bots.ReactionRefused, Took: time.Millisecond})
	m.observe(bots.Observation{Bot: "platform", Outcome: bots.ReactionFailed})
	families, err := registry.Gather()
	require.NoError(t, err)
	counts, exemplars := map[string]float64{}, map[string]string{}
	for _, f := range families {
		for _, metric := range f.GetMetric() {
			name := f.GetName()
			for _, l := range metric.GetLabel() {
				name += " " + l.GetValue()
			}
			counts[name] = metric.GetCounter().GetValue() + float64(metric.GetHistogram().GetSampleCount())
			for _, b := range metric.GetHistogram().GetBucket() {
				if e := b.GetExemplar(); e != nil {
					exemplars[name] = e.GetLabel()[0].GetName() + " " + e.GetLabel()[0].GetValue()
				}
			}
		}
	}
	assert.Equal(t, map[string]float64{
		"platform_commands_total platform write check promote": 1, "platform_commands_total platform write no_entry promote": 1, "platform_commands_total platform none cross_mark none": 1,
		"platform_command_duration_seconds platform write promote": 2, "platform_command_duration_seconds platform none none": 1,
	}, counts)
	assert.Equal(t, map[string]string{"platform_command_duration_seconds platform write promote": "trace_id " + trace}, exemplars)
}
