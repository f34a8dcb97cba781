package store_test

import (
	"context"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"platform.dev/platform/flowclient"
)

func TestRule7CapacityIsAskedOnceForTheWholeSetAndForceLiftsIt(t *testing.T) {
	byHand(t, nil, func(w *autoWorld) {
		w.stageOf("shop-api", commitA, 300*mi)
		w.stageOf("shop-web", commitA, 200*mi)
		out, err := w.ask(func(r *flowclient.Promotion) { r.DryRun = true })
		require.NoError(w, err)
		for _, v := range out.Components[0].Gates {
			if v.Gate == "capacity" {
				assert.True(w, v.Pass)
				assert.NotEmpty(w, v.Sentence, "without a quota it passes with a note")
			}
		}

		w.quota(1000*mi, 300*mi)
		_, err = w.ask()
		r := refusedBy(w, err, "capacity")
		assert.Contains(w, r.Sentence, "memory needs 500Mi + 307Mi margin; 300Mi of 1000Mi used; short by 107Mi. shop-api alone would fit.")
		w.requireRuns("shop-api", "")
		w.requireRuns("shop-web", "")
		_, err = w.ask()
		assertRefused(w, err, "capacity")

		out, err = w.ask(func(r *flowclient.Promotion) { r.Component = "shop-api" })
		require.NoError(w, err, "what was refused a moment ago is asked again: a person waits for no backoff")
		assert.Equal(w, flowclient.Promoted, out.Components[0].Result, "the subset that was named fits")
		w.quota(1000*mi, 600*mi) // with what runs now
		_, err = w.ask()
		assertRefused(w, err, "capacity")
		out, err = w.ask(forced)
		require.NoError(w, err)
		assert.Contains(w, out.Note, "Lifted by force: ")
		w.requireRuns("shop-web", commitA)

		w.stageOf("shop-web", commitB, 200*mi)
		_, err = w.ask(forced)
		require.NoError(w, err)
		w.quota(1000*mi, 999*mi)
		back, err := w.Rollback(w.Context(), flowclient.Promotion{Origin: w.origin(), Project: "shop", Component: "shop-web"})
		require.NoError(w, err, "a rollback is not asked for room")
		assert.Equal(w, flowclient.RolledBack, back.Components[0].Result)
	})
}

func TestRule8ARefusalIsToldOncePerRequestAndNeverDelaysIt(t *testing.T) {
	byHand(t, map[string]string{flowclient.AnnotationProductionWindow: "Mon 09:00-17:00 UTC"}, func(w *autoWorld) {
		w.stage("shop-web", commitA)
		same := flowclient.Promotion{Origin: w.origin(), Project: "shop"}
		for range 3 {
			_, err := w.Promote(w.Context(), same)
			assertRefused(w, err, "window")
		}
		assert.Len(w, w.told(flowclient.EventPromoteRefuse), 1, "the same request is told once")
		_, err := w.ask()
		assertRefused(w, err, "window")
		assert.Len(w, w.told(flowclient.EventPromoteRefuse), 2)
	})
}

// paged is a prober whose pages answer as told.
type paged struct {
	status  int
	unbound bool
}

func (p *paged) Probe(context.Context, string) (status int, unbound bool, err error) {
	return p.status, p.unbound, nil
}

func TestRule9AnyStatusBelow500PassesAndTheGatewaysOwnIsSaid(t *testing.T) {
	page := &paged{}
	byHand(t, map[string]string{flowclient.AnnotationPromotionCheck: "http"}, func(w *autoWorld) {
		w.stage("shop-web", commitA)
		for status, want := range map[int]string{500: flowclient.Retry, 503: flowclient.Retry, 0: flowclient.Retry, 499: flowclient.Promoted, 404: flowclient.Promoted, 301: flowclient.Promoted} {
			page.status = status
			out, err := w.ask(func(r *flowclient.Promotion) { r.DryRun = true })
			require.NoError(w, err)
			assert.Equal(w, want, out.Components[0].Result, "%d", status)
		}
		page.status, page.unbound = 404, true
		out, err := w.ask()
		require.NoError(w, err)
		assert.Equal(w, flowclient.Promoted, out.Components[0].Result, "the document says any status")
		assert.Equal(w, "The URL check of shop-web was answered by the gateway, not by the application.", out.Note)

		w.annotate(flowclient.KindProject, "shop", flowclient.AnnotationPromotionCheck, "tcp")
		w.stage("shop-web", commitB)
		out, err = w.ask()
		require.NoError(w, err)
		assert.Contains(w, out.Components[0].Sentence, `the promotion check "tcp" of shop is not known`)
	}, func(d *flowclient.Deps) { d.Prober = page })
}

