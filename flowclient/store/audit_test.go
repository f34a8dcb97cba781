package store_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"platform.dev/platform/flowclient"
)

// witness is a bench whose controller has a history; every call is a minute later than the one before.
func witness(t *testing.T) *bench {
	b := newBench(t)
	b.deps.History, b.deps.Pulls, b.deps.Reviews, b.deps.Applied = b.store, b.plane, b.store, b.store
	b.deps.Now = func() time.Time {
		b.now = b.now.Add(time.Second)
		return b.now
	}
	var err error
	b.Controller, err = flowclient.New(b.deps)
	require.NoError(t, err)
	return b
}

// told is the whole trail that a query finds, read in pages of two, as "kind result who component: outcome".
func (b *bench) told(q flowclient.AuditQuery) (lines []string) {
	b.t.Helper()
	seen := map[string]bool{}
	for q.Limit = 2; ; {
		page, err := b.Audit(b.t.Context(), q)
		require.NoError(b.t, err)
		for _, e := range page.Entries {
			assert.False(b.t, seen[e.Ref], "%s is told twice", e.Ref)
			seen[e.Ref] = true
			lines = append(lines, strings.TrimSpace(fmt.Sprintf("%s %s %s %s", e.Kind, e.Result, e.Who, e.Component))+": "+e.Outcome)
		}
		if q.Cursor = page.Next; q.Cursor == "" {
			return lines
		}
	}
}

func TestTheAuditTrailTellsEveryDecisionOnce(t *testing.T) {
	b := witness(t)
	ctx := t.Context()
	b.shop()
	second := b.push("Second")
	asked := flowclient.Origin{Key: "zulip:31", Who: "sre", Link: "http://chat/31"}
	_, err := b.SetLock(ctx, flowclient.LockRequest{Origin: asked, Component: "shop-web", Commit: second.SHA, Reason: "bad"})
	require.NoError(t, err)
	refused := flowclient.Promotion{Origin: flowclient.Origin{Key: "zulip:32", Who: "developer", Link: "http://chat/32"}, Project: "shop"}
	_, err = b.Promote(ctx, refused)
	require.Error(t, err)
	_, err = b.ClearLock(ctx, flowclient.LockRequest{Origin: b.origin(), Component: "shop-web", Commit: second.SHA})
	require.NoError(t, err)
	b.promoted()
	_, err = b.Rollback(ctx, flowclient.Promotion{Origin: b.origin(), Project: "shop", Component: "shop-web"})
	require.NoError(t, err)
	_, err = b.Teardown(ctx, flowclient.TeardownRequest{Origin: b.origin(), Scope: "static"})
	require.NoError(t, err)

	all := b.told(flowclient.AuditQuery{})
	var heads []string
	for _, line := range all {
		head, _, _ := strings.Cut(line, ":")
		heads = append(heads, head)
	}
	assert.Equal(t, []string{
		"removal done developer", "teardown done developer", "rollback done developer shop-web", "promotion done developer shop-web", "unlock done developer shop-web",
		"refusal refused developer", "lock done sre shop-web", "commit done developer", "promotion done developer shop-web", "scaffold done developer",
	}, heads, "newest first, each once")
	assert.Contains(t, all[5], "is locked in every environment by sre")
	assert.Contains(t, all[3], "shop-web: production runs "+second.SHA[:7]+" now")

	assert.Equal(t, all[1:2], b.told(flowclient.AuditQuery{Kind: "teardown"}))
	assert.Equal(t, all[6:7], b.told(flowclient.AuditQuery{Who: "sre"}))
	assert.Equal(t, slices.Concat(all[:1], all[2:]), b.told(flowclient.AuditQuery{Project: "shop"}), "a teardown is of several projects; each has its removal")
	assert.Equal(t, slices.Concat(all[2:7], all[8:9]), b.told(flowclient.AuditQuery{Component: "shop-web"}), "also moves and refusals of the whole project")
	assert.Equal(t, all[5:6], b.told(flowclient.AuditQuery{Project: "shop", Component: "shop-web", Who: "developer", Kind: "refusal"}))
	assert.Empty(t, b.told(flowclient.AuditQuery{Project: "blog"}))

	page, err := b.Audit(ctx, flowclient.AuditQuery{Kind: "refusal"})
	require.NoError(t, err)
	e := page.Entries[0]
	assert.Equal(t, "http://chat/32", e.Link)
	assert.Contains(t, e.Gates, flowclient.AuditGate{Gate: "lock", Component: "shop-web"})
	assert.Equal(t, "event/promote/zulip:32/refused", e.Ref)
	page, err = b.Audit(ctx, flowclient.AuditQuery{Kind: "lock"})
	require.NoError(t, err)
	assert.Equal(t, "http://chat/31", page.Entries[0].Link)
	page, err = b.Audit(ctx, flowclient.AuditQuery{Kind: "rollback"})
	require.NoError(t, err)
	assert.Equal(t, "intent/"+page.Entries[0].Intent, page.Entries[0].Ref)
	assert.NotEmpty(t, page.Entries[0].Gates)
}

