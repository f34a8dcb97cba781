package store_test

import (
	"path/filepath"
	"testing"

	"platform.dev/platform/flowclient/flowtest"
)

func TestTheStoreKeepsTheStandingsContract(t *testing.T) {
	flowtest.Standings(t, func(t *testing.T) (flowtest.Memory, func() flowtest.Memory) {
		path := filepath.Join(t.TempDir(), "flow.db")
		return open(t, path), func() flowtest.Memory { return open(t, path) }
	})
}
