package wire

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"platform.dev/platform/flowclient"
)

func TestAPageOfTheTrailIsAskedForAsItIsRead(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.StringOf(rapid.RuneFrom([]rune("az-&=%+ ü")))
		place := rapid.StringMatching(`[0-9]{1,19}-[dei][0-9]{1,19}`).Draw(t, "place")
		asked := flowclient.AuditQuery{Project: text.Draw(t, "project"), Component: text.Draw(t, "component"), Who: text.Draw(t, "who"), Kind: text.Draw(t, "kind"),
			Limit: rapid.IntRange(1, MaxLimit).Draw(t, "limit"), Cursor: AuditAnswer(flowclient.AuditPage{Next: place}).Next}
		read, err := AuditRequest(AuditQuery(asked))
		require.NoError(t, err)
		asked.Cursor = place
		require.Equal(t, asked, read)
	})
	read, err := AuditRequest(AuditQuery(flowclient.AuditQuery{}))
	require.NoError(t, err)
	assert.Equal(t, flowclient.AuditQuery{Limit: DefaultLimit}, read)
	assert.Equal(t, flowclient.AuditPage{}, AuditAnswer(flowclient.AuditPage{}), "the last page tells of none behind it")
	assert.Equal(t, [2]int{DefaultLimit, MaxLimit}, [2]int{flowclient.DefaultAudit, flowclient.MaxAudit}, "as long as the controller's")
}

func TestWhatIsNoQuestionToTheRecordIsRefusedByName(t *testing.T) {
	dora := func(query string) error {
		_, _, err := DoraRequest(query)
		return err
	}
	audit := func(query string) error {
		_, err := AuditRequest(query)
		return err
	}
	for _, c := range []struct {
		read         func(string) error
		query, field string
	}{
		{dora, "", "project"}, {dora, "project=", "project"}, {dora, "project=shop&days=0", "days"}, {dora, "project=shop&days=366", "days"},
		{dora, "project=shop&days=week", "days"}, {dora, "project=shop&days=", "days"}, {dora, "project=shop&project=blog", "project"}, {dora, "project=shop&since=1", "since"},
		{audit, "limit=0", "limit"}, {audit, "limit=501", "limit"}, {audit, "cursor=x", "cursor"}, {audit, "cursor=" + Cursor(LocksPath, "1"), "cursor"},
		{audit, "user=sre", "user"}, {audit, "who=a&who=b", "who"}, {audit, "%zz", "query"},
	} {
		var invalid *flowclient.Invalid
		require.ErrorAs(t, c.read(c.query), &invalid, c.query)
		assert.Equal(t, c.field, invalid.Field, c.query)
	}
	project, days, err := DoraRequest("project=shop")
	require.NoError(t, err)
	assert.Equal(t, "shop", project)
	assert.Equal(t, 30, days)
	project, days, err = DoraRequest(DoraQuery("a&b", 365))
	require.NoError(t, err)
	assert.Equal(t, "a&b", project)
	assert.Equal(t, 365, days)
}