func TestWhatHasBegunIsToldAsOpen(t *testing.T) {
	b := witness(t)
	b.shop()
	b.push("second")
	_, _, err := b.store.Begin(t.Context(), planned(b, "shop"))
	require.NoError(t, err)
	assert.Equal(t, "promotion open developer shop-web: It was begun and has not ended yet; the next pass goes on with it.", b.told(flowclient.AuditQuery{})[0])
	require.NoError(t, b.Pass(t.Context(), true))
	assert.Contains(t, b.told(flowclient.AuditQuery{})[0], "promotion done developer shop-web: shop-web: production runs")
}

func TestFilesOfACommitAreNotReadForTheTrail(t *testing.T) {
	b := witness(t)
	b.shop()
	b.push(strings.Repeat("a large file ", 100))
	records, err := b.store.Records(t.Context(), flowclient.RecordQuery{Intents: []string{"commit"}, Limit: 1, Without: []string{"$.request.files"}})
	require.NoError(t, err)
	require.Len(t, records, 1)
	assert.NotContains(t, string(records[0].Intent.Body), `"files"`)
}

func TestWithoutAHistoryThereIsNoTrail(t *testing.T) {
	b := newBench(t)
	_, err := b.Audit(t.Context(), flowclient.AuditQuery{})
	var refusal *flowclient.Refusal
	require.ErrorAs(t, err, &refusal)
	_, err = b.Dora(t.Context(), "shop", 30)
	require.ErrorAs(t, err, &refusal)
}

func TestAProjectsDeliveryIsMeasuredFromItsJournal(t *testing.T) {
	b := witness(t)
	ctx := t.Context()
	b.shop()
	require.NoError(t, b.Pass(ctx, true)) // builds are noticed
	b.now = b.now.Add(10 * time.Minute)
	b.push("second")
	b.push("third")
	require.NoError(t, b.Pass(ctx, true))
	b.now = b.now.Add(20 * time.Minute)
	b.promoted()
	b.now = b.now.Add(5 * time.Minute)
	_, err := b.Rollback(ctx, flowclient.Promotion{Origin: b.origin(), Project: "shop"})
	require.NoError(t, err)

	r, err := b.Dora(ctx, "shop", 10)
	require.NoError(t, err)
	assert.Equal(t, "shop", r.Project)
	assert.Equal(t, 240*time.Hour, r.To.Sub(r.From))
	assert.Equal(t, 2, r.Promotions)
	assert.Equal(t, 1, r.Failed)
	assert.Equal(t, 1, r.Rollbacks)
	assert.InDelta(t, 0.5, *r.FailureRate, 1e-9)
	assert.Equal(t, 3, r.Merges)
	assert.Equal(t, 3, r.LeadTime.Count+r.Unmeasured)
	assert.InDelta(t, 5*60, r.Restore.MedianSeconds, 10)
	assert.Nil(t, r.Soak, "no soak is asked for")

	b.annotate(flowclient.KindProject, "shop", flowclient.AnnotationSoak, "1h")
	r, err = b.Dora(ctx, "shop", 1)
	require.NoError(t, err)
	require.NotNil(t, r.Soak)
	assert.EqualValues(t, 3600, r.Soak.Seconds)
	assert.InDelta(t, flowclient.Starvation(r.MergesPerHour, time.Hour), r.Soak.Survives, 1e-9)
	assert.NotEmpty(t, r.Soak.Note, "three merges in one hour meet a soak of an hour")
	b.annotate(flowclient.KindProject, "shop", flowclient.AnnotationSoak, "long")
	r, err = b.Dora(ctx, "shop", 1)
	require.NoError(t, err)
	assert.Nil(t, r.Soak, "a soak that is no duration estimates nothing")

	for _, days := range []int{0, -1, 366} {
		_, err = b.Dora(ctx, "shop", days)
		var invalid *flowclient.Invalid
		require.ErrorAs(t, err, &invalid)
		assert.Equal(t, "days", invalid.Field)
	}
	_, err = b.Dora(ctx, "blog", 30)
	assert.True(t, flowclient.IsNotFound(err))
	b.annotate(flowclient.KindProject, "shop", flowclient.AnnotationSoak, "1h")
	_, err = b.Teardown(ctx, flowclient.TeardownRequest{Origin: b.origin(), Scope: "static"})
	require.NoError(t, err)
	r, err = b.Dora(ctx, "shop", 30)
	require.NoError(t, err)
	assert.Equal(t, 2, r.Promotions, "what is recorded outlives the project")
}