func TestRule10ThePromoteLabelActsOnAMergedPullRequestForItsMergeCommit(t *testing.T) {
	m := reviewed(t, 0)
	m.passes(t)
	production := func() (commit string) {
		d, err := m.flow.Delivery(t.Context())
		require.NoError(t, err)
		for _, e := range d.Components[0].Environments {
			if e.Environment == flowclient.Production {
				return e.Commit
			}
		}
		return ""
	}
	require.NoError(t, m.plane.LabelPull(t.Context(), "platform/shop", 1, "promote"))
	m.passes(t)
	assert.Empty(t, production(), "an open pull request promotes nothing")
	assert.Contains(t, m.comment(t), "When this is merged and staging runs the merge commit, that is promoted.")
	merged, err := m.flow.Merge(t.Context(), flowclient.MergeRequest{Origin: m.origin(), Project: "shop", Number: 1})
	require.NoError(t, err)
	m.passes(t)
	m.passes(t)
	assert.Equal(t, merged.MergeCommit, production())
	assert.Contains(t, m.comment(t), "production runs "+merged.MergeCommit[:7]+" now")
	decidedAgain(t, m.flow, "shop-web-production", 1, 0)

	_, err = m.flow.OpenPull(t.Context(), flowclient.PullRequest{Origin: m.origin(), Project: "shop", Branch: "second", Title: "Second", Files: map[string]string{"x": "2"}})
	require.NoError(t, err)
	_, err = m.flow.Merge(t.Context(), flowclient.MergeRequest{Origin: m.origin(), Project: "shop", Number: 2})
	require.NoError(t, err)
	_, err = m.flow.Commit(t.Context(), flowclient.CommitRequest{Origin: m.origin(), Project: "shop", Message: "later", Files: map[string]string{"x": "3"}})
	require.NoError(t, err)
	require.NoError(t, m.plane.LabelPull(t.Context(), "platform/shop", 2, "promote"))
	m.passes(t)
	m.passes(t)
	assert.Equal(t, merged.MergeCommit, production(), "what came later is not promoted in its name")
	texts, err := m.plane.PullComments(t.Context(), "platform/shop", 2)
	require.NoError(t, err)
	require.NotEmpty(t, texts)
	assert.Contains(t, texts[len(texts)-1], "Superseded")
}

func TestRule11AReviewEnvironmentEndsWithItsPullRequestAndOnlyWithThat(t *testing.T) {
	m := newReviewMachine(t, t, filepath.Join(t.TempDir(), "flow.db"), 1, 0)
	t.Cleanup(func() { assert.NoError(t, m.store.Close()) })
	open := func(branch string) flowclient.Pull {
		p, err := m.flow.OpenPull(t.Context(), flowclient.PullRequest{Origin: m.origin(), Project: "shop", Branch: branch, Title: branch, Files: map[string]string{"x": branch}})
		require.NoError(t, err)
		return p
	}
	one, two := open("one"), open("two")
	for range 3 {
		m.passes(t)
	}
	left := m.left(t)
	assert.Len(t, left, 1, "the cap is kept")
	binding, err := m.plane.Get(t.Context(), flowclient.KindReleaseBinding, "shop-web-pr-1-pr-1")
	require.NoError(t, err)
	assert.Equal(t, "true", binding.Metadata.Annotations[flowclient.AnnotationOwned])
	texts, err := m.plane.PullComments(t.Context(), "platform/shop", two.Number)
	require.NoError(t, err)
	assert.NotEmpty(t, texts, "the pull request is told so")

	m.gitOut = true
	_ = m.flow.Pass(t.Context(), true) // it says that the git server cannot be read
	m.gitOut = false
	assert.Equal(t, left, m.left(t), "a listing that fails destroys nothing")

	require.NoError(t, m.plane.ClosePull(t.Context(), "platform/shop", two.Number))
	require.NoError(t, m.plane.ClosePull(t.Context(), "platform/shop", one.Number))
	for range 3 {
		m.passes(t)
	}
	assert.Empty(t, m.left(t), "a closed pull request leaves nothing behind")
	require.NoError(t, m.flow.Delivered(t.Context(), flowclient.PullDelivery{ID: "late", Repo: "platform/shop", Number: one.Number, Action: "opened", At: m.now.Add(-time.Hour)}))
	m.passes(t)
	assert.Empty(t, m.left(t), "an opening that is heard after the close makes nothing")
}

func TestRule12APersonBringsBackWhatIsOutOfService(t *testing.T) {
	byHand(t, nil, func(w *autoWorld) {
		w.stage("shop-web", commitA)
		_, err := w.ask()
		require.NoError(w, err)
		w.undeploy("shop-web-production")
		w.annotate(flowclient.KindProject, "shop", flowclient.AnnotationPromotion, "auto")
		w.later(10 * time.Minute)
		why, err := w.Why(w.Context(), "shop", "")
		require.NoError(w, err)
		assert.Contains(w, why.Components[0].Automatic, "is not put back by itself")
		out, err := w.ask()
		require.NoError(w, err)
		assert.Equal(w, "shop-web: production was out of service and runs aaaaaaa again.", out.Components[0].Sentence)
	})
}
