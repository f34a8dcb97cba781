package store_test

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"testing"
	"time"

	"platform.dev/platform/fixtures"
	"platform.dev/platform/flowclient"
	"platform.dev/platform/flowclient/flowtest"
	"platform.dev/platform/flowclient/store"
)

// candidates is how many components wait for something in BenchmarkAPass.
const candidates = 10_000

// BenchmarkAPass is a pass over 10,000 components that soak, while nothing or
// one in a hundred changed, over a control plane that tells of its writes. The
// limit in the same run is a loop that does nothing but compare instants that
// were read before.
func BenchmarkAPass(b *testing.B) {
	ctx := context.Background()
	plane, c := soaking(b, ctx)
	limit := comparing()
	b.Run("unchanged", func(b *testing.B) {
		for b.Loop() {
			passed(b, c.Pass(ctx, false))
		}
		against(b, limit)
	})
	b.Run("one in a hundred changed", func(b *testing.B) {
		for b.Loop() {
			for i := range candidates / 100 {
				plane.SetReady(fmt.Sprintf("p%d-web-staging", i), true)
			}
			passed(b, c.Pass(ctx, false))
		}
		against(b, limit)
		b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/(candidates/100), "ns/changed")
	})
	b.Run("everything listed", func(b *testing.B) {
		for b.Loop() {
			passed(b, c.Pass(ctx, true))
		}
		against(b, limit)
	})
}

func passed(b *testing.B, err error) {
	b.Helper()
	if err != nil {
		b.Fatal(err)
	}
}

// against reports the time of one pass as a multiple of the limit's.
func against(b *testing.B, limit int64) {
	b.Helper()
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(limit), "x-limit")
}

// soaking is a controller that has passed over the candidates once.
func soaking(b *testing.B, ctx context.Context) (*flowtest.Plane, *flowclient.Controller) {
	b.Helper()
	s, err := store.Open(ctx, b.TempDir()+"/flow.db", nil)
	passed(b, err)
	b.Cleanup(func() { passed(b, s.Close()) })
	plane := flowtest.NewPlane(time.Now)
	for i := range candidates {
		passed(b, plane.Stage(fmt.Sprint("p", i), fmt.Sprintf("p%d-web", i), commitA, 100*mi))
	}
	c, err := flowclient.New(flowclient.Deps{
		ControlPlane: plane, Git: plane, Cluster: plane, Prober: plane, Cells: plane,
		Journal: s, Locks: s, Sightings: s, Runs: s, History: s, Standings: s, Templates: fixtures.Templates(),
		Settings: flowclient.Settings{Owner: "platform", DefaultSoak: 1000 * time.Hour, Watched: true},
		Log:      slog.New(slog.NewTextHandler(io.Discard, nil)),
	})
	passed(b, err)
	passed(b, c.Pass(ctx, true))
	plane.Watch(c.Changed)
	return plane, c
}

// compared is a candidate whose rules were read before: since when it soaks,
// for how long, and the minutes of the week in which its window is open.
type compared struct {
	since, soak   time.Duration
	opens, closes int
}

// comparing is the time of one pass over candidates whose rules were read before, in nanoseconds.
func comparing() int64 {
	const rounds = 2000
	all := make([]compared, candidates)
	for i := range all {
		all[i] = compared{since: time.Duration(i), soak: 1000 * time.Hour, opens: i % 5000, closes: i%5000 + 480}
	}
	eligible, began := 0, time.Now()
	for range rounds {
		now, minute := time.Duration(time.Now().UnixNano()), time.Now().Minute()
		for i := range all {
			if c := &all[i]; now-c.since >= c.soak && minute >= c.opens && minute < c.closes {
				eligible++
			}
		}
	}
	if took := time.Since(began).Nanoseconds(); eligible >= 0 { // so that the loop is not left out
		return max(took/rounds, 1)
	}
	return 1
}
