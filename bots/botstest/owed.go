package botstest

import (
	"bytes"
	"context"
	"maps"
	"slices"
	"time"
)

// Owed is Outbox.Owed. A row that was put off before it was ever delivered holds
// back the later rows of its bot and place that were not delivered either.
func (s *Store) Owed(_ context.Context, bot string, now time.Time, visit func(id int64, key string, place, payload []byte, rev int64, sentID string, tried time.Time) error) error {
	return visitRows(due(s.owedBy(bot), now), visit)
}

// Due is Outbox.Due.
func (s *Store) Due(_ context.Context, bot string, now time.Time, after []byte, places, rows int,
	visit func(id int64, key string, place, payload []byte, rev int64, sentID string, tried time.Time) error,
) (last []byte, err error) {
	in := map[string][]Row{}
	for _, r := range s.owedBy(bot) {
		if place := string(r.Place); place > string(after) && len(in[place]) < rows {
			in[place] = append(in[place], r)
		}
	}
	names := slices.Sorted(maps.Keys(in))
	if len(names) > places {
		names = names[:places]
		last = []byte(names[places-1])
	}
	for _, place := range names {
		if err := visitRows(due(in[place], now), visit); err != nil {
			return nil, err
		}
	}
	return last, nil
}

// Owes is Outbox.Owes.
func (s *Store) Owes(_ context.Context, bot string, place []byte) (bool, error) {
	return slices.ContainsFunc(s.owedBy(bot), func(r Row) bool { return r.Delivered == 0 && bytes.Equal(r.Place, place) }), nil
}

// owedBy are a bot's rows that are owed, in the order of their ids.
func (s *Store) owedBy(bot string) (owed []Row) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, r := range s.rows {
		if r.Bot == bot && r.owed() {
			owed = append(owed, r.copy())
		}
	}
	return owed
}

// due are those of the rows that may leave now.
func due(owed []Row, now time.Time) (rows []Row) {
	held := map[string]bool{}
	for _, r := range owed {
		fresh, place := r.Delivered == 0, string(r.Place)
		switch {
		case r.Due.After(now):
			held[place] = held[place] || fresh
		case !fresh || !held[place]:
			rows = append(rows, r)
		}
	}
	return rows
}

func visitRows(rows []Row, visit func(id int64, key string, place, payload []byte, rev int64, sentID string, tried time.Time) error) error {
	for _, r := range rows {
		if err := visit(r.ID, r.Key, bytes.Clone(r.Place), bytes.Clone(r.Payload), r.Rev, r.SentID, r.Tried); err != nil {
			return err
		}
	}
	return nil
}
