package wire

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"platform.dev/platform/flowclient"
)

func TestRequestsForFreezesComeBackAsTheyWent(t *testing.T) {
	o := flowclient.Origin{Key: "zulip:31", Who: "sre"}
	noon := time.Date(2026, 11, 20, 12, 0, 0, 123456789, time.UTC)
	read := func(b FreezeBody) (flowclient.FreezeRequest, error) { return b.Request(o) }
	for name, r := range map[string]flowclient.FreezeRequest{
		"of a project from then on":     {Origin: o, Project: "shop", From: noon, Until: noon.AddDate(0, 0, 45), Reason: "the fair"},
		"of every project from now on":  {Origin: o, Until: noon, Reason: "é\n"},
		"until an instant of elsewhere": {Origin: o, Until: noon, Reason: "the fair"},
	} {
		t.Run(name, func(t *testing.T) { carried(t, FromFreeze(r), read, r) })
	}
	thaw := flowclient.FreezeRequest{Origin: o, ID: 1<<63 - 1}
	got, err := ThawRequest(ThawQuery(thaw), o)
	require.NoError(t, err)
	assert.Equal(t, thaw, got)
}

func TestWhatIsNoNumberOfAFreezeIsNamed(t *testing.T) {
	for _, query := range []string{"", "id=", "id=0", "id=-1", "id=%2B1", "id=three", "id=1.0", "id=0x1", "id=9223372036854775808", "id=%201"} {
		_, err := ThawRequest(query, flowclient.Origin{})
		var invalid *flowclient.Invalid
		require.ErrorAs(t, err, &invalid, query)
		assert.Equal(t, "id", invalid.Field, query)
	}
}
