package store_test

import (
	"database/sql"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"platform.dev/platform/flowclient/store"
)

func unfinished(t *testing.T, s *store.Store) (keys []string) {
	t.Helper()
	require.NoError(t, s.Unfinished(t.Context(), func(key string, at time.Time, payload []byte) error {
		assert.Equal(t, noon, at)
		assert.Equal(t, "text of "+key, string(payload))
		keys = append(keys, key)
		return nil
	}))
	return keys
}

func TestInboxRemembersUntilFinished(t *testing.T) {
	path, ctx := filepath.Join(t.TempDir(), "flow.db"), t.Context()
	s := open(t, path)
	for _, key := range []string{"zulip:3", "zulip:1", "zulip:2"} {
		ok, err := s.Hear(ctx, key, noon, []byte("text of "+key))
		require.NoError(t, err)
		assert.True(t, ok)
	}
	ok, err := s.Hear(ctx, "zulip:1", noon.Add(time.Hour), []byte("again"))
	require.NoError(t, err)
	assert.False(t, ok, "a message heard twice is not fresh")

	s = open(t, path)
	assert.Equal(t, []string{"zulip:3", "zulip:1", "zulip:2"}, unfinished(t, s), "oldest first, after a restart too")
	require.NoError(t, s.Finish(ctx, "zulip:3", "check", noon))
	require.NoError(t, s.Finish(ctx, "zulip:3", "cross_mark", noon))
	require.NoError(t, s.Finish(ctx, "zulip:99", "check", noon), "reads are not recorded, and finished all the same")
	assert.Equal(t, []string{"zulip:1", "zulip:2"}, unfinished(t, s))
	ok, err = s.Hear(ctx, "zulip:3", noon, []byte("again"))
	require.NoError(t, err)
	assert.False(t, ok, "what is finished is remembered")

	stop := errors.New("stop")
	require.ErrorIs(t, s.Unfinished(ctx, func(key string, _ time.Time, _ []byte) error {
		return errors.Join(s.Finish(ctx, key, "check", noon), stop)
	}), stop)
	assert.Equal(t, []string{"zulip:2"}, unfinished(t, s))
}

func TestCursorsAndDeliveriesSurviveARestart(t *testing.T) {
	path, ctx := filepath.Join(t.TempDir(), "flow.db"), t.Context()
	s := open(t, path)
	value, err := s.Cursor(ctx, "zulip:platform")
	require.NoError(t, err)
	assert.Empty(t, value)
	require.NoError(t, s.SetCursor(ctx, "zulip:platform", "31"))
	require.NoError(t, s.SetCursor(ctx, "zulip:platform", "32"))
	first, err := s.Record(ctx, "8e0e", "push", noon)
	require.NoError(t, err)
	assert.True(t, first)

	s = open(t, path)
	value, err = s.Cursor(ctx, "zulip:platform")
	require.NoError(t, err)
	assert.Equal(t, "32", value)
	for kind, want := range map[string]bool{"push": false, "pull_request": true} {
		got, err := s.Record(ctx, "8e0e", kind, noon)
		require.NoError(t, err)
		assert.Equal(t, want, got, kind)
	}
}

func TestDeliveriesAreForgottenWhenNobodyRepeatsThemAnyMore(t *testing.T) {
	s, ctx := fresh(t), t.Context()
	for _, c := range []struct {
		id    string
		day   int
		fresh bool
	}{{"8e0e", 0, true}, {"8e0e", 29, false}, {"other", 30, true}, {"8e0e", 30, false}, {"other", 31, false}, {"8e0e", 31, true}, {"8e0e", 61, false}, {"8e0e", 62, true}, {"8e0e", 62, false}} {
		got, err := s.Record(ctx, c.id, "sync", noon.AddDate(0, 0, c.day))
		require.NoError(t, err)
		assert.Equal(t, c.fresh, got, "%s on day %d", c.id, c.day)
	}
}

func TestOldDeliveriesAreRemoved(t *testing.T) {
	path, ctx := filepath.Join(t.TempDir(), "flow.db"), t.Context()
	s := open(t, path)
	const each = 4
	for day := range 100 {
		for n := range each {
			fresh, err := s.Record(ctx, fmt.Sprintf("%d-%d", day, n), "push", noon.AddDate(0, 0, day))
			require.NoError(t, err)
			require.True(t, fresh)
		}
	}
	db, err := sql.Open("sqlite", path)
	require.NoError(t, err)
	defer db.Close()
	var kept int
	require.NoError(t, db.QueryRowContext(ctx, "SELECT count(*) FROM deliveries").Scan(&kept))
	assert.GreaterOrEqual(t, kept, 31*each, "those of today, and of thirty days before")
	assert.LessOrEqual(t, kept, 31*each+64, "and what was recorded since old ones were removed")
}

func TestEveryDurableWriteIsTold(t *testing.T) {
	var told []string
	s, err := store.Open(t.Context(), filepath.Join(t.TempDir(), "flow.db"), func(file, op string) { told = append(told, file+" "+op) })
	require.NoError(t, err)
	defer s.Close()
	_, err = s.Hear(t.Context(), "zulip:1", noon, []byte("x"))
	require.NoError(t, err)
	require.NoError(t, s.Put(t.Context(), "k", "platform", []byte("p"), []byte("x"), noon))
	_, err = s.Locks(t.Context())
	require.NoError(t, err)
	assert.Equal(t, []string{"flow hear", "flow put"}, told, "reads write nothing")
}

func TestAFileThatIsNoDatabaseIsRefused(t *testing.T) {
	path := filepath.Join(t.TempDir(), "flow.db")
	require.NoError(t, os.WriteFile(path, []byte("this is not a database, but a text of some length"), 0o600))
	_, err := store.Open(t.Context(), path, nil)
	require.ErrorContains(t, err, path)
}
