package main

import (
	"bytes"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"platform.dev/platform/bots/zulip"
)

func TestSomebodyIsFoundByWhatTheyAreCalled(t *testing.T) {
	users := []zulip.User{
		{ID: 1, FullName: "platform", Email: "platform-bot@example.org", IsBot: true, IsActive: true},
		{ID: 2, FullName: "Sam SRE", Email: "sre@example.org", IsActive: true},
		{ID: 3, FullName: "Kim", Email: "kim@example.org", IsActive: true},
		{ID: 4, FullName: "Kim", Email: "kim@example.com", IsActive: true},
		{ID: 5, FullName: "Gone", Email: "gone@example.org"},
		{ID: 6, FullName: "evil\x1b[2J", Email: "evil@example.org", IsActive: true},
	}
	for called, want := range map[string]int64{
		"platform": 1, "@platform": 1, "PLATFORM": 1, "platform-bot": 1, "sam sre": 2, "sre": 2, " sre@example.org ": 2, "kim@example.com": 4,
	} {
		who, err := whoNamed(users, called)
		require.NoError(t, err, called)
		assert.Equal(t, want, who.ID, called)
	}
	for called, says := range map[string]string{
		"": "say whom to write to", "@": "say whom", "Kim": `"Kim" is 2 accounts; write the email address of one`,
		"Gone": `there is nobody called "Gone" here`, "no\x1bbody": `there is nobody called "no body" here; there are Gone, Kim, Sam SRE, evil [2J, platform`,
	} {
		_, err := whoNamed(users, called)
		require.ErrorContains(t, err, says, called)
	}
}

func TestAPlaceIsWhereAMessageGoesAndIsFound(t *testing.T) {
	in := place{Stream: "shop", Topic: "release"}
	assert.Equal(t, "#shop > release", in.String())
	assert.Equal(t, zulip.Post{Stream: "shop", Topic: "release", Content: "x"}, in.post("x"))
	assert.Equal(t, []zulip.Term{{Operator: "channel", Operand: "shop"}, {Operator: "topic", Operand: "release"}}, in.narrow())
	with := place{Stream: "shop", With: zulip.User{ID: 7, FullName: "Sam\nSRE"}}
	assert.Equal(t, "direct messages with Sam SRE", with.String())
	assert.Equal(t, zulip.Post{Direct: []int64{7}, Content: "x"}, with.post("x"))
	assert.Equal(t, []zulip.Term{{Operator: "dm", Operand: []int64{7}}}, with.narrow())
}

func TestColoursAreForTerminalsWhosePeopleWantThem(t *testing.T) {
	t.Setenv("NO_COLOR", "")
	assert.True(t, colourful(true))
	assert.False(t, colourful(false))
	t.Setenv("NO_COLOR", "1")
	assert.False(t, colourful(true))
	assert.Equal(t, "shop builds", headline("shop\nbuilds", &bytes.Buffer{}))
}
