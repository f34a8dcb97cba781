package store_test

import (
	"fmt"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"platform.dev/platform/flowclient/store"
)

func TestDecisionsAreKeptOnceAndReadNewestFirst(t *testing.T) {
	path, ctx := filepath.Join(t.TempDir(), "flow.db"), t.Context()
	s := open(t, path)
	for i, d := range []struct{ kind, persona string }{{"allowed", "developer"}, {"denied", "sre"}, {"allowed", "sre"}, {"unknown", ""}} {
		for range 2 {
			require.NoError(t, s.Decided(ctx, fmt.Sprintf("zulip:%d/%s", i, d.kind), d.kind, noon.Add(time.Duration(i)*time.Second), fmt.Appendf(nil, `{"persona":%q}`, d.persona)))
		}
	}
	s = open(t, path)
	all, err := s.Decisions(ctx, store.DecisionQuery{})
	require.NoError(t, err)
	require.Len(t, all, 4)
	assert.Equal(t, noon.Add(time.Second), all[2].At)
	assert.JSONEq(t, `{"persona":"sre"}`, string(all[2].Body))
	for _, c := range []struct {
		query store.DecisionQuery
		want  []string
	}{
		{store.DecisionQuery{}, []string{"zulip:3/unknown", "zulip:2/allowed", "zulip:1/denied", "zulip:0/allowed"}},
		{store.DecisionQuery{Kind: "allowed"}, []string{"zulip:2/allowed", "zulip:0/allowed"}},
		{store.DecisionQuery{Who: "sre"}, []string{"zulip:2/allowed", "zulip:1/denied"}},
		{store.DecisionQuery{Who: "sre", Kind: "denied"}, []string{"zulip:1/denied"}},
		{store.DecisionQuery{Limit: 1, Before: all[1].Seq}, []string{"zulip:1/denied"}},
		{store.DecisionQuery{Kind: "stale"}, nil},
	} {
		found, err := s.Decisions(ctx, c.query)
		require.NoError(t, err)
		var keys []string
		for _, d := range found {
			keys = append(keys, d.Key)
		}
		assert.Equal(t, c.want, keys, "%+v", c.query)
	}
}

func TestAQuestionIsForgottenAMonthAfterItCouldBeAnswered(t *testing.T) {
	s, ctx := open(t, filepath.Join(t.TempDir(), "flow.db")), t.Context()
	asked := func() (ids []string) {
		require.NoError(t, s.Asked(ctx, "platform", time.Unix(0, 0), func(id string, _ []byte, _, _, _ string) error {
			ids = append(ids, id)
			return nil
		}))
		return ids
	}
	require.NoError(t, s.Ask(ctx, "old", "platform", []byte("{}"), noon))
	require.NoError(t, s.Ask(ctx, "newer", "platform", []byte("{}"), noon.AddDate(0, 0, 29)))
	assert.Equal(t, []string{"old", "newer"}, asked())
	require.NoError(t, s.Ask(ctx, "newest", "platform", []byte("{}"), noon.AddDate(0, 0, 31)))
	assert.Equal(t, []string{"newer", "newest"}, asked())
}
