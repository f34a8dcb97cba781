package botstest

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// Stores is the contract of every store of bots. open gives an empty store;
// reopen, what it holds after the process has ended and begun again (a store in
// memory gives itself).
func Stores(t *testing.T, open func(t *testing.T) (store Storage, reopen func() Storage)) {
	for _, c := range storeContract {
		t.Run(c.name, func(t *testing.T) {
			store, reopen := open(t)
			c.check(t, &storeCase{Storage: store, reopen: reopen, now: time.Date(2026, 3, 2, 10, 0, 0, 0, time.UTC)})
		})
	}
}

// storeCase is one store under test.
type storeCase struct {
	Storage
	reopen func() Storage
	now    time.Time
}

var storeContract = []struct {
	name  string
	check func(t *testing.T, s *storeCase)
}{
	{"a message is heard once", heardOnce},
	{"unfinished messages are visited oldest first and survive a restart", unfinishedSurvive},
	{"a finished message is not visited and not heard again", finishedStays},
	{"a visit's error ends it and is returned", visitErrors},
	{"a cursor is empty, then what was set last", cursors},
	{"a row is owed until it is sent", owedUntilSent},
	{"the same message under the same key changes nothing", samePut},
	{"another message under the same key is a revision in the same row", revision},
	{"a revision made while an older one was sent is still owed", revisionDuringSend},
	{"a row that is put off is not due, then due", later},
	{"a row that is put off holds back its own place and no other", laterHoldsPlace},
	{"a delivered row whose revision is put off holds nothing back", revisionHoldsNothing},
	{"the first attempt is kept until a delivery", tries},
	{"a dropped row is owed again only once it is revised", dropped},
	{"a bot sees its own rows alone", ownRows},
	{"a message is offered where nothing has to leave before it, once", offers},
	{"a revision and what was given up hold back no message that is offered", offersBesideRevisions},
	{"an answer and the message that it answers are done with at once", answersAtOnce},
	{"what is due is looked at some places and rows at a time", duePlaces},
	{"a question is asked once, by its bot, and survives a restart", asksOnce},
	{"a question tells what shows it, and who settled it first", settlesOnce},
}

func heardOnce(t *testing.T, s *storeCase) {
	fresh, err := s.Hear(t.Context(), "zulip:platform:1", s.now, []byte(`{"a":1}`))
	require.NoError(t, err)
	require.True(t, fresh)
	fresh, err = s.Hear(t.Context(), "zulip:platform:1", s.now.Add(time.Hour), []byte(`{"a":2}`))
	require.NoError(t, err)
	require.False(t, fresh)
	require.Equal(t, []string{`zulip:platform:1 10:00:00 {"a":1}`}, s.unfinished(t))
}

func unfinishedSurvive(t *testing.T, s *storeCase) {
	for i, key := range []string{"c", "a", "b"} {
		_, err := s.Hear(t.Context(), key, s.now.Add(time.Duration(i)*time.Second), []byte(key))
		require.NoError(t, err)
	}
	want := []string{"c 10:00:00 c", "a 10:00:01 a", "b 10:00:02 b"}
	require.Equal(t, want, s.unfinished(t))
	s.Storage = s.reopen()
	require.Equal(t, want, s.unfinished(t))
}

func finishedStays(t *testing.T, s *storeCase) {
	_, err := s.Hear(t.Context(), "a", s.now, []byte("a"))
	require.NoError(t, err)
	require.NoError(t, s.Finish(t.Context(), "a", "check", s.now))
	require.NoError(t, s.Finish(t.Context(), "a", "cross_mark", s.now), "finishing twice is no error")
	require.NoError(t, s.Finish(t.Context(), "never heard", "check", s.now))
	require.Empty(t, s.unfinished(t))
	s.Storage = s.reopen()
	fresh, err := s.Hear(t.Context(), "a", s.now, []byte("a"))
	require.NoError(t, err)
	require.False(t, fresh)
	require.Empty(t, s.unfinished(t))
}

func visitErrors(t *testing.T, s *storeCase) {
	enough := errors.New("enough")
	for _, key := range []string{"a", "b"} {
		_, err := s.Hear(t.Context(), key, s.now, []byte(key))
		require.NoError(t, err)
		s.put(t, key, "p", key)
	}
	visits := 0
	err := s.Unfinished(t.Context(), func(string, time.Time, []byte) error { visits++; return enough })
	require.ErrorIs(t, err, enough)
	err = s.Owed(t.Context(), "bot", s.now, func(int64, string, []byte, []byte, int64, string, time.Time) error { visits++; return enough })
	require.ErrorIs(t, err, enough)
	require.Equal(t, 2, visits)
}

