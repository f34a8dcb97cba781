package flowtest

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"platform.dev/platform/flowclient"
)

func pullsRemembered(t *testing.T, m Memory, reopen func() Memory) {
	ctx := t.Context()
	require.NoError(t, m.MarkPull(ctx, "platform/shop", 7, noon))
	require.NoError(t, m.MarkPull(ctx, "platform/blog", 1, time.Time{}))
	require.NoError(t, m.MarkPull(ctx, "platform/shop", 7, noon.Add(-time.Hour)))
	records, err := m.BusyPulls(ctx)
	require.NoError(t, err)
	require.Len(t, records, 2)
	r := records[0]
	assert.Equal(t, flowclient.PullRecord{ID: r.ID, Repo: "platform/shop", Number: 7, Marks: 2, Touched: noon.UTC()}, r, "the newest activity counts")
	assert.True(t, records[1].Touched.IsZero())

	require.NoError(t, m.MarkPull(ctx, "platform/shop", 7, noon.Add(time.Hour)))
	r.Seen, r.Pull, r.State, r.Labels = r.Marks, "closed", flowclient.ReviewDestroying, []string{"promote"}
	require.NoError(t, m.PutPull(ctx, r, happened("review/1")))
	require.NoError(t, m.PutPull(ctx, r, happened("review/1")))
	m = reopen()
	records, err = m.BusyPulls(ctx)
	require.NoError(t, err)
	assert.EqualValues(t, 3, records[0].Marks, "a look does not take back what was pointed at meanwhile")
	assert.EqualValues(t, 2, records[0].Seen)
	assert.Equal(t, noon.Add(time.Hour).UTC(), records[0].Touched)
	assert.Equal(t, []string{"promote"}, records[0].Labels)
	assert.Equal(t, flowclient.ReviewDestroying, records[0].State)
	events, err := m.Events(ctx, 0, 10)
	require.NoError(t, err)
	assert.Len(t, events, 1)

	r.Seen, r.State = 3, ""
	require.NoError(t, m.PutPull(ctx, r))
	records, err = m.BusyPulls(ctx)
	require.NoError(t, err)
	require.Len(t, records, 1, "nothing follows from what is closed and gone")
	repositories, err := m.PullRepositories(ctx)
	require.NoError(t, err)
	assert.Equal(t, []string{"platform/blog", "platform/shop"}, repositories)
	require.NoError(t, m.ForgetPulls(ctx, "platform/shop"))
	assert.True(t, flowclient.IsNotFound(m.PutPull(ctx, r)))
	require.NoError(t, m.MarkPull(ctx, "platform/shop", 7, time.Time{}))
	records, err = m.BusyPulls(ctx)
	require.NoError(t, err)
	assert.Greater(t, records[1].ID, r.ID, "another pull request of the number is another")
}

func manifestsRemembered(t *testing.T, m Memory, reopen func() Memory) {
	ctx := t.Context()
	of := func(spec string) flowclient.AppliedManifest {
		return flowclient.AppliedManifest{Manifest: flowclient.Manifest{Labels: map[string]string{"a": "b"}, Spec: json.RawMessage(spec)}, Live: flowclient.Manifest{Spec: json.RawMessage(`{}`)}}
	}
	require.NoError(t, m.PutApplied(ctx, "platform/shop", nil))
	require.NoError(t, m.PutApplied(ctx, "platform/shop", map[string]flowclient.AppliedManifest{"Project/shop": of(`{"n":1}`), "Component/shop-web": of(`{}`)}))
	require.NoError(t, m.PutApplied(ctx, "platform/shop", map[string]flowclient.AppliedManifest{"Project/shop": of(`{"n":2}`)}))
	applied, err := reopen().Applied(ctx, "platform/shop")
	require.NoError(t, err)
	assert.Equal(t, map[string]flowclient.AppliedManifest{"Project/shop": of(`{"n":2}`), "Component/shop-web": of(`{}`)}, applied)
	none, err := m.Applied(ctx, "platform/blog")
	require.NoError(t, err)
	assert.Empty(t, none)
}

