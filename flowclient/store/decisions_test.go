package store_test

import (
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"platform.dev/platform/flowclient"
)

func TestDecisionsAreKeptOnceAndWhole(t *testing.T) {
	path, ctx := filepath.Join(t.TempDir(), "flow.db"), t.Context()
	s := open(t, path)
	denied := flowclient.Decision{
		Key: "zulip:31/denied", Kind: "denied", At: noon, Bot: "platform", Verb: "promote", Text: "promote shop", ChatID: "zulip:9", Persona: "sre", Groups: []string{"sres"},
		Actions: []string{"component:promote"}, Lacking: "component:promote", Project: "shop", Link: "http://chat/31", Question: "q", About: "a", Via: "v", Why: "w",
	}
	again := denied
	again.Text = "something else"
	for _, d := range []flowclient.Decision{denied, again} {
		require.NoError(t, s.Decided(ctx, d))
	}
	s = open(t, path)
	found, err := s.Records(ctx, flowclient.RecordQuery{Decisions: []string{"denied"}, Limit: 10})
	require.NoError(t, err)
	assert.Equal(t, []flowclient.Record{{Seq: 1, At: noon, Decision: &denied}}, found)
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
