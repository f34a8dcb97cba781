package main

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"platform.dev/platform/bots"
	"platform.dev/platform/commands"
)

func TestAPolicyThatCannotBeReadKeepsThePlatformDown(t *testing.T) {
	dir := t.TempDir()
	bad := filepath.Join(dir, "confirm.yaml")
	require.NoError(t, os.WriteFile(bad, []byte("confirm:\n- {project: shop, by: shout}\n"), 0o600))
	for _, c := range []struct {
		name, says string
		args       []string
	}{
		{"a file that is not there", "--confirm-policy: " + filepath.Join(dir, "none.yaml") + ": open ", []string{"--confirm-policy", filepath.Join(dir, "none.yaml")}},
		{"a way that there is not", `confirm: row 1: by "shout": write none, reaction, button or reply`, []string{"--confirm-policy", bad}},
		{"a rate below nothing", "--command-rate -1: give a number from 0 to 6000", []string{"--command-rate=-1"}},
		{"nothing at once", "--command-burst 0: give a number from 1 to 1000", []string{"--command-burst=0"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			var out, told bytes.Buffer
			code := run(t.Context(), append([]string{"up", "--data", filepath.Join(dir, "data"), "--port-base", "0"}, c.args...), terminal{Out: &out, Err: &told})
			assert.Equal(t, 1, code)
			assert.Contains(t, told.String()+out.String(), c.says)
			assert.NoDirExists(t, filepath.Join(dir, "data"), "nothing is begun")
		})
	}
}

func TestTheSampleOfAPolicyIsOne(t *testing.T) {
	policy, err := (&upCmd{ConfirmPolicy: filepath.Join("..", "..", "deploy", "confirm.yaml")}).confirmations(nil)
	require.NoError(t, err)
	assert.True(t, policy.Reactions())
	teardown := commands.Call{Command: commands.Command{Bot: "walkthrough", Effect: commands.Write}, Verb: "teardown"}
	assert.Equal(t, bots.Need{Way: bots.WayReaction}, policy.Need(teardown, ""))
	policy, err = (&upCmd{}).confirmations(nil)
	require.NoError(t, err)
	assert.False(t, policy.Reactions())
	assert.Equal(t, bots.Need{Way: bots.WayNone}, policy.Need(teardown, ""))
}

func TestARateOfNothingIsNoLimit(t *testing.T) {
	assert.Equal(t, bots.Rate{PerMinute: 20, Burst: 10}, (&upCmd{CommandRate: 20, CommandBurst: 10}).rate())
	assert.Negative(t, (&upCmd{CommandBurst: 10}).rate().PerMinute)
}
