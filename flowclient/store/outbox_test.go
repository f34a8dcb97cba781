package store_test

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"path/filepath"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"platform.dev/platform/flowclient"
	"platform.dev/platform/flowclient/store"
)

var noon = time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)

// owedRow is one visit of Owed.
type owedRow struct {
	ID      int64
	Key     string
	Place   string
	Payload string
	Rev     int64
	SentID  string
	Tried   time.Time
}

func owed(t require.TestingT, s *store.Store, bot string, now time.Time) []owedRow {
	rows := []owedRow{}
	err := s.Owed(context.Background(), bot, now, func(id int64, key string, place, payload []byte, rev int64, sentID string, tried time.Time) error {
		rows = append(rows, owedRow{id, key, string(place), string(payload), rev, sentID, tried})
		return nil
	})
	require.NoError(t, err)
	return rows
}

// due is what Due visits in all places, a place at a time.
func due(t require.TestingT, s *store.Store, bot string, now time.Time) []owedRow {
	rows := []owedRow{}
	for after, more := []byte(nil), true; more; more = after != nil {
		var err error
		after, err = s.Due(context.Background(), bot, now, after, 1, 100, func(id int64, key string, place, payload []byte, rev int64, sentID string, tried time.Time) error {
			rows = append(rows, owedRow{id, key, string(place), string(payload), rev, sentID, tried})
			return nil
		})
		require.NoError(t, err)
	}
	return rows
}

// message is one row as a model holds it.
type message struct {
	owedRow
	bot       string
	delivered int64
	due       time.Time
	dropped   bool
}

func (m message) isOwed() bool { return !m.dropped && m.delivered < m.Rev }

// model is the outbox in a slice: what Owed must visit follows from its words.
type model struct {
	rows []message
}

func (m *model) owed(bot string, now time.Time) []owedRow {
	rows := []owedRow{}
	held := map[string]bool{} // places with an undelivered message that was put off
	for _, r := range m.rows {
		if r.bot != bot || !r.isOwed() {
			continue
		}
		isNew := r.delivered == 0
		switch {
		case r.due.After(now):
			held[r.Place] = held[r.Place] || isNew
		case !isNew || !held[r.Place]:
			rows = append(rows, r.owedRow)
		}
	}
	return rows
}

// fewerRuns asks rapid for 25 runs instead of 100, unless a number was given:
// every step is written through to the disk.
func fewerRuns(t *testing.T) {
	t.Helper()
	if f := flag.Lookup("rapid.checks"); f.Value.String() == f.DefValue {
		require.NoError(t, flag.Set("rapid.checks", "25"))
		t.Cleanup(func() { assert.NoError(t, flag.Set("rapid.checks", f.DefValue)) })
	}
}

