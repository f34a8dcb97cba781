package chat

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestAQueueThatGrowsTooLongIsDropped(t *testing.T) {
	now := time.Now
	qs := newQueues(now)
	q := qs.open(queueSpec{user: 1, lifespan: defaultLifespan})
	other := qs.open(queueSpec{user: 2, lifespan: defaultLifespan})
	for n := range maxQueueEvents {
		qs.publish(newNotice("reaction", map[string]any{"n": n}).to(1))
	}
	_, err := qs.find(q.id, 1)
	require.NoError(t, err, "at its limit it still serves")
	got, err := q.poll(t.Context(), nil, now, -1, false)
	require.NoError(t, err)
	assert.Len(t, got, maxQueueEvents)
	qs.publish(newNotice("reaction", map[string]any{"n": "one more"}).to(1))
	_, err = qs.find(q.id, 1)
	assert.ErrorContains(t, err, "Bad event queue ID")
	_, err = qs.find(other.id, 2)
	assert.NoError(t, err)
}

func TestAUsersQueuesAreBoundedAndTheLeastPolledMakesRoom(t *testing.T) {
	at := time.Date(2026, 3, 4, 10, 0, 0, 0, time.UTC)
	now := func() time.Time { at = at.Add(time.Second); return at }
	qs := newQueues(now)
	var all []*queue
	for range maxUserQueues {
		all = append(all, qs.open(queueSpec{user: 1, lifespan: time.Hour}))
	}
	_, err := all[0].poll(t.Context(), nil, now, -1, false) // no longer the least recently polled
	require.NoError(t, err)
	qs.open(queueSpec{user: 2, lifespan: time.Hour})
	_, err = qs.find(all[1].id, 1)
	require.NoError(t, err, "another user's queues do not count")
	qs.open(queueSpec{user: 1, lifespan: time.Hour})
	_, err = qs.find(all[1].id, 1)
	assert.Error(t, err)
	_, err = qs.find(all[0].id, 1)
	assert.NoError(t, err)
}

func TestEventsOfOneNoticeShareTheirBytes(t *testing.T) {
	qs := newQueues(time.Now)
	a := qs.open(queueSpec{user: 1, lifespan: time.Hour})
	b := qs.open(queueSpec{user: 2, lifespan: time.Hour})
	qs.publish(newNotice("stream", map[string]any{"op": "create"}).toAll())
	require.Len(t, a.events, 1)
	require.Len(t, b.events, 1)
	assert.Same(t, &a.events[0].body[0], &b.events[0].body[0])
	out, err := a.events[0].MarshalJSON()
	require.NoError(t, err)
	assert.JSONEq(t, `{"id":0,"type":"stream","op":"create"}`, string(out))
}
