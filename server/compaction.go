package server

import (
	"context"
	"log/slog"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"platform.dev/platform/announcer"
	"platform.dev/platform/flowclient"
	"platform.dev/platform/flowclient/store"
)

const (
	// compactFirst is how long after the start rows are removed for the first time: a start has better things to do.
	compactFirst = time.Minute
	// compactEvery is how often they are removed from then on.
	compactEvery = time.Hour
)

// The ages at which rows go that nothing needs any more, where none are chosen.
const (
	keepMessages = 30 * 24 * time.Hour
	keepHistory  = 500 * 24 * time.Hour
)

// compaction removes what nothing needs any more, so that flow.db does not grow for ever.
type compaction struct {
	store   *store.Store
	keep    store.Keep
	removed *prometheus.CounterVec
	now     func() time.Time
	log     *slog.Logger
}

// openCompaction makes it; it removes nothing before Run.
func (r *rooms) openCompaction(_ context.Context, p *Platform) error {
	r.compaction = &compaction{store: r.store, keep: p.cfg.keep(), now: p.cfg.Now, log: p.log.With("part", "compaction"),
		removed: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "platform_rows_removed_total", Help: "Rows removed because of their age that nothing needs any more.",
		}, []string{"table"})}
	if r.announcing {
		r.compaction.keep.Announced = announcer.CursorName
	}
	return r.telemetry.registry.Register(r.compaction.removed)
}

// keep is what is chosen, else the default. History is what the measures of
// delivery look back on, at least.
func (c Config) keep() store.Keep {
	chosen := func(d, otherwise, least time.Duration) time.Duration {
		switch {
		case d < 0:
			return 0 // for ever
		case d == 0:
			return otherwise
		}
		return max(d, least)
	}
	return store.Keep{Messages: chosen(c.KeepMessages, keepMessages, store.MessagesNeeded), History: chosen(c.KeepHistory, keepHistory, flowclient.HistoryNeeded)}
}

// Run removes what is old, now and then, until ctx ends. What fails is tried again the next time.
func (c *compaction) Run(ctx context.Context) error {
	due := time.NewTimer(compactFirst)
	defer due.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-due.C:
		}
		rows := int64(0)
		err := c.store.Compact(ctx, c.now(), c.keep, func(table string, n int64) {
			c.removed.WithLabelValues(table).Add(float64(n))
			rows += n
		})
		if err != nil && ctx.Err() == nil {
			c.log.WarnContext(ctx, "old rows are not removed for now", "err", err)
		}
		if rows > 0 {
			c.log.InfoContext(ctx, "old rows were removed", "rows", rows)
		}
		due.Reset(compactEvery)
	}
}
