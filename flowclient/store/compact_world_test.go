package store_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"platform.dev/platform/flowclient"
	"platform.dev/platform/flowclient/store"
)

// TestYearsLaterWhatRunsIsStillKnown lets a platform rest for years, removes
// what is old, and starts it again.
func TestYearsLaterWhatRunsIsStillKnown(t *testing.T) {
	automatically(t, func(w *autoWorld) {
		w.stage("shop-api", commitA)
		w.stage("shop-web", commitA)
		w.later(time.Minute)
		w.stage("shop-web", commitB)
		w.later(time.Minute)
		w.lock("shop-api", commitC)
		w.stage("shop-api", commitC) // waits, after what it runs was moved
		w.later(time.Minute)
		_, err := w.Promote(w.Context(), flowclient.Promotion{Origin: w.origin(), Project: "shop", Component: "shop-api"})
		assertRefused(w, err, "lock")
		w.requireRuns("shop-api", commitA)
		before, err := w.store.Events(w.Context(), 0, 1000)
		require.NoError(w, err)
		w.stop()

		time.Sleep(3 * 365 * 24 * time.Hour)
		require.NoError(w, w.store.SetCursor(w.Context(), "announcer", "1000"))
		rows := int64(0)
		require.NoError(w, w.store.Compact(w.Context(), time.Now(), store.Keep{Messages: store.MessagesNeeded, History: flowclient.HistoryNeeded, Announced: "announcer"},
			func(_ string, n int64) { rows += n }))
		assert.Positive(w, rows)
		w.start()
		w.later(time.Minute)

		after, err := w.store.Events(w.Context(), 0, 1000)
		require.NoError(w, err)
		for _, e := range after {
			assert.Contains(w, before, e, "nothing that was removed is noted again")
		}
		assert.Empty(w, w.told(flowclient.EventExternal), "whose the pins are is known")
		for component, commit := range map[string]string{"shop-api": commitA, "shop-web": commitB} {
			e, err := w.EvidenceOfBinding(w.Context(), component+"-production")
			require.NoError(w, err)
			require.NotEmpty(w, e.Intents, component)
			assert.Contains(w, string(e.Intents[len(e.Intents)-1].Plan), commit)
			require.NotNil(w, e.Intents[0].Replayed)
			assert.True(w, *e.Intents[0].Replayed)
		}
		out, err := w.Rollback(w.Context(), flowclient.Promotion{Origin: w.origin(), Project: "shop", Component: "shop-web"})
		require.NoError(w, err)
		assert.Equal(w, flowclient.RolledBack, out.Components[0].Result)
		locks, err := w.Locks(w.Context())
		require.NoError(w, err)
		assert.Len(w, locks, 1, "locks hold until they are cleared")
	})
}
