package store_test

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"platform.dev/platform/flowclient"
)

// resource makes a resource of the project shop.
func (w *autoWorld) resource(name string) {
	w.Helper()
	_, err := w.plane.Create(w.Context(), flowclient.Object{Kind: flowclient.KindResource, Metadata: flowclient.Metadata{Name: name},
		Spec: json.RawMessage(`{"owner":{"projectName":"shop"},"type":{"kind":"ClusterResourceType","name":"postgres"}}`)})
	require.NoError(w, err)
}

const madeSince = "More than code changes: of shop-web between aaaaaaa and bbbbbbb: the resource orders, made since. A rollback would not take that back; check that the older code could work with it."

func TestAPromotionOfMoreThanCodeSaysSoInItsAnswerAndItsRecord(t *testing.T) {
	byHand(t, nil, func(w *autoWorld) {
		w.stage("shop-web", commitA)
		out, err := w.ask()
		require.NoError(w, err)
		assert.Empty(w, out.Note, "what is new as a whole is no change")
		w.later(time.Second)
		w.resource("orders")
		w.stage("shop-web", commitB)

		out, err = w.ask(func(r *flowclient.Promotion) { r.DryRun = true })
		require.NoError(w, err)
		assert.Equal(w, madeSince, out.Note)
		why, err := w.Why(w.Context(), "shop", "")
		require.NoError(w, err)
		assert.Contains(w, why.Components[0].Sentence, "More than code would change: the resource orders, made since.")

		out, err = w.ask()
		require.NoError(w, err)
		assert.Equal(w, madeSince, out.Note, "a dry run says what the promotion does")
		w.requireWarned(1)

		w.stage("shop-web", commitC)
		out, err = w.ask()
		require.NoError(w, err)
		assert.Empty(w, out.Note, "production has the resource by now")
	})
}

func TestAnAutomaticPromotionOfMoreThanCodeSaysSoToo(t *testing.T) {
	automatically(t, func(w *autoWorld) {
		w.stage("shop-web", commitA)
		w.later(time.Second)
		w.resource("orders")
		w.stage("shop-web", commitB)
		w.requireRuns("shop-web", commitB)
		w.requireWarned(1)
	})
}

// requireWarned requires that the newest promotion was announced and recorded with the warning, and is decided again as it was.
func (w *autoWorld) requireWarned(promotion int) {
	w.Helper()
	events := w.told(flowclient.EventPromoted)
	require.Greater(w, len(events), promotion)
	var body flowclient.MoveEvent
	require.NoError(w, json.Unmarshal(events[promotion].Body, &body))
	assert.Equal(w, madeSince, body.Outcome.Note)
	in, found, err := w.store.Find(w.Context(), body.Origin.Key)
	require.NoError(w, err)
	require.True(w, found)
	again, err := w.Replay(w.Context(), in.ID)
	require.NoError(w, err)
	assert.True(w, again.Same, again.Sentence)
	assert.Contains(w, string(again.Replayed), `"differs":["the resource orders, made since"]`)
}
