package flowclient

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// lockList is a store of locks that counts how often it is read.
type lockList struct {
	LockStore
	locks []Lock
	reads int
	fails error
}

func (l *lockList) Locks(context.Context) ([]Lock, error) {
	l.reads++
	return l.locks, l.fails
}

func TestWhatIsRememberedIsReadAgainAfterItChanged(t *testing.T) {
	store := &lockList{locks: []Lock{{ID: 1, Component: "shop-web"}}, fails: errors.New("disk")}
	c := &Controller{deps: Deps{Locks: store, Now: func() time.Time { return friday }}}
	memory := &recollections{c: c}
	_, err := memory.read(t.Context())
	require.ErrorIs(t, err, store.fails)
	store.fails = nil
	for range 3 {
		r, err := memory.read(t.Context())
		require.NoError(t, err)
		assert.Len(t, r.locks["shop-web"], 1)
	}
	assert.Equal(t, 2, store.reads, "what could not be read, and once for all")
	store.locks = append(store.locks, Lock{ID: 2, Component: "shop-web"})
	c.recalls.Add(1)
	r, err := memory.read(t.Context())
	require.NoError(t, err)
	assert.Len(t, r.locks["shop-web"], 2, "a lock that was set while the pass was under way")
}

func TestWhatHasEndedSinceItWasReadIsLeftOut(t *testing.T) {
	s := snapshot{Project: Object{Metadata: Metadata{Name: "shop"}}, Components: []componentFacts{{Name: "shop-web"}, {Name: "shop-api"}}}
	r := &recollection{holds: map[string]Hold{"shop-web": {Release: "r"}}, backoffs: map[string]time.Time{"shop-web": friday, "shop-api": friday.Add(1)},
		freezes: []Freeze{{ID: 1, Until: friday}, {ID: 2, Until: friday.Add(1)}, {ID: 3, Project: "blog", Until: friday.Add(1)}}}
	r.addTo(&s, friday)
	require.Len(t, s.Freezes, 1)
	assert.EqualValues(t, 2, s.Freezes[0].ID)
	assert.Equal(t, "r", s.Components[0].Hold.Release)
	assert.Nil(t, s.Components[0].Backoff)
	assert.Equal(t, friday.Add(1), *s.Components[1].Backoff)
	assert.Nil(t, s.Components[1].Hold)
}
