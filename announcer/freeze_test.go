package announcer

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"platform.dev/platform/flowclient"
)

func TestAFreezeIsToldInItsProjectAndOneOfEveryProjectWhereAllLook(t *testing.T) {
	m := newMemory()
	m.happen(samples(t)["freeze-set"])
	for _, kind := range []string{flowclient.EventFreezeSet, flowclient.EventFreezeCleared} {
		everywhere := samples(t)["freeze-set-all"]
		everywhere.Key, everywhere.Kind, everywhere.Project = kind, kind, ""
		m.happen(everywhere)
	}
	require.NoError(t, announcing(t, m, noon).pass(t.Context()))
	assert.Equal(t, []string{
		`{"stream":"shop","topic":"promotions"} announce/freeze/36/set`,
		`{"stream":"platform-sandbox","topic":"every project: promotions"} announce/freeze.set`,
		`{"stream":"platform-sandbox","topic":"every project: promotions"} announce/freeze.cleared`,
	}, m.outbox())
}
