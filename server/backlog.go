package server

import (
	"context"

	"github.com/prometheus/client_golang/prometheus"
)

// backlog tells, whenever metrics are read, what is still to be said and
// answered: by bot, since bots stand still one by one.
type backlog struct {
	p     *Platform
	base  context.Context // its values; metrics are read past its end
	said  *prometheus.Desc
	heard *prometheus.Desc
}

func newBacklog(ctx context.Context, p *Platform) *backlog {
	return &backlog{p: p, base: context.WithoutCancel(ctx),
		said:  prometheus.NewDesc("platform_outbox_owed", "Messages that are still to be said, those put off included.", []string{"bot"}, nil),
		heard: prometheus.NewDesc("platform_inbox_unfinished", "Messages that were heard and are not answered yet.", []string{"bot"}, nil),
	}
}

// Describe tells the names.
func (b *backlog) Describe(to chan<- *prometheus.Desc) { to <- b.said; to <- b.heard }

// Collect counts. What cannot be read has no value.
func (b *backlog) Collect(to chan<- prometheus.Metric) {
	ctx, cancel := context.WithTimeout(b.base, gaugePatience)
	defer cancel()
	of, err := b.p.rooms.store.Backlogs(ctx)
	if err != nil {
		b.p.rooms.telemetry.log.Warn("the backlogs of the bots cannot be read", "err", err)
		return
	}
	for _, bot := range botNames {
		to <- prometheus.MustNewConstMetric(b.said, prometheus.GaugeValue, float64(of[bot].Said), bot)
		to <- prometheus.MustNewConstMetric(b.heard, prometheus.GaugeValue, float64(of[bot].Heard), bot)
	}
}
