package store_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"platform.dev/platform/flowclient"
)

// saturday is the window of these tests, whose worlds begin on a Saturday at midnight, and opensIn how long that is before it opens.
const (
	saturday = "Sat 03:00-11:00 UTC"
	opensIn  = 3 * time.Hour
)

func TestTheOpeningOfAWindowIsToldOnceForWhatWaitedForIt(t *testing.T) {
	automatically(t, func(w *autoWorld) {
		w.project("shop", map[string]string{flowclient.AnnotationProductionWindow: saturday})
		w.project("blog", map[string]string{flowclient.AnnotationProductionWindow: saturday})
		w.stage("shop-api", commitA)
		w.stage("shop-web", commitA)
		w.auto(flowclient.EventAutoOpened, 0)
		w.later(opensIn - 1)
		w.auto(flowclient.EventAutoOpened, 0)
		w.restart()
		w.later(1)
		body := w.auto(flowclient.EventAutoOpened, 1)
		assert.Equal(w, []string{"shop-api", "shop-web"}, body.Set)
		assert.Equal(w, "Production changes to shop are allowed Sat 03:00-11:00 UTC. Open now; closes Sat 1 Jan 11:00 UTC, in 8 h.", body.Sentence)
		require.Len(w, body.Moves, 2)
		for _, m := range body.Moves {
			assert.Equal(w, flowclient.Promoted, m.Result)
			assert.Equal(w, commitA, m.ToCommit)
		}
		w.requireRuns("shop-web", commitA)
		w.restart()
		w.later(opensIn)
		w.auto(flowclient.EventAutoOpened, 1)

		e := w.told(flowclient.EventAutoOpened)[0]
		again, err := w.Replay(w.Context(), e.Key)
		require.NoError(w, err)
		assert.True(w, again.Same, again.Sentence)
	})
}

func TestACrashWhileTheWindowOpensTellsItOnceAllTheSame(t *testing.T) {
	for n := 1; n <= 5; n++ {
		for _, done := range []bool{false, true} {
			t.Run(fmt.Sprintf("write %d, done %t", n, done), func(t *testing.T) {
				automatically(t, func(w *autoWorld) {
					w.project("shop", map[string]string{flowclient.AnnotationProductionWindow: saturday})
					w.stage("shop-web", commitA)
					w.later(opensIn - 1)
					w.plane.CrashAt(n, done)
					w.later(1)
					_, died := w.plane.Revive()
					require.True(w, died)
					w.restart()
					w.later(time.Minute)
					assert.Equal(w, flowclient.Promoted, w.auto(flowclient.EventAutoOpened, 1).Moves[0].Result)
					assert.Len(w, w.told(flowclient.EventPromoted), 1)
					w.requireRuns("shop-web", commitA)
				})
			})
		}
	}
}

func TestAnOpenWindowTellsWhatElseKeepsAComponent(t *testing.T) {
	automatically(t, func(w *autoWorld) {
		w.project("shop", map[string]string{flowclient.AnnotationProductionWindow: saturday})
		w.stage("shop-api", commitA)
		w.stage("shop-web", commitA)
		w.later(opensIn - time.Second)
		w.stop() // nobody decides while it opens
		w.plane.SetReady("shop-api-staging", false)
		w.later(time.Minute)
		w.start()
		body := w.auto(flowclient.EventAutoOpened, 1)
		require.Len(w, body.Moves, 2)
		assert.Equal(w, flowclient.Retry, body.Moves[0].Result)
		assert.Contains(w, body.Moves[0].Sentence, "shop-api aaaaaaa is not Ready in staging")
		assert.Equal(w, flowclient.Promoted, body.Moves[1].Result)
		w.plane.SetReady("shop-api-staging", true)
		w.later(time.Hour)
		w.requireRuns("shop-api", commitA)
		w.auto(flowclient.EventAutoOpened, 1)
	})
}

func TestAWindowThatOpensForNobodyIsNotTold(t *testing.T) {
	for name, arrange := range map[string]func(w *autoWorld){
		"nothing waits": func(w *autoWorld) {
			w.project("shop", map[string]string{flowclient.AnnotationProductionWindow: saturday})
		},
		"it soaks until the window is open": func(w *autoWorld) {
			w.project("shop", map[string]string{flowclient.AnnotationProductionWindow: saturday, flowclient.AnnotationSoak: "4h"})
			w.stage("shop-web", commitA)
		},
		"the project is promoted by hand": func(w *autoWorld) {
			w.project("shop", map[string]string{flowclient.AnnotationProductionWindow: saturday, flowclient.AnnotationPromotion: "manual"})
			w.stage("shop-web", commitA)
		},
		"it was promoted by hand since": func(w *autoWorld) {
			w.project("shop", map[string]string{flowclient.AnnotationProductionWindow: saturday})
			w.stage("shop-web", commitA)
			w.annotate(flowclient.KindProject, "shop", flowclient.AnnotationPromotion, "manual")
		},
		"what is parked cannot be read": func(w *autoWorld) {
			w.project("shop", map[string]string{flowclient.AnnotationProductionWindow: "at night"})
			w.stage("shop-web", commitA)
			w.auto(flowclient.EventAutoBroken, 1)
			w.later(time.Hour)
			w.annotate(flowclient.KindProject, "shop", flowclient.AnnotationProductionWindow, "Sat-Sun 00:00-24:00 UTC")
			w.requireRuns("shop-web", commitA)
		},
		"it is closed again, for a new release": func(w *autoWorld) {
			w.project("shop", map[string]string{flowclient.AnnotationProductionWindow: "Sat 00:00-01:00 UTC"})
			w.later(time.Hour)
			w.stage("shop-web", commitA)
			w.later(time.Second)
			w.stage("shop-web", commitB)
			w.auto(flowclient.EventAutoParked, 2)
		},
	} {
		t.Run(name, func(t *testing.T) {
			automatically(t, func(w *autoWorld) {
				arrange(w)
				w.later(opensIn + 2*time.Hour)
				w.auto(flowclient.EventAutoOpened, 0)
			})
		})
	}
}

func TestTheEndOfAFreezeOpensTheWindowToo(t *testing.T) {
	automatically(t, func(w *autoWorld) {
		w.project("shop", nil)
		_, err := w.SetFreeze(w.Context(), flowclient.FreezeRequest{Origin: w.origin(), Until: time.Now().Add(3 * time.Hour), Reason: "stocktaking"})
		require.NoError(w, err)
		w.stage("shop-web", commitA)
		w.auto(flowclient.EventAutoParked, 1)
		w.later(3 * time.Hour)
		body := w.auto(flowclient.EventAutoOpened, 1)
		assert.Equal(w, flowclient.Promoted, body.Moves[0].Result)
		w.requireRuns("shop-web", commitA)
	})
}
