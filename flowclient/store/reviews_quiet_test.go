package store_test

import (
	"context"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"platform.dev/platform/flowclient"
)

// listed is a control plane that counts how often it is asked for a list.
type listed struct {
	flowclient.ControlPlane
	lists atomic.Int64
}

func (l *listed) List(ctx context.Context, kind flowclient.Kind, f flowclient.Filter) ([]flowclient.Object, error) {
	l.lists.Add(1)
	return l.ControlPlane.List(ctx, kind, f)
}

// reviewing is a world with a pull request of shop whose environment is present, and whose deliveries are all lost.
func reviewing(t *testing.T, test func(w *autoWorld, plane *listed), change ...func(*flowclient.Deps)) {
	t.Helper()
	plane := &listed{}
	automatically(t, func(w *autoWorld) {
		_, err := w.Scaffold(w.Context(), flowclient.ScaffoldRequest{Origin: w.origin(), Template: "static", Project: "shop"})
		require.NoError(w, err)
		_, err = w.OpenPull(w.Context(), flowclient.PullRequest{Origin: w.origin(), Project: "shop", Branch: "feature", Title: "A feature", Files: map[string]string{"x": "1"}})
		require.NoError(w, err)
		w.later(time.Minute)
		require.Equal(w, flowclient.ReviewPresent, w.review().State)
		w.later(time.Minute)
		test(w, plane)
	}, append(change, func(d *flowclient.Deps) { plane.ControlPlane, d.ControlPlane = d.ControlPlane, plane })...)
}

// review is the one review environment; the zero value when there is none.
func (w *autoWorld) review() flowclient.Review {
	w.Helper()
	all, err := w.Reviews(w.Context())
	require.NoError(w, err)
	if len(all) == 0 {
		return flowclient.Review{}
	}
	return all[0]
}

func TestPullRequestsThatNothingHappensToListNothingOfTheControlPlane(t *testing.T) {
	reviewing(t, func(w *autoWorld, plane *listed) {
		before := plane.lists.Load()
		w.later(5 * time.Minute)
		assert.Equal(w, before, plane.lists.Load(), "the control plane tells of what changes")
		w.annotate(flowclient.KindComponent, "shop-web", "colour", "green")
		w.later(30 * time.Second)
		assert.Greater(w, plane.lists.Load(), before, "and something did")
	})
}

func TestWhatHappensToAPullRequestIsFoundThoughItsDeliveryIsLost(t *testing.T) {
	for name, c := range map[string]struct {
		happens func(w *autoWorld)
		want    func(w *autoWorld, was, is flowclient.Review)
	}{
		"a newer head": {func(w *autoWorld) {
			_, err := w.Commit(w.Context(), flowclient.CommitRequest{Origin: w.origin(), Project: "shop", Branch: "feature", Message: "m", Files: map[string]string{"x": "2"}})
			require.NoError(w, err)
		}, func(w *autoWorld, was, is flowclient.Review) {
			assert.NotEqual(w, was.Head, is.Head)
			assert.Equal(w, flowclient.ReviewPresent, is.State)
		}},
		"it is closed": {func(w *autoWorld) { require.NoError(w, w.plane.ClosePull(w.Context(), "platform/shop", 1)) },
			func(w *autoWorld, _, is flowclient.Review) { assert.Empty(w, is.State) }},
		"it is closed and opened again": {func(w *autoWorld) {
			require.NoError(w, w.plane.ClosePull(w.Context(), "platform/shop", 1))
			w.later(time.Minute)
			assert.Empty(w, w.review().State)
			require.NoError(w, w.plane.ReopenPull(w.Context(), "platform/shop", 1))
		}, func(w *autoWorld, _, is flowclient.Review) { assert.Equal(w, flowclient.ReviewPresent, is.State) }},
		"its time is over": {func(w *autoWorld) { w.later(time.Hour) },
			func(w *autoWorld, _, is flowclient.Review) { assert.Empty(w, is.State) }},
		"its component takes part no longer": {func(w *autoWorld) {
			w.annotate(flowclient.KindComponent, "shop-web", flowclient.AnnotationSkip, "true")
		},
			func(w *autoWorld, _, is flowclient.Review) { assert.Empty(w, is.State) }},
	} {
		t.Run(name, func(t *testing.T) {
			reviewing(t, func(w *autoWorld, _ *listed) {
				was := w.review()
				c.happens(w)
				w.later(2 * time.Minute)
				c.want(w, was, w.review())
			}, func(d *flowclient.Deps) { d.Settings.ReviewTTL = time.Hour })
		})
	}
}