func TestOutboxBehavesLikeItsModel(t *testing.T) {
	fewerRuns(t)
	dir := t.TempDir()
	files := 0
	rapid.Check(t, func(t *rapid.T) {
		files++
		path := filepath.Join(dir, fmt.Sprintf("%d.db", files))
		s, err := store.Open(context.Background(), path, nil)
		require.NoError(t, err)
		defer func() { require.NoError(t, s.Close()) }()
		ctx, now, m := context.Background(), noon, &model{}
		pick := func(t *rapid.T) *message {
			if len(m.rows) == 0 {
				t.Skip("no rows")
			}
			return &m.rows[rapid.IntRange(0, len(m.rows)-1).Draw(t, "row")]
		}
		t.Repeat(map[string]func(*rapid.T){
			"put": func(t *rapid.T) {
				key := rapid.SampledFrom([]string{"a", "b", "c", "d", "e", "f"}).Draw(t, "key")
				bot := rapid.SampledFrom([]string{"platform", "walkthrough"}).Draw(t, "bot")
				place := rapid.SampledFrom([]string{"shop/builds", "shop/promotions"}).Draw(t, "place")
				payload := rapid.SampledFrom([]string{"one", "two", "three"}).Draw(t, "payload")
				require.NoError(t, s.Put(ctx, key, bot, []byte(place), []byte(payload), now))
				at := slices.IndexFunc(m.rows, func(r message) bool { return r.Key == key })
				if at < 0 {
					made := owed(t, s, bot, now.AddDate(1, 0, 0))
					id := made[len(made)-1].ID // chosen by the store: greater than every one before
					for _, r := range m.rows {
						require.Greater(t, id, r.ID)
					}
					m.rows = append(m.rows, message{owedRow: owedRow{ID: id, Key: key, Place: place, Payload: payload, Rev: 1}, bot: bot, due: now})
					return
				}
				if r := &m.rows[at]; r.Payload != payload {
					if r.dropped { // it was refused: there is nothing to look for
						r.Tried = time.Time{}
					}
					r.Payload, r.Rev, r.dropped = payload, r.Rev+1, false
					if now.After(r.due) {
						r.due = now
					}
				}
			},
			"offer": func(t *rapid.T) {
				key := rapid.SampledFrom([]string{"g", "h", "i", "j", "k", "l"}).Draw(t, "key")
				place := rapid.SampledFrom([]string{"shop/builds", "shop/promotions"}).Draw(t, "place")
				if slices.ContainsFunc(m.rows, func(r message) bool { return r.Key == key }) {
					t.Skip("the key is known")
				}
				waits := slices.ContainsFunc(m.rows, func(r message) bool {
					return r.bot == "platform" && r.Place == place && r.isOwed() && r.delivered == 0
				})
				id, offered, err := s.Offer(ctx, key, "platform", []byte(place), []byte("one"), now)
				require.NoError(t, err)
				require.Equal(t, !waits, offered)
				for _, r := range m.rows {
					require.Greater(t, id, r.ID)
				}
				row := message{owedRow: owedRow{ID: id, Key: key, Place: place, Payload: "one", Rev: 1}, bot: "platform", due: now}
				if offered {
					row.Tried = now
				}
				m.rows = append(m.rows, row)
			},
			"try": func(t *rapid.T) {
				r := pick(t)
				require.NoError(t, s.Try(ctx, r.ID, now))
				if r.Tried.IsZero() {
					r.Tried = now
				}
			},
			"sent": func(t *rapid.T) {
				r := pick(t)
				rev := rapid.Int64Range(1, r.Rev).Draw(t, "rev")
				require.NoError(t, s.Sent(ctx, r.ID, rev, fmt.Sprint("id", r.ID), now))
				r.delivered, r.SentID, r.Tried = max(r.delivered, rev), fmt.Sprint("id", r.ID), time.Time{}
			},
			"later": func(t *rapid.T) {
				r := pick(t)
				r.due = now.Add(time.Duration(rapid.IntRange(0, 120).Draw(t, "seconds")) * time.Second)
				require.NoError(t, s.Later(ctx, r.ID, r.due, "rate limited"))
			},
			"drop": func(t *rapid.T) {
				r := pick(t)
				require.NoError(t, s.Drop(ctx, r.ID, "no such stream", now))
				r.dropped = true
			},
			"time passes": func(t *rapid.T) {
				now = now.Add(time.Duration(rapid.IntRange(1, 90).Draw(t, "seconds")) * time.Second)
			},
			"restart": func(t *rapid.T) {
				require.NoError(t, s.Close())
				s, err = store.Open(ctx, path, nil)
				require.NoError(t, err)
			},
			"": func(t *rapid.T) {
				for _, bot := range []string{"platform", "walkthrough"} {
					require.Equal(t, m.owed(bot, now), owed(t, s, bot, now), bot)
					require.ElementsMatch(t, m.owed(bot, now), due(t, s, bot, now), bot)
				}
			},
		})
	})
}

func TestAMessagePutOffHoldsBackItsPlaceAlone(t *testing.T) {
	s, ctx := fresh(t), t.Context()
	for i, place := range []string{"builds", "builds", "promotions"} {
		require.NoError(t, s.Put(ctx, fmt.Sprint(i), "platform", []byte(place), []byte("x"), noon))
	}
	require.NoError(t, s.Later(ctx, 1, noon.Add(time.Minute), "429"))
	rows := owed(t, s, "platform", noon)
	require.Len(t, rows, 1)
	assert.Equal(t, "promotions", rows[0].Place)
	assert.Len(t, owed(t, s, "platform", noon.Add(time.Minute)), 3)
}

