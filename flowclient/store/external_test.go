package store_test

import (
	"encoding/json"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"platform.dev/platform/flowclient"
)

// byHand pins production past the controller.
func (w *autoWorld) byHand(component, commit string) {
	w.Helper()
	require.NoError(w, w.plane.Bind(component+"-production", component+"-"+flowclient.ShortSHA(commit)))
	synctest.Wait()
}

func (w *autoWorld) external(count int) (body flowclient.ExternalEvent) {
	w.Helper()
	events := w.told(flowclient.EventExternal)
	require.Len(w, events, count)
	if count > 0 {
		require.NoError(w, json.Unmarshal(events[count-1].Body, &body))
	}
	return body
}

func TestAPinByHandIsNotedOnceAndTakenAsItStands(t *testing.T) {
	automatically(t, func(w *autoWorld) {
		w.project("shop", map[string]string{flowclient.AnnotationPromotion: "manual"})
		w.stage("shop-web", commitA)
		w.later(time.Second)
		_, err := w.Promote(w.Context(), flowclient.Promotion{Origin: w.origin(), Project: "shop"})
		require.NoError(w, err)
		w.later(time.Second)
		w.stage("shop-web", commitB)
		w.stage("shop-web", commitC)
		w.external(0)

		w.later(time.Second)
		w.byHand("shop-web", commitB)
		at := time.Now()
		body := w.external(1)
		assert.Equal(w, "shop-web-production", body.Binding)
		assert.Equal(w, "shop-web-aaaaaaa", body.From)
		assert.Equal(w, commitA, body.FromCommit)
		assert.Equal(w, "shop-web-bbbbbbb", body.To)
		assert.Equal(w, commitB, body.ToCommit)
		assert.Equal(w, "sre", body.By, "what the annotation says is of the pin before")
		assert.True(w, at.Equal(body.At))
		event := w.told(flowclient.EventExternal)[0]
		assert.Equal(w, "shop", event.Project)
		assert.Equal(w, "shop-web", event.Component)
		w.annotate(flowclient.KindReleaseBinding, "shop-web-production", "note", "x")
		w.restart()
		w.later(time.Hour)
		w.external(1)

		w.byHand("shop-web", commitA)
		w.external(1) // back to what the intent of the annotation pinned
		w.later(time.Second)
		w.byHand("shop-web", commitB)
		w.external(2)

		w.annotate(flowclient.KindProject, "shop", flowclient.AnnotationPromotion, "auto")
		w.requireRuns("shop-web", commitC)
		w.external(2)
	})
}

func TestADeploymentPastThePipelineIsNotedEvenWhileNobodyLooked(t *testing.T) {
	automatically(t, func(w *autoWorld) {
		w.project("shop", map[string]string{flowclient.AnnotationPromotion: "manual"})
		w.stage("shop-web", commitA)
		w.stop()
		w.later(time.Minute)
		w.plane.Watch(nil)
		_, err := w.plane.Create(w.Context(), flowclient.Object{Kind: flowclient.KindReleaseBinding, Metadata: flowclient.Metadata{Name: "shop-web-production"},
			Spec: json.RawMessage(`{"owner":{"projectName":"shop","componentName":"shop-web"},"environment":"production","releaseName":"shop-web-aaaaaaa"}`)})
		require.NoError(w, err)
		w.later(time.Minute)
		w.start()
		body := w.external(1)
		assert.Empty(w, body.From)
		assert.Empty(w, body.By)
		w.restart()
		w.external(1)
	})
}

func TestWhatWasThereBeforeTheJournalIsNoForeignPin(t *testing.T) {
	automatically(t, func(w *autoWorld) {
		w.stop()
		w.plane.Watch(nil)
		w.project("shop", map[string]string{flowclient.AnnotationPromotion: "manual"})
		w.stage("shop-web", commitA)
		_, err := w.plane.Create(w.Context(), flowclient.Object{Kind: flowclient.KindReleaseBinding, Metadata: flowclient.Metadata{Name: "shop-web-production"},
			Spec: json.RawMessage(`{"owner":{"projectName":"shop","componentName":"shop-web"},"environment":"production","releaseName":"shop-web-aaaaaaa"}`)})
		require.NoError(w, err)
		w.later(time.Minute)
		w.store = fresh(w.T)
		w.start()
		w.external(0)
		w.later(time.Hour)
		w.restart()
		w.external(0)
		w.stage("shop-web", commitB)
		w.byHand("shop-web", commitB)
		w.external(1)
	})
}

func TestAPromotionBackToWhatAPinByHandReturnedToLeavesNothingToReturnTo(t *testing.T) {
	byHand(t, nil, func(w *autoWorld) {
		w.stage("shop-web", commitA)
		_, err := w.ask()
		require.NoError(w, err)
		w.stage("shop-web", commitB)
		_, err = w.ask()
		require.NoError(w, err)
		w.byHand("shop-web", commitA) // the very release that the last promotion displaced
		w.undeploy("shop-web-production")
		w.stage("shop-web", commitA)

		out, err := w.ask()
		require.NoError(w, err)
		assert.Equal(w, flowclient.Promoted, out.Components[0].Result, "it is brought back into service")
		o, err := w.plane.Get(w.Context(), flowclient.KindReleaseBinding, "shop-web-production")
		require.NoError(w, err)
		assert.Empty(w, o.Metadata.Annotations[flowclient.AnnotationDisplaced], "production would return to what it runs")
		_, err = w.Rollback(w.Context(), flowclient.Promotion{Origin: w.origin(), Project: "shop"})
		assert.Contains(w, refusedBy(t, err, "").Sentence, "nothing recorded")
	})
}
