package server

import (
	"context"
	"log/slog"
	"path/filepath"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"platform.dev/platform/flowclient"
	"platform.dev/platform/flowclient/store"
)

func TestOldRowsAreRemovedAMinuteAfterTheStartAndEveryHour(t *testing.T) {
	path := filepath.Join(t.TempDir(), "flow.db")
	synctest.Test(t, func(t *testing.T) {
		s, err := store.Open(t.Context(), path, nil)
		require.NoError(t, err)
		defer func() { assert.NoError(t, s.Close()) }()
		hears := func(key string) {
			_, err := s.Hear(t.Context(), key, time.Now(), []byte(`{}`))
			require.NoError(t, err)
			require.NoError(t, s.Finish(t.Context(), key, "done", time.Now()))
		}
		known := func(key string) bool {
			fresh, err := s.Hear(t.Context(), key, time.Now(), []byte(`{}`))
			require.NoError(t, err)
			return !fresh
		}
		hears("old")
		hears("older")
		time.Sleep(90 * time.Minute)
		hears("newer")
		time.Sleep(keepMessages - 90*time.Minute - 30*time.Second)

		registry := prometheus.NewRegistry()
		p := &Platform{cfg: Config{Now: time.Now}, log: slog.New(slog.DiscardHandler)}
		r := &rooms{store: s, telemetry: instruments{registry: registry}}
		require.NoError(t, r.openCompaction(t.Context(), p))
		ctx, stop := context.WithCancel(t.Context())
		ended := make(chan error, 1)
		go func() { ended <- r.compaction.Run(ctx) }()
		removed := func() (n float64) {
			families, err := registry.Gather()
			require.NoError(t, err)
			for _, f := range families {
				for _, m := range f.GetMetric() {
					n += m.GetCounter().GetValue()
				}
			}
			return n
		}
		time.Sleep(time.Minute - time.Second)
		synctest.Wait()
		assert.Zero(t, removed(), "a start has better things to do")
		time.Sleep(time.Second)
		synctest.Wait()
		assert.InDelta(t, 2, removed(), 0)
		time.Sleep(time.Hour)
		synctest.Wait()
		assert.InDelta(t, 2, removed(), 0)
		time.Sleep(time.Hour)
		synctest.Wait()
		assert.InDelta(t, 3, removed(), 0)
		assert.False(t, known("newer"))
		stop()
		require.NoError(t, <-ended)
	})
}

func TestWhatIsKeptIsNeverLessThanIsNeeded(t *testing.T) {
	for _, tc := range []struct {
		name string
		cfg  Config
		want store.Keep
	}{
		{"nothing chosen", Config{}, store.Keep{Messages: keepMessages, History: keepHistory}},
		{"for ever", Config{KeepMessages: -1, KeepHistory: -1}, store.Keep{}},
		{"too little", Config{KeepMessages: 1, KeepHistory: 1}, store.Keep{Messages: store.MessagesNeeded, History: flowclient.HistoryNeeded}},
		{"more", Config{KeepMessages: 2 * keepMessages, KeepHistory: 2 * keepHistory}, store.Keep{Messages: 2 * keepMessages, History: 2 * keepHistory}},
	} {
		assert.Equal(t, tc.want, tc.cfg.keep(), tc.name)
	}
}
