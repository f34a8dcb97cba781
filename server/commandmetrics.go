package server

import (
	"errors"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"platform.dev/platform/bots"
	"platform.dev/platform/server/web"
)

// commandMetrics counts and times what bots are asked: by bot, verb, effect and
// outcome, never by person or text, whose number nobody bounds.
type commandMetrics struct {
	total   *prometheus.CounterVec
	seconds *prometheus.HistogramVec
}

// noVerb stands for what was not understood as a command.
const noVerb = "none"

func newCommandMetrics(registry prometheus.Registerer) (*commandMetrics, error) {
	m := &commandMetrics{
		total: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "platform_commands_total", Help: "Messages to bots that were answered, by the reaction that tells the outcome.",
		}, []string{"bot", "verb", "effect", "outcome"}),
		seconds: prometheus.NewHistogramVec(web.Native(prometheus.HistogramOpts{
			Name: "platform_command_duration_seconds", Help: "How long answers took, from the moment they were begun.",
		}), []string{"bot", "verb", "effect"}),
	}
	return m, errors.Join(registry.Register(m.total), registry.Register(m.seconds))
}

// observe takes one answer in; its trace is the exemplar.
func (m *commandMetrics) observe(o bots.Observation) {
	if o.Verb == "" {
		o.Verb, o.Effect = noVerb, noVerb
	}
	m.total.WithLabelValues(o.Bot, o.Verb, string(o.Effect), o.Outcome).Inc()
	timer := m.seconds.WithLabelValues(o.Bot, o.Verb, string(o.Effect))
	if with, ok := timer.(prometheus.ExemplarObserver); ok && o.Trace != "" {
		with.ObserveWithExemplar(o.Took.Seconds(), prometheus.Labels{"trace_id": o.Trace})
		return
	}
	timer.Observe(o.Took.Seconds())
}

// watch registers what a bot is asked for its state whenever metrics are read.
func (m *commandMetrics) watch(registry prometheus.Registerer, name string, r *bots.Runtime) error {
	label := prometheus.Labels{"bot": name}
	gauge := func(name, help string, read func() float64) error {
		return registry.Register(prometheus.NewGaugeFunc(prometheus.GaugeOpts{Name: name, Help: help, ConstLabels: label}, read))
	}
	err := errors.Join(
		gauge("platform_bot_messages_waiting", "Messages that wait for those before them in their place.", func() float64 { waiting, _ := r.Depth(); return float64(waiting) }),
		gauge("platform_bot_messages_running", "Messages that are being answered.", func() float64 { _, running := r.Depth(); return float64(running) }))
	if _, _, ok := r.Connection(); !ok {
		return err
	}
	return errors.Join(err,
		gauge("platform_bot_connected", "1 while the bot hears its chat.", func() float64 {
			if connected, _, _ := r.Connection(); connected {
				return 1
			}
			return 0
		}),
		registry.Register(prometheus.NewCounterFunc(prometheus.CounterOpts{
			Name: "platform_bot_reconnects_total", Help: "How often the bot heard its chat again after it was lost.", ConstLabels: label,
		}, func() float64 { _, again, _ := r.Connection(); return float64(again) })))
}

// deaf tells which bots do not hear their chat, and whether they know people as
// people.yaml has them and ask as the operator's policy says, for the health of
// the surface that they ask.
func (r *rooms) deaf(now time.Time, policy Confirmer) error {
	var errs []error
	if file, ok := policy.(interface{ Health() error }); ok {
		errs = append(errs, file.Health())
	}
	if r.people != nil {
		errs = append(errs, r.people.Health())
	}
	for _, b := range r.bots {
		errs = append(errs, b.runtime.Health(now))
	}
	return errors.Join(errs...)
}
