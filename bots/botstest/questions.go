package botstest

import (
	"bytes"
	"context"
	"slices"
	"time"

	"platform.dev/platform/bots"
)

// asked is a question of a bot.
type asked struct {
	id, bot              string
	payload              []byte
	until                time.Time
	message, by, outcome string
}

// Ask is Questions.Ask.
func (s *Store) Ask(_ context.Context, id, bot string, payload []byte, until time.Time) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.question(id) == nil {
		s.asked = append(s.asked, &asked{id: id, bot: bot, payload: bytes.Clone(payload), until: until})
	}
	return nil
}

// Asked is Questions.Asked.
func (s *Store) Asked(_ context.Context, bot string, since time.Time, visit func(id string, payload []byte, message, by, outcome string) error) error {
	s.mu.Lock()
	var all []asked
	for _, q := range s.asked {
		if q.bot == bot && !q.until.Before(since) {
			all = append(all, *q)
		}
	}
	s.mu.Unlock()
	for _, q := range all {
		if err := visit(q.id, bytes.Clone(q.payload), q.message, q.by, q.outcome); err != nil {
			return err
		}
	}
	return nil
}

// Shown is Questions.Shown.
func (s *Store) Shown(_ context.Context, id, message string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if q := s.question(id); q != nil {
		q.message = message
	}
	return nil
}

// Conclude is Questions.Conclude: the first one counts.
func (s *Store) Conclude(_ context.Context, id, by, outcome string, _ time.Time) (bool, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	q := s.question(id)
	if q == nil {
		return false, nil
	}
	if q.by == "" {
		q.by, q.outcome = by, outcome
	}
	return q.by == by && q.outcome == outcome, nil
}

// question is the one with the id; the lock is held.
func (s *Store) question(id string) *asked {
	i := slices.IndexFunc(s.asked, func(q *asked) bool { return q.id == id })
	if i < 0 {
		return nil
	}
	return s.asked[i]
}

// Decided is Auditor.Decided.
func (s *Store) Decided(_ context.Context, d bots.Decision) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !slices.ContainsFunc(s.decided, func(known bots.Decision) bool { return known.Key == d.Key }) {
		s.decided = append(s.decided, d)
	}
	return nil
}

// Decisions are what was decided, in order.
func (s *Store) Decisions() []bots.Decision {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.decided)
}
