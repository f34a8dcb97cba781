package store_test

import (
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestAProgramsRunBeginsOnceAndItsFirstAnswerStays(t *testing.T) {
	path, ctx := filepath.Join(t.TempDir(), "flow.db"), t.Context()
	s := open(t, path)
	begin := func(key string, at time.Time) (string, bool) {
		answer, fresh, err := s.BeginProgram(ctx, key, at)
		require.NoError(t, err)
		return string(answer), fresh
	}
	_, fresh := begin("zulip:31", noon)
	assert.True(t, fresh)
	s = open(t, path) // a crash before its end
	answer, fresh := begin("zulip:31", noon)
	assert.False(t, fresh)
	assert.Empty(t, answer)
	require.NoError(t, s.EndProgram(ctx, "zulip:31", []byte("first"), noon))
	require.NoError(t, s.EndProgram(ctx, "zulip:31", []byte("second"), noon))
	s = open(t, path)
	answer, fresh = begin("zulip:31", noon)
	assert.False(t, fresh)
	assert.Equal(t, "first", answer)

	begin("zulip:40", noon.Add(89*24*time.Hour))
	_, fresh = begin("zulip:31", noon)
	assert.False(t, fresh, "remembered for three months")
	begin("zulip:41", noon.Add(91*24*time.Hour))
	_, fresh = begin("zulip:31", noon.Add(91*24*time.Hour))
	assert.True(t, fresh, "forgotten then")
	_, fresh = begin("zulip:40", noon.Add(365*24*time.Hour))
	assert.False(t, fresh, "what never came to its end is not")
}
