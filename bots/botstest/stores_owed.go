package botstest

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func offers(t *testing.T, s *storeCase) {
	id, offered, err := s.Offer(t.Context(), "a", "bot", []byte("p"), []byte("one"), s.now)
	require.NoError(t, err)
	require.True(t, offered)
	s.Storage = s.reopen()
	require.Equal(t, []string{"a p one rev 1 tried 10:00:00"}, s.owed(t, s.now))
	require.Equal(t, id, s.id(t, "a"))
	_, offered, err = s.Offer(t.Context(), "a", "bot", []byte("p"), []byte("one, better"), s.now.Add(time.Second))
	require.NoError(t, err)
	require.False(t, offered, "an attempt at it is under way")
	require.Equal(t, []string{"a p one, better rev 2 tried 10:00:00"}, s.owed(t, s.now.Add(time.Second)))
	for _, c := range []struct {
		key, bot, place string
		offered         bool
	}{{"b", "bot", "p", false}, {"c", "bot", "q", true}, {"d", "other", "p", true}} {
		_, offered, err = s.Offer(t.Context(), c.key, c.bot, []byte(c.place), []byte(c.key), s.now)
		require.NoError(t, err)
		require.Equal(t, c.offered, offered, "%+v", c)
	}
	require.Equal(t, []string{"a p one, better rev 2 tried 10:00:00", "b p b rev 1", "c q c rev 1 tried 10:00:00"}, s.owed(t, s.now.Add(time.Second)))
}

// What was delivered holds no message back when it is revised.
func offersBesideRevisions(t *testing.T, s *storeCase) {
	s.put(t, "a", "p", "one")
	require.NoError(t, s.Sent(t.Context(), s.id(t, "a"), 1, "51", s.now))
	s.put(t, "a", "p", "one, better")
	_, offered, err := s.Offer(t.Context(), "b", "bot", []byte("p"), []byte("two"), s.now)
	require.NoError(t, err)
	require.True(t, offered)
	s.put(t, "c", "q", "gone")
	require.NoError(t, s.Drop(t.Context(), s.id(t, "c"), "refused", s.now))
	_, offered, err = s.Offer(t.Context(), "d", "bot", []byte("q"), []byte("three"), s.now)
	require.NoError(t, err)
	require.True(t, offered, "what was given up does not leave before anything")
}

func answersAtOnce(t *testing.T, s *storeCase) {
	for _, key := range []string{"m1", "m2"} {
		_, err := s.Hear(t.Context(), key, s.now, []byte(key))
		require.NoError(t, err)
	}
	id, _, err := s.Offer(t.Context(), "m1/answer", "bot", []byte("p"), []byte("one"), s.now)
	require.NoError(t, err)
	require.NoError(t, s.Answered(t.Context(), id, 1, "51", "m1", "check", s.now))
	s.Storage = s.reopen()
	require.Empty(t, s.owed(t, s.now))
	require.Equal(t, []string{"m2 10:00:00 m2"}, s.unfinished(t))
	require.Error(t, s.Answered(t.Context(), 99, 1, "52", "m2", "check", s.now), "there is no such message")
	require.Equal(t, []string{"m2 10:00:00 m2"}, s.unfinished(t), "both or neither")
}

func duePlaces(t *testing.T, s *storeCase) {
	for i := range 12 {
		s.put(t, fmt.Sprintf("k%02d", i), fmt.Sprint("p", i%4), "x")
	}
	require.NoError(t, s.Put(t.Context(), "theirs", "other", []byte("p9"), []byte("x"), s.now))
	require.NoError(t, s.Later(t.Context(), s.id(t, "k01"), s.now.Add(time.Minute), "rate limit"))
	rows, last := s.due(t, nil, 3, 2)
	require.Equal(t, []string{"p0 k00", "p0 k04", "p2 k02", "p2 k06"}, rows, "what is put off holds back its place")
	require.Equal(t, "p2", string(last))
	rows, last = s.due(t, last, 3, 2)
	require.Equal(t, []string{"p3 k03", "p3 k07"}, rows)
	require.Nil(t, last)
	rows, last = s.due(t, nil, 4, 9)
	require.Len(t, rows, 9)
	require.Nil(t, last, "there is no fifth place")
	s.now = s.now.Add(time.Minute)
	rows, _ = s.due(t, nil, 2, 2)
	require.Equal(t, []string{"p0 k00", "p0 k04", "p1 k01", "p1 k05"}, rows)
	stop := fmt.Errorf("stop")
	_, err := s.Due(t.Context(), "bot", s.now, nil, 9, 9, func(int64, string, []byte, []byte, int64, string, time.Time) error { return stop })
	require.ErrorIs(t, err, stop)
}

// due lists what Due visits, as text.
func (s *storeCase) due(t *testing.T, after []byte, places, rows int) (list []string, last []byte) {
	t.Helper()
	last, err := s.Due(t.Context(), "bot", s.now, after, places, rows, func(_ int64, key string, place, _ []byte, _ int64, _ string, _ time.Time) error {
		list = append(list, fmt.Sprintf("%s %s", place, key))
		return nil
	})
	require.NoError(t, err)
	return list, last
}