func cursors(t *testing.T, s *storeCase) {
	value, err := s.Cursor(t.Context(), "zulip:platform")
	require.NoError(t, err)
	require.Empty(t, value)
	require.NoError(t, s.SetCursor(t.Context(), "zulip:platform", "31"))
	require.NoError(t, s.SetCursor(t.Context(), "zulip:platform", "32"))
	require.NoError(t, s.SetCursor(t.Context(), "zulip:walkthrough", "7"))
	s.Storage = s.reopen()
	value, err = s.Cursor(t.Context(), "zulip:platform")
	require.NoError(t, err)
	require.Equal(t, "32", value)
}

func owedUntilSent(t *testing.T, s *storeCase) {
	s.put(t, "a", "p", "one")
	s.put(t, "b", "p", "two")
	require.Equal(t, []string{"a p one rev 1", "b p two rev 1"}, s.owed(t, s.now))
	s.Storage = s.reopen()
	id := s.id(t, "a")
	require.NoError(t, s.Try(t.Context(), id, s.now))
	require.NoError(t, s.Sent(t.Context(), id, 1, "51", s.now))
	require.Equal(t, []string{"b p two rev 1"}, s.owed(t, s.now))
}

func samePut(t *testing.T, s *storeCase) {
	s.put(t, "a", "p", "one")
	id := s.id(t, "a")
	require.NoError(t, s.Sent(t.Context(), id, 1, "51", s.now))
	s.put(t, "a", "p", "one")
	require.Empty(t, s.owed(t, s.now))
}

func revision(t *testing.T, s *storeCase) {
	s.put(t, "a", "p", "one")
	s.put(t, "b", "p", "two")
	id := s.id(t, "a")
	require.NoError(t, s.Sent(t.Context(), id, 1, "51", s.now))
	s.put(t, "a", "p", "one, better")
	require.Equal(t, []string{"a p one, better rev 2 was 51", "b p two rev 1"}, s.owed(t, s.now))
	s.put(t, "a", "p", "one, best")
	require.Equal(t, []string{"a p one, best rev 3 was 51", "b p two rev 1"}, s.owed(t, s.now), "only the newest revision counts")
	require.NoError(t, s.Sent(t.Context(), id, 3, "51", s.now))
	require.Equal(t, []string{"b p two rev 1"}, s.owed(t, s.now))
}

func revisionDuringSend(t *testing.T, s *storeCase) {
	s.put(t, "a", "p", "one")
	id := s.id(t, "a")
	require.NoError(t, s.Try(t.Context(), id, s.now))
	s.put(t, "a", "p", "two")
	require.NoError(t, s.Sent(t.Context(), id, 1, "51", s.now))
	require.Equal(t, []string{"a p two rev 2 was 51"}, s.owed(t, s.now))
}

func later(t *testing.T, s *storeCase) {
	s.put(t, "a", "p", "one")
	require.NoError(t, s.Later(t.Context(), s.id(t, "a"), s.now.Add(time.Minute), "rate limit"))
	s.Storage = s.reopen()
	require.Empty(t, s.owed(t, s.now.Add(59*time.Second)))
	require.Equal(t, []string{"a p one rev 1"}, s.owed(t, s.now.Add(time.Minute)))
}

func laterHoldsPlace(t *testing.T, s *storeCase) {
	s.put(t, "a", "p", "one")
	s.put(t, "b", "q", "elsewhere")
	s.put(t, "c", "p", "two")
	require.NoError(t, s.Later(t.Context(), s.id(t, "a"), s.now.Add(time.Minute), "rate limit"))
	require.Equal(t, []string{"b q elsewhere rev 1"}, s.owed(t, s.now), "a place's messages leave in order")
	require.Equal(t, []string{"a p one rev 1", "b q elsewhere rev 1", "c p two rev 1"}, s.owed(t, s.now.Add(time.Minute)))
	require.NoError(t, s.Drop(t.Context(), s.id(t, "b"), "gone", s.now))
	require.NoError(t, s.Drop(t.Context(), s.rowAt(t, "a", s.now.Add(time.Minute)), "gone", s.now))
	require.Equal(t, []string{"c p two rev 1"}, s.owed(t, s.now), "what was given up holds nothing back")
}