// aTrace is a trace id, and traced a context of it.
const (
	aTrace = "4bf92f3577b34da6a3ce929d0e0e4736"
	traced = "00-" + aTrace + "-00f067aa0ba902b7-01"
)

func tracesRemembered(t *testing.T, m Memory, reopen func() Memory) {
	ctx := t.Context()
	require.NoError(t, m.Remember(ctx, "aaaa", traced, noon))
	require.NoError(t, m.Remember(ctx, "bbbb", traced, noon))
	require.NoError(t, m.Remember(ctx, "aaaa", "00-ffffffffffffffffffffffffffffffff-00f067aa0ba902b7-01", noon))
	m = reopen()
	context, err := m.Recall(ctx, "aaaa")
	require.NoError(t, err)
	assert.Equal(t, traced, context)
	context, err = m.Recall(ctx, "cccc")
	require.NoError(t, err)
	assert.Empty(t, context)
	shas, err := m.Traced(ctx, aTrace)
	require.NoError(t, err)
	assert.Equal(t, []string{"aaaa", "bbbb"}, shas)
}

func historyRead(t *testing.T, m Memory, _ func() Memory) {
	ctx := t.Context()
	for _, body := range []string{`{"project":"shop"}`, `{"project":"shop","origin":{"trace":"` + traced + `"}}`, `{"project":"blog","request":{"origin":{"trace":"` + traced + `"}}}`, `{}`} {
		in := intent(body)
		in.Body = json.RawMessage(body)
		_, _, err := m.Begin(ctx, in)
		require.NoError(t, err)
	}
	keys := func(intents []flowclient.Intent, err error) (keys []string) {
		require.NoError(t, err)
		for _, in := range intents {
			keys = append(keys, in.Key)
		}
		return keys
	}
	shop := keys(m.IntentsOf(ctx, "shop", 10))
	assert.Len(t, shop, 2)
	assert.Equal(t, shop[1:], keys(m.IntentsOf(ctx, "shop", 1)), "the newest, oldest first")
	first, _, err := m.Find(ctx, shop[0])
	require.NoError(t, err)
	again, err := m.Intent(ctx, first.ID)
	require.NoError(t, err)
	assert.Equal(t, first, again)
	_, err = m.Intent(ctx, shop[0])
	assert.True(t, flowclient.IsNotFound(err), "a key is no id: %v", err)
	assert.Len(t, keys(m.IntentsTraced(ctx, aTrace)), 2)
	assert.Empty(t, keys(m.IntentsTraced(ctx, "")))
	other := happened("other")
	other.Project = "blog"
	require.NoError(t, m.Note(ctx, happened("one"), other, happened("two")))
	events, err := m.EventsOf(ctx, "shop", 1)
	require.NoError(t, err)
	require.Len(t, events, 1)
	assert.Equal(t, "two", events[0].Key)
	two, err := m.Event(ctx, "two")
	require.NoError(t, err)
	assert.Equal(t, events[0], two)
	_, err = m.Event(ctx, "three")
	assert.True(t, flowclient.IsNotFound(err), "%v", err)

	refused, locked := happened("refused"), happened("locked")
	refused.Body, locked.Body = json.RawMessage(`{"origin":{"trace":"`+traced+`"}}`), json.RawMessage(`{"trace":"`+traced+`"}`)
	require.NoError(t, m.Note(ctx, refused, locked))
	for limit, want := range map[int][]string{10: {"refused", "locked"}, 1: {"locked"}} {
		events, err = m.EventsTraced(ctx, aTrace, limit)
		require.NoError(t, err)
		var keys []string
		for _, e := range events {
			keys = append(keys, e.Key)
		}
		assert.Equal(t, want, keys, "the newest %d, oldest first", limit)
	}
	events, err = m.EventsTraced(ctx, "", 10)
	require.NoError(t, err)
	assert.Empty(t, events)
}
