package botstest

import (
	"context"
	"fmt"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
)

// Thread is the root of a channel's topic, "" when it has none.
func (s *Store) Thread(_ context.Context, channel, topic string) (string, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.threads[[2]string{channel, topic}], nil
}

// Topic is the name of the thread with the root, "" when it has none.
func (s *Store) Topic(_ context.Context, channel, root string) (string, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for at, r := range s.threads {
		if at[0] == channel && r == root {
			return at[1], nil
		}
	}
	return "", nil
}

// SetThread makes a thread a topic, unless the topic has one, and returns the topic's.
func (s *Store) SetThread(ctx context.Context, channel, topic, root string) (string, error) {
	other, err := s.Topic(ctx, channel, root)
	if err != nil {
		return "", err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	at := [2]string{channel, topic}
	if kept := s.threads[at]; kept != "" {
		return kept, nil
	}
	if other != "" {
		return "", fmt.Errorf("thread %s of channel %s is %s", root, channel, other)
	}
	s.threads[at] = root
	return root, nil
}

// Roots are the roots of a channel's topics, at most so many, the newest first.
func (s *Store) Roots(_ context.Context, channel string, most int) ([]string, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	var roots []string
	for at, root := range s.threads {
		if at[0] == channel {
			roots = append(roots, root)
		}
	}
	slices.Sort(roots)
	slices.Reverse(roots)
	return roots[:min(len(roots), most)], nil
}

// ThreadStore keeps which thread of a channel is which topic.
type ThreadStore interface {
	// Thread is a topic's root, "" when it has none.
	Thread(ctx context.Context, channel, topic string) (root string, err error)
	// Topic is the name of the thread with the root, "" when it has none.
	Topic(ctx context.Context, channel, root string) (topic string, err error)
	// SetThread makes a thread a topic, unless the topic has one, and returns the topic's.
	SetThread(ctx context.Context, channel, topic, root string) (kept string, err error)
	// Roots are the roots of a channel's topics, at most so many, the newest first.
	Roots(ctx context.Context, channel string, most int) (roots []string, err error)
}

// Threads is the contract of every ThreadStore. reopen opens the store as another process does.
func Threads(t *testing.T, open func(t *testing.T) (store ThreadStore, reopen func() ThreadStore)) {
	s, reopen := open(t)
	ctx := t.Context()
	root, err := s.Thread(ctx, "C1", "builds")
	require.NoError(t, err)
	require.Empty(t, root, "a topic without a thread")
	topic, err := s.Topic(ctx, "C1", "17.1")
	require.NoError(t, err)
	require.Empty(t, topic, "a thread without a topic")

	for _, c := range []struct{ channel, topic, root, kept string }{
		{"C1", "builds", "17.1", "17.1"},
		{"C1", "builds", "17.1", "17.1"}, // again
		{"C1", "builds", "17.2", "17.1"}, // the first stays
		{"C1", "release", "17.2", "17.2"},
		{"C2", "builds", "17.1", "17.1"}, // another channel's own
	} {
		kept, err := s.SetThread(ctx, c.channel, c.topic, c.root)
		require.NoError(t, err)
		require.Equal(t, c.kept, kept, "%v", c)
	}
	_, err = s.SetThread(ctx, "C1", "other", "17.1")
	require.Error(t, err, "a thread is one topic")

	s = reopen()
	root, err = s.Thread(ctx, "C1", "builds")
	require.NoError(t, err)
	require.Equal(t, "17.1", root)
	topic, err = s.Topic(ctx, "C2", "17.1")
	require.NoError(t, err)
	require.Equal(t, "builds", topic)
	for most, want := range map[int][]string{9: {"17.2", "17.1"}, 1: {"17.2"}} {
		roots, err := s.Roots(ctx, "C1", most)
		require.NoError(t, err)
		require.Equal(t, want, roots)
	}
	roots, err := s.Roots(ctx, "C3", 9)
	require.NoError(t, err)
	require.Empty(t, roots)
}