func TestARevisionHeldBackDoesNotHoldBackNewMessages(t *testing.T) {
	s, ctx := fresh(t), t.Context()
	require.NoError(t, s.Put(ctx, "progress", "platform", []byte("builds"), []byte("50 %"), noon))
	require.NoError(t, s.Sent(ctx, 1, 1, "31", noon))
	require.NoError(t, s.Put(ctx, "progress", "platform", []byte("builds"), []byte("100 %"), noon))
	require.NoError(t, s.Later(ctx, 1, noon.Add(time.Hour), "429"))
	require.NoError(t, s.Put(ctx, "next", "platform", []byte("builds"), []byte("x"), noon))
	rows := owed(t, s, "platform", noon)
	require.Len(t, rows, 1)
	assert.Equal(t, "next", rows[0].Key)
}

func TestTheAnswerOfAProgressMessageThatWasDroppedIsStillOwed(t *testing.T) {
	s, ctx := fresh(t), t.Context()
	require.NoError(t, s.Put(ctx, "answer", "platform", []byte("shop"), []byte("50 %"), noon))
	require.NoError(t, s.Try(ctx, 1, noon))
	require.NoError(t, s.Drop(ctx, 1, "400 the chat will not take it", noon))
	require.NoError(t, s.Put(ctx, "answer", "platform", []byte("shop"), []byte("50 %"), noon))
	assert.Empty(t, owed(t, s, "platform", noon), "the same words are refused for good")
	require.NoError(t, s.Put(ctx, "answer", "platform", []byte("shop"), []byte("done"), noon))
	assert.Equal(t, []owedRow{{ID: 1, Key: "answer", Place: "shop", Payload: "done", Rev: 2}}, owed(t, s, "platform", noon))
}

func TestOwedLetsItsVisitorWriteAndStopsAtItsError(t *testing.T) {
	s, ctx := fresh(t), t.Context()
	for _, key := range []string{"a", "b", "c"} {
		require.NoError(t, s.Put(ctx, key, "platform", []byte("p"), []byte("x"), noon))
	}
	stop := errors.New("stop")
	visited := 0
	err := s.Owed(ctx, "platform", noon, func(id int64, _ string, _, _ []byte, rev int64, _ string, _ time.Time) error {
		if visited++; visited == 2 {
			return stop
		}
		return errors.Join(s.Try(ctx, id, noon), s.Sent(ctx, id, rev, "31", noon))
	})
	require.ErrorIs(t, err, stop)
	assert.Len(t, owed(t, s, "platform", noon), 2)
}

func TestOutboxRowsThatDoNotExistAreNamed(t *testing.T) {
	s, ctx := fresh(t), t.Context()
	for name, err := range map[string]error{
		"try":   s.Try(ctx, 7, noon),
		"sent":  s.Sent(ctx, 7, 1, "31", noon),
		"later": s.Later(ctx, 7, noon, ""),
		"drop":  s.Drop(ctx, 7, "", noon),
	} {
		assert.True(t, flowclient.IsNotFound(err), "%s: %v", name, err)
	}
}

func TestManyWritersAtOnceLoseNothing(t *testing.T) {
	s, ctx := fresh(t), t.Context()
	const writers, each = 8, 12
	var all sync.WaitGroup
	freshly := make([]int, writers)
	for w := range writers {
		all.Go(func() {
			for i := range each {
				key := fmt.Sprint("m", i)
				ok, err := s.Hear(ctx, key, noon, []byte("x"))
				assert.NoError(t, err)
				if ok {
					freshly[w]++
				}
				assert.NoError(t, s.Put(ctx, fmt.Sprint(w, "-", i), "platform", []byte("p"), []byte("x"), noon))
			}
		})
	}
	all.Wait()
	total := 0
	for _, n := range freshly {
		total += n
	}
	assert.Equal(t, each, total, "each message is fresh to one writer")
	assert.Len(t, owed(t, s, "platform", noon), writers*each)
}
