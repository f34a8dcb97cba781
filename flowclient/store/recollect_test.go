package store_test

import (
	"context"
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"platform.dev/platform/flowclient"
)

// remembered is a memory that counts how often holds are read, and does something before the n-th time is answered.
type remembered struct {
	flowclient.Standings
	reads  atomic.Int64
	before func(read int64)
}

func (m *remembered) Holds(ctx context.Context) ([]flowclient.Hold, error) {
	holds, err := m.Standings.Holds(ctx)
	if n := m.reads.Add(1); m.before != nil {
		m.before(n)
	}
	return holds, err
}

func TestAPassReadsWhatIsRememberedOnceForAllThatItDecides(t *testing.T) {
	m := &remembered{}
	automatically(t, func(w *autoWorld) {
		for i := range 20 {
			w.stage(fmt.Sprintf("p%c-web", 'a'+i), commitA)
		}
		w.later(time.Minute)
		before := m.reads.Load()
		w.Changed(flowclient.KindProject, "")
		w.later(time.Second)
		assert.EqualValues(w, 1, m.reads.Load()-before)
		assert.Equal(w, flowclient.StandWaiting, w.stands("pt-web").Standing)
	}, func(d *flowclient.Deps) { m.Standings, d.Standings, d.Settings.DefaultSoak = d.Standings, m, time.Hour })
}

func TestARollbackHoldsThoughAPassReadWhatIsHeldBeforeIt(t *testing.T) {
	m := &remembered{}
	automatically(t, func(w *autoWorld) {
		w.stage("shop-web", commitA)
		w.later(time.Second)
		w.stage("shop-web", commitB)
		w.later(time.Second)
		w.requireRuns("shop-web", commitB)
		done := make(chan error, 1)
		m.before = func(int64) { // the pass has read that nothing is held, and is about to decide about other projects first
			m.before = nil
			_, err := w.Rollback(w.Context(), flowclient.Promotion{Origin: flowclient.Origin{Key: "test:back", Who: "sre"}, Project: "shop"})
			done <- err
		}
		w.stage("blog-web", commitA)
		require.NoError(w, <-done)
		w.Changed(flowclient.KindProject, "shop")
		w.later(time.Hour)
		w.requireRuns("shop-web", commitA)
	}, func(d *flowclient.Deps) { m.Standings, d.Standings = d.Standings, m })
}
