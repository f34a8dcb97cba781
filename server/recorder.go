package server

import (
	"context"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"platform.dev/platform/flowclient"
	"platform.dev/platform/server/observer"
	"platform.dev/platform/server/web"
)

const (
	recordEvery  = 30 * time.Second // every run is looked at, besides those told of
	recordedRuns = 100              // walkthroughs looked at, newest first
	eventPage    = 1000
)

// recorder makes a trace of each build and each walkthrough once it has ended,
// from what is recorded of it, and counts builds and promotions. It is a
// reader: what it looks at has happened, so that a restart makes it look again
// and record what is missing.
type recorder struct {
	telemetry *instruments
	plane     flowclient.ControlPlane
	builds    func(ctx context.Context, run string) (flowclient.Build, error)
	runs      flowclient.Runs
	contexts  flowclient.Traces // nil: commits have none
	journal   flowclient.Journal
	now       func() time.Time
	log       *slog.Logger

	built    *prometheus.CounterVec
	took     *prometheus.HistogramVec
	promoted *prometheus.CounterVec

	wake chan struct{}
	mu   sync.Mutex
	news map[string]bool // runs told of since the last pass

	ended map[string]bool // runs and walkthroughs that need no more looking at
	after int64           // the last event counted
}

// openRecorder makes the recorder; it looks from Run on.
func (r *rooms) openRecorder(_ context.Context, p *Platform) error {
	rec := &recorder{
		telemetry: &r.telemetry, plane: r.plane, builds: r.controller.Build, runs: r.store, journal: r.store, contexts: r.store,
		now: p.cfg.Now, log: p.log.With("part", "telemetry"),
		built: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "platform_builds_total", Help: "Builds ended, by how.",
		}, []string{"result"}),
		took: prometheus.NewHistogramVec(web.Native(prometheus.HistogramOpts{
			Name: "platform_build_duration_seconds", Help: "How long builds took, without their wait.",
			Buckets: prometheus.ExponentialBuckets(0.25, 2, 12),
		}), []string{"result"}),
		promoted: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "platform_promotions_total", Help: "Components promoted or rolled back, by outcome.",
		}, []string{"kind", "outcome"}),
		wake: make(chan struct{}, 1), news: map[string]bool{}, ended: map[string]bool{},
	}
	for _, c := range []prometheus.Collector{rec.built, rec.took, rec.promoted} {
		if err := r.telemetry.registry.Register(c); err != nil {
			return fmt.Errorf("recorder: %w", err)
		}
	}
	r.recorder = rec
	return nil
}

// changed is told of a run that went on; "" only asks for a look at walkthroughs and events.
func (r *recorder) changed(run string) {
	r.mu.Lock()
	if run != "" {
		r.news[run] = true
	}
	r.mu.Unlock()
	select {
	case r.wake <- struct{}{}:
	default:
	}
}

// Run looks at what is told, and every half minute at everything, until ctx
// ends. What cannot be read now is read by a later pass.
func (r *recorder) Run(ctx context.Context) error {
	tick := time.NewTicker(recordEvery)
	defer tick.Stop()
	if err := r.skipEvents(ctx); err != nil {
		r.say(ctx, err)
	}
	for whole := true; ; {
		r.say(ctx, r.pass(ctx, whole))
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
			whole = true
		case <-r.wake:
			whole = false
		}
	}
}

// say logs a pass that failed, unless it was cut short.
func (r *recorder) say(ctx context.Context, err error) {
	if err != nil && ctx.Err() == nil {
		r.log.WarnContext(ctx, "builds and walkthroughs cannot be recorded as traces for now", "error", err)
	}
}

// pass records what has ended: builds first, since walkthroughs link to them.
func (r *recorder) pass(ctx context.Context, whole bool) error {
	names, err := r.due(ctx, whole)
	if err != nil {
		return err
	}
	walks, err := r.runs.LastRuns(ctx, recordedRuns)
	if err != nil {
		return err
	}
	for _, name := range names {
		if err := r.recordBuild(ctx, name, walks); err != nil {
			return fmt.Errorf("run %s: %w", name, err)
		}
	}
	for _, w := range walks {
		if err := r.recordWalk(ctx, w); err != nil {
			return fmt.Errorf("walkthrough %s: %w", w.Project, err)
		}
	}
	return r.countEvents(ctx)
}

