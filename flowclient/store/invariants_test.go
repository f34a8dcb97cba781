package store_test

import (
	"context"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"platform.dev/platform/flowclient/flowtest"
	"platform.dev/platform/flowclient/store"
)

// runs is how many runs of the machine of invariants are made instead of rapid's
// hundred; PLATFORM_TEST_RUNS says otherwise, and so does -rapid.checks.
const runs = "250"

func TestTheInvariantsOfPromotionHold(t *testing.T) {
	f := flag.Lookup("rapid.checks")
	if was := f.Value.String(); was == f.DefValue {
		wanted := os.Getenv("PLATFORM_TEST_RUNS")
		if wanted == "" {
			wanted = runs
		}
		require.NoError(t, f.Value.Set(wanted))
		t.Cleanup(func() { assert.NoError(t, f.Value.Set(was)) })
	}
	empty := migrated(t)
	dir, files := t.TempDir(), 0
	flowtest.Invariants(t, func(_ *rapid.T, now func() time.Time) flowtest.Ground { return flowtest.PlaneGround(now) },
		func(rt *rapid.T) (flowtest.Memory, func()) {
			files++
			path := filepath.Join(dir, fmt.Sprintf("%d.db", files))
			require.NoError(rt, os.WriteFile(path, empty, 0o600))
			s, err := store.Open(context.Background(), path, nil)
			require.NoError(rt, err)
			return s, func() {
				require.NoError(rt, s.Close())
				require.NoError(rt, os.Remove(path))
			}
		})
}

// migrated is an empty file of the newest schema: to migrate one takes longer than to play with it.
func migrated(t *testing.T) []byte {
	t.Helper()
	path := filepath.Join(t.TempDir(), "empty.db")
	s, err := store.Open(t.Context(), path, nil)
	require.NoError(t, err)
	require.NoError(t, s.Close())
	raw, err := os.ReadFile(path)
	require.NoError(t, err)
	return raw
}
