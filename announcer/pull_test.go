package announcer

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"platform.dev/platform/bots/markup"
)

func TestAPullRequestIsOneMessageThatFollowsItsHead(t *testing.T) {
	m := newMemory()
	s := samples(t)
	for i, name := range []string{"pull-opened", "pull-updated"} {
		m.happen(s[name])
		require.NoError(t, announcing(t, m, noon).pass(t.Context()), "another process each time")
		require.Len(t, m.rows, 1)
		assert.Equal(t, i+1, m.rows[0].revisions)
		assert.Equal(t, "announce.pull.opened", m.rows[0].message.Kind)
	}
	assert.Equal(t, "announce/pull/4/open/1", m.rows[0].key)
	assert.Contains(t, markup.Plain(m.rows[0].message), "at 9988776 into")

	m.happen(s["pull-closed"])
	again := s["pull-opened"]
	again.Key = "pull/4/open/2"
	m.happen(again)
	m.happen(s["build-started"])
	newer := s["pull-updated"]
	newer.Key = "pull/4/open/2/updated/2"
	m.happen(newer)
	require.NoError(t, announcing(t, m, noon.Add(5*time.Hour)).pass(t.Context()))
	assert.Equal(t, []string{
		`{"stream":"shop","topic":"pull requests"} announce/pull/4/open/1`,
		`{"stream":"shop","topic":"pull requests"} announce/summary/2/shop/pull requests`,
		`{"stream":"shop","topic":"builds"} announce/summary/2/shop/builds`,
	}, m.outbox(), "opened again in the gap, it is told of once")
	assert.Equal(t, 2, m.rows[0].revisions)
	assert.Contains(t, markup.Plain(m.rows[1].message), "say hello to nobody")

	newer.Key = "pull/4/open/1/updated/1"
	gap := newMemory()
	gap.happen(s["pull-opened"])
	require.NoError(t, announcing(t, gap, noon).pass(t.Context()))
	gap.happen(newer)
	require.NoError(t, announcing(t, gap, noon.Add(5*time.Hour)).pass(t.Context()))
	require.Len(t, gap.rows, 1, "announced before the gap, it is brought up to date")
	assert.Equal(t, 2, gap.rows[0].revisions)
}