// due are the runs to look at.
func (r *recorder) due(ctx context.Context, whole bool) ([]string, error) {
	r.mu.Lock()
	names := r.news
	r.news = map[string]bool{}
	r.mu.Unlock()
	if whole {
		all, err := r.plane.List(ctx, flowclient.KindWorkflowRun, flowclient.Filter{})
		if err != nil {
			return nil, err
		}
		for _, o := range all {
			names[o.Metadata.Name] = true
		}
	}
	maps.DeleteFunc(names, func(name string, _ bool) bool { return r.ended["build/"+name] })
	return slices.Sorted(maps.Keys(names)), nil
}

// recordBuild makes a build's trace once it has ended, unless the store has it.
func (r *recorder) recordBuild(ctx context.Context, name string, walks []flowclient.Walkthrough) error {
	b, err := r.builds(ctx, name)
	if flowclient.IsNotFound(err) || err == nil && b.CompletedAt == nil {
		return nil // gone with its project, or under way
	}
	if err != nil {
		return err
	}
	kept, err := r.kept(ctx, flowclient.TraceBuild, b.Run, *b.CompletedAt)
	if err != nil || kept {
		return err
	}
	commit := ""
	if r.contexts != nil && b.Commit != "" {
		if commit, err = r.contexts.Recall(ctx, b.Commit); err != nil {
			return err
		}
	}
	told := buildTrace(b, commit, walkOf(walks, b.Project))
	if err := r.telemetry.record(ctx, told); err != nil {
		return err
	}
	r.ended["build/"+b.Run] = true
	r.built.WithLabelValues(result(b)).Inc()
	r.took.WithLabelValues(result(b)).Observe(told.end.Sub(told.start).Seconds())
	return nil
}

// result is how a build ended, as a metric's label: one of two words.
func result(b flowclient.Build) string {
	if b.Phase == flowclient.BuildSucceeded {
		return "passed"
	}
	return "failed"
}

// kept tells whether a trace needs no recording: it is there, or too old to be kept.
func (r *recorder) kept(ctx context.Context, kind, name string, at time.Time) (bool, error) {
	key := kind + "/" + name
	if r.ended[key] {
		return true, nil
	}
	known := r.now().Sub(at) > observer.DefaultLimits.Age
	if !known {
		var err error
		id := web.ParseTraceparent(flowclient.TraceparentOf(kind, name)).TraceID()
		if known, err = r.telemetry.observer.HasTrace(ctx, id); err != nil {
			return false, err
		}
	}
	if known {
		r.ended[key] = true
	}
	return known, nil
}

// recordWalk makes a walkthrough's trace once it has ended; it links the traces of its builds.
func (r *recorder) recordWalk(ctx context.Context, w flowclient.Walkthrough) error {
	if w.Ended == nil {
		return nil
	}
	kept, err := r.kept(ctx, flowclient.TraceWalkthrough, w.Project, *w.Ended)
	if err != nil || kept {
		return err
	}
	// The builds are asked of the store: their runs may have gone with the project.
	builds, err := r.telemetry.observer.Search(ctx, observer.Query{
		Tags: map[string]string{"service.name": buildService, "project": w.Project}, Limit: 100})
	if err != nil {
		return err
	}
	if err := r.telemetry.record(ctx, walkTrace(w, builds)); err != nil {
		return err
	}
	r.ended[flowclient.TraceWalkthrough+"/"+w.Project] = true
	return nil
}

// walks are the walkthroughs' records; the recorder is told of each end.
type walks struct {
	flowclient.Runs
	rooms *rooms
}

// UpdateRun records a step, or the end.
func (w walks) UpdateRun(ctx context.Context, run flowclient.Walkthrough) error {
	err := w.Runs.UpdateRun(ctx, run)
	if err == nil && run.Ended != nil {
		w.rooms.recorder.changed("")
	}
	return err
}
