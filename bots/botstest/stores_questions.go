package botstest

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func asksOnce(t *testing.T, s *storeCase) {
	require.NoError(t, s.Ask(t.Context(), "a/question/1", "bot", []byte("one"), s.now))
	require.NoError(t, s.Ask(t.Context(), "b/question/1", "bot", []byte("two"), s.now.Add(time.Minute)))
	require.NoError(t, s.Ask(t.Context(), "c/question/1", "other", []byte("three"), s.now))
	require.NoError(t, s.Ask(t.Context(), "a/question/1", "bot", []byte("again"), s.now.Add(time.Hour)))
	s.Storage = s.reopen()
	require.Equal(t, []string{"a/question/1 one", "b/question/1 two"}, s.questions(t, s.now))
	require.Equal(t, []string{"b/question/1 two"}, s.questions(t, s.now.Add(time.Second)), "who asks what may still be answered")
}

func settlesOnce(t *testing.T, s *storeCase) {
	require.NoError(t, s.Ask(t.Context(), "a", "bot", []byte("one"), s.now))
	require.NoError(t, s.Shown(t.Context(), "a", "51"))
	require.NoError(t, s.Shown(t.Context(), "unknown", "52"))
	for _, c := range []struct {
		by, outcome string
		ok          bool
	}{{"k1", "confirmed", true}, {"k2", "confirmed", false}, {"k1", "cancelled", false}, {"k1", "confirmed", true}} {
		ok, err := s.Conclude(t.Context(), "a", c.by, c.outcome, s.now)
		require.NoError(t, err)
		require.Equal(t, c.ok, ok, "%+v", c)
	}
	ok, err := s.Conclude(t.Context(), "unknown", "k1", "confirmed", s.now)
	require.NoError(t, err)
	require.False(t, ok)
	require.NoError(t, s.Shown(t.Context(), "a", "53"), "what shows it may be posted anew")
	s.Storage = s.reopen()
	require.Equal(t, []string{"a one 53 k1 confirmed"}, s.questions(t, s.now))
}

// questions lists the bot's questions, as text.
func (s *storeCase) questions(t *testing.T, since time.Time) (list []string) {
	t.Helper()
	require.NoError(t, s.Asked(t.Context(), "bot", since, func(id string, payload []byte, message, by, outcome string) error {
		list = append(list, strings.TrimSpace(fmt.Sprintf("%s %s %s %s %s", id, payload, message, by, outcome)))
		return nil
	}))
	return list
}
