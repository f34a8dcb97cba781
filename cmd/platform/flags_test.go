package main

import (
	"bytes"
	"encoding/json"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"platform.dev/platform/flowclient"
)

// moves are requests as they are typed, and as the controller hears them.
var moves = []struct {
	args string
	want flowclient.Promotion
	back bool
}{
	{"", flowclient.Promotion{Project: "shop"}, false},
	{"--component shop-web", flowclient.Promotion{Project: "shop", Component: "shop-web"}, false},
	{"--dry-run", flowclient.Promotion{Project: "shop", DryRun: true}, false},
	{"--force", flowclient.Promotion{Project: "shop", Force: true}, false},
	{"--skip-soak hurry", flowclient.Promotion{Project: "shop", SkipSoak: "hurry"}, false},
	{"--force --skip-soak hurry --dry-run --component shop-web", flowclient.Promotion{Project: "shop", Component: "shop-web", Force: true, SkipSoak: "hurry", DryRun: true}, false},
	{"--rollback", flowclient.Promotion{Project: "shop"}, true},
	{"--rollback --dry-run --component shop-web", flowclient.Promotion{Project: "shop", Component: "shop-web", DryRun: true}, true},
}

func TestWhatIsTypedIsWhatTheControllerHears(t *testing.T) {
	for _, m := range moves {
		t.Run(m.args, func(t *testing.T) {
			d := &decided{outcome: flowclient.Outcome{Project: "shop"}}
			url, token := controller(t, d)
			verb, args := "promote", strings.Fields(m.args)
			if m.back {
				verb, args = "rollback", args[1:]
			}
			var told bytes.Buffer
			code := run(t.Context(), append([]string{verb, "shop", "--flow-url", url, "--token-file", token}, args...), terminal{Out: &told, Err: &told})
			require.Zero(t, code, told.String())
			assert.Equal(t, []flowclient.Promotion{m.want}, d.asked)
			assert.Equal(t, []bool{m.back}, d.back)
		})
	}
}

func TestTheScriptAsksForTheSame(t *testing.T) {
	found := senders()
	if len(found) == 0 {
		t.Skip("neither curl nor wget is installed: " + testCurl + " may name a curl")
	}
	for name, path := range found {
		for _, m := range moves {
			t.Run(name+" "+m.args, func(t *testing.T) {
				t.Parallel()
				d := &decided{outcome: flowclient.Outcome{Project: "shop"}}
				url, token := controller(t, d)
				args := append([]string{filepath.Join("..", "..", "deploy", "promote.sh"), "--project", "shop"}, strings.Fields(m.args)...)
				cmd := exec.CommandContext(t.Context(), "sh", args...)
				cmd.Env = []string{"PATH=" + only(t, name, path), "FLOW_URL=" + url, "FLOW_TOKEN_FILE=" + token, "USER=ci"}
				told, err := cmd.CombinedOutput()
				require.NoError(t, err, string(told))
				require.NotEmpty(t, d.asked)
				assert.Equal(t, m.want, d.asked[0])
				assert.Equal(t, m.back, d.back[0])
			})
		}
	}
}

func TestAnUndoEndsWithTheCodeOfItsOutcome(t *testing.T) {
	for _, tc := range ends {
		t.Run(tc.name, func(t *testing.T) {
			d := &decided{outcome: flowclient.Outcome{Project: "shop", Components: tc.outcome}, err: tc.err}
			url, token := controller(t, d)
			var out, told bytes.Buffer
			code := run(t.Context(), []string{"undo", "shop", "--flow-url", url, "--token-file", token, "--actor", "ci", "--key", "ci:7"}, terminal{Out: &out, Err: &told})
			assert.Equal(t, tc.code, code, told.String())
			assert.Contains(t, out.String(), tc.out)
			assert.Contains(t, told.String(), tc.told)
			assert.Contains(t, d.keys, "ci:7 by ci")
			assert.Equal(t, []flowclient.UndoRequest{{Project: "shop"}}, d.undone[:1])
		})
	}
}

func TestADryRunSaysThatNothingIsChangedAndByWhomItWasPromoted(t *testing.T) {
	at := time.Date(2026, 11, 20, 16, 0, 0, 0, time.UTC)
	d := &decided{outcome: flowclient.Outcome{Project: "shop", Undoes: &flowclient.Undone{Intent: "4k2j5mabcdefg", Who: "Dev\x1b[31m", At: at, Link: "http://chat/31"}}}
	url, token := controller(t, d)
	for _, verb := range []string{"promote", "rollback", "undo"} {
		var out, told bytes.Buffer
		require.Zero(t, run(t.Context(), []string{verb, "shop", "--dry-run", "--flow-url", url, "--token-file", token}, terminal{Out: &out, Err: &told}), told.String())
		assert.True(t, strings.HasPrefix(out.String(), "Nothing is changed. This is what would be:\n\n"), "%s: %s", verb, out.String())
		assert.Contains(t, out.String(), " at 2026-11-20T16:00:00Z. http://chat/31\n")
		assert.NotContains(t, out.String(), "\x1b")
	}
	assert.True(t, d.asked[0].DryRun)
	assert.True(t, d.asked[1].DryRun)
	assert.Equal(t, []flowclient.UndoRequest{{Project: "shop", DryRun: true}}, d.undone)
}

func TestAWatchEndsWithTheCodeOfWhatCameOfIt(t *testing.T) {
	for name, tc := range map[string]struct {
		stands flowclient.Deployment
		code   int
		out    string
	}{
		"ready":          {webInStaging, 0, "9f8e7d6 is Ready. http://staging-shop."},
		"time is over":   {flowclient.Deployment{Environment: "staging", Release: "shop-web-1", Commit: newSHA, Reason: "Starting"}, 3, "is not Ready yet (Starting). Time is over; ask again."},
		"out of service": {flowclient.Deployment{Environment: "staging", Release: "shop-web-1", Commit: newSHA, State: "Undeploy"}, 1, "is out of service there"},
	} {
		t.Run(name, func(t *testing.T) {
			url, token := controller(t, &decided{stands: tc.stands})
			args := []string{"watch", "shop-web", "staging", "--for", "1ms", "--flow-url", url, "--token-file", token}
			var out, told bytes.Buffer
			assert.Equal(t, tc.code, run(t.Context(), args, terminal{Out: &out, Err: &told}), told.String())
			assert.Contains(t, out.String(), tc.out)
			out.Reset()
			assert.Equal(t, tc.code, run(t.Context(), append(args, "--json"), terminal{Out: &out, Err: &told}))
			var watched flowclient.Watched
			require.NoError(t, json.Unmarshal(out.Bytes(), &watched), out.String())
			assert.Equal(t, "shop-web", watched.Component)
		})
	}
}
