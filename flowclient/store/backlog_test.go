package store_test

import (
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"platform.dev/platform/flowclient/store"
)

func TestBacklogsAreCountedByBot(t *testing.T) {
	s, err := store.Open(t.Context(), filepath.Join(t.TempDir(), "flow.db"), nil)
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, s.Close()) })
	all, err := s.Backlogs(t.Context())
	require.NoError(t, err)
	assert.Empty(t, all)
	for key, bot := range map[string]string{"a": "platform", "b": "platform", "c": "walkthrough", "d": "walkthrough"} {
		require.NoError(t, s.Put(t.Context(), key, bot, []byte(`{}`), []byte(`{}`), noon))
		_, err := s.Hear(t.Context(), key, noon, []byte(`{"bot":"`+bot+`"}`))
		require.NoError(t, err)
	}
	for _, row := range owed(t, s, "walkthrough", noon) {
		if row.Key == "c" {
			require.NoError(t, s.Sent(t.Context(), row.ID, row.Rev, "m", noon))
		} else {
			require.NoError(t, s.Later(t.Context(), row.ID, noon.Add(time.Hour), "slow down"))
		}
	}
	require.NoError(t, s.Finish(t.Context(), "a", "done", noon))
	all, err = s.Backlogs(t.Context())
	require.NoError(t, err)
	assert.Equal(t, map[string]store.Backlog{"platform": {Said: 2, Heard: 1}, "walkthrough": {Said: 1, Heard: 2}}, all, "what is put off is owed")
}