func revisionHoldsNothing(t *testing.T, s *storeCase) {
	s.put(t, "a", "p", "one")
	id := s.id(t, "a")
	require.NoError(t, s.Sent(t.Context(), id, 1, "51", s.now))
	s.put(t, "a", "p", "one, better")
	s.put(t, "b", "p", "two")
	require.NoError(t, s.Later(t.Context(), id, s.now.Add(time.Minute), "rate limit"))
	require.Equal(t, []string{"b p two rev 1"}, s.owed(t, s.now))
}

func tries(t *testing.T, s *storeCase) {
	s.put(t, "a", "p", "one")
	id := s.id(t, "a")
	require.NoError(t, s.Try(t.Context(), id, s.now.Add(time.Second)))
	require.NoError(t, s.Try(t.Context(), id, s.now.Add(time.Hour)))
	s.Storage = s.reopen()
	require.Equal(t, []string{"a p one rev 1 tried 10:00:01"}, s.owed(t, s.now))
	require.NoError(t, s.Sent(t.Context(), id, 1, "51", s.now))
	s.put(t, "a", "p", "two")
	require.Equal(t, []string{"a p two rev 2 was 51"}, s.owed(t, s.now), "a delivery closes the attempt")
}

func dropped(t *testing.T, s *storeCase) {
	s.put(t, "a", "p", "one")
	require.NoError(t, s.Drop(t.Context(), s.id(t, "a"), "refused", s.now))
	s.put(t, "a", "p", "one")
	s.Storage = s.reopen()
	require.Empty(t, s.owed(t, s.now.Add(time.Hour)), "the same words are refused for good")
	s.put(t, "a", "p", "two")
	require.Equal(t, []string{"a p two rev 2"}, s.owed(t, s.now), "the answer must not go with the progress before it")
}

func ownRows(t *testing.T, s *storeCase) {
	require.NoError(t, s.Put(t.Context(), "a", "other", []byte("p"), []byte("one"), s.now))
	s.put(t, "b", "p", "two")
	require.Equal(t, []string{"b p two rev 1"}, s.owed(t, s.now), "another bot's rows of the place neither show nor hold back")
}

// put puts a row of the bot "bot".
func (s *storeCase) put(t *testing.T, key, place, text string) {
	t.Helper()
	require.NoError(t, s.Put(t.Context(), key, "bot", []byte(place), []byte(text), s.now))
}

// unfinished lists the heard messages that are open, as text.
func (s *storeCase) unfinished(t *testing.T) (list []string) {
	t.Helper()
	require.NoError(t, s.Unfinished(t.Context(), func(key string, at time.Time, payload []byte) error {
		list = append(list, fmt.Sprintf("%s %s %s", key, at.UTC().Format(time.TimeOnly), payload))
		return nil
	}))
	return list
}

// owed lists what the bot owes at an instant, as text, and checks that ids ascend.
func (s *storeCase) owed(t *testing.T, now time.Time) (list []string) {
	t.Helper()
	var ids []int64
	err := s.Owed(context.WithoutCancel(t.Context()), "bot", now, func(id int64, key string, place, payload []byte, rev int64, sentID string, tried time.Time) error {
		line := fmt.Sprintf("%s %s %s rev %d", key, place, payload, rev)
		if sentID != "" {
			line += " was " + sentID
		}
		if !tried.IsZero() {
			line += " tried " + tried.UTC().Format(time.TimeOnly)
		}
		ids, list = append(ids, id), append(list, line)
		return nil
	})
	require.NoError(t, err)
	require.True(t, slices.IsSorted(ids), "rows come in the order of their ids")
	return list
}

// id is the id of an owed row.
func (s *storeCase) id(t *testing.T, key string) int64 { return s.rowAt(t, key, s.now) }

func (s *storeCase) rowAt(t *testing.T, key string, now time.Time) (found int64) {
	t.Helper()
	require.NoError(t, s.Owed(t.Context(), "bot", now, func(id int64, k string, _, _ []byte, _ int64, _ string, _ time.Time) error {
		if k == key {
			found = id
		}
		return nil
	}))
	require.NotZero(t, found, "row %s is owed", key)
	return found
}
