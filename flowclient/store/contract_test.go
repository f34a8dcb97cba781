package store_test

import (
	"context"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"platform.dev/platform/fixtures"
	"platform.dev/platform/flowclient"
	"platform.dev/platform/flowclient/flowtest"
	"platform.dev/platform/flowclient/store"
)

// open opens a file that is closed when the test ends.
func open(t *testing.T, path string) *store.Store {
	t.Helper()
	s, err := store.Open(t.Context(), path, nil)
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, s.Close()) })
	return s
}

func fresh(t *testing.T) *store.Store {
	t.Helper()
	return open(t, filepath.Join(t.TempDir(), "flow.db"))
}

func TestTheStoreKeepsTheJournalsContract(t *testing.T) {
	flowtest.Journal(t, func(t *testing.T) (flowtest.Memory, func() flowtest.Memory) {
		path := filepath.Join(t.TempDir(), "flow.db")
		return open(t, path), func() flowtest.Memory { return open(t, path) }
	})
}

// world is a controller at work over a store of its own, until the test ends.
func world(t *testing.T) (flowtest.World, *flowtest.Plane, *flowclient.Controller) {
	t.Helper()
	p, s := flowtest.NewPlane(time.Now), fresh(t)
	c := flowtest.NewController(t, p, s, fixtures.Templates())
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- c.Run(ctx) }()
	t.Cleanup(func() { stop(); assert.NoError(t, <-ended) })
	p.Watch(c.Changed)
	return flowtest.World{Flow: c, ControlPlane: p, Journal: s, Patience: 5 * time.Second}, p, c
}

func TestAControllerOverTheStoreKeepsTheFlowsContract(t *testing.T) {
	flowtest.Flow(t, func(t *testing.T) flowtest.World {
		w, _, _ := world(t)
		return w
	})
}

func TestADeadProcessLosesAndDoublesNothing(t *testing.T) {
	flowtest.Crash(t, fixtures.Templates(), func(t *testing.T) flowtest.Memory { return fresh(t) })
}
