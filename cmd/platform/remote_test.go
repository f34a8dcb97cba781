package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"platform.dev/platform/flowclient"
	"platform.dev/platform/server/flow"
)

// decided is a controller that has made up its mind: the surface in front of it
// and everything before that are real.
type decided struct {
	flowclient.Flow
	outcome flowclient.Outcome
	err     error
	keys    []string
	asked   []flowclient.Promotion   // without their origins
	back    []bool                   // each a rollback
	undone  []flowclient.UndoRequest // without their origins
	stands  flowclient.Deployment
}

func (d *decided) Promote(_ context.Context, r flowclient.Promotion) (flowclient.Outcome, error) {
	return d.decide(r, false)
}

func (d *decided) Rollback(_ context.Context, r flowclient.Promotion) (flowclient.Outcome, error) {
	return d.decide(r, true)
}

func (d *decided) decide(r flowclient.Promotion, back bool) (flowclient.Outcome, error) {
	d.keys = append(d.keys, r.Origin.Key+" by "+r.Origin.Who)
	r.Origin = flowclient.Origin{}
	d.asked, d.back = append(d.asked, r), append(d.back, back)
	return d.outcome, d.err
}

func (d *decided) Undo(_ context.Context, r flowclient.UndoRequest) (flowclient.Outcome, error) {
	d.keys = append(d.keys, r.Origin.Key+" by "+r.Origin.Who)
	r.Origin = flowclient.Origin{}
	d.undone = append(d.undone, r)
	return d.outcome, d.err
}

func (d *decided) Delivery(context.Context) (flowclient.Delivery, error) {
	return flowclient.Delivery{Components: []flowclient.ComponentDelivery{{Project: "shop", Component: "shop-web", Environments: []flowclient.Deployment{d.stands}}}}, d.err
}

func (d *decided) Record(context.Context, string, string, time.Time) (bool, error) { return true, nil }

// controller serves d and gives the flags, or the environment, that lead to it.
func controller(t *testing.T, d *decided) (url, tokenFile string) {
	t.Helper()
	surface, err := flow.New(flow.Config{Flow: d, Token: "the-token", WebhookSecret: "secret", Deliveries: d,
		Pushed: func(context.Context, string, string, string) error { return nil }, Log: slog.New(slog.DiscardHandler)})
	require.NoError(t, err)
	srv := httptest.NewServer(surface.Handler())
	t.Cleanup(srv.Close)
	tokenFile = filepath.Join(t.TempDir(), "flow.token")
	require.NoError(t, os.WriteFile(tokenFile, []byte("the-token\n"), 0o600))
	return srv.URL, tokenFile
}

var (
	moved   = flowclient.ComponentOutcome{Component: "shop-web", Result: flowclient.Promoted, Sentence: "shop-web runs 1a2b3c4 in production.", ToCommit: "1a2b3c4d5e6f", To: "shop-web-9f8e"}
	waiting = flowclient.ComponentOutcome{Component: "shop-api", Result: flowclient.Retry, Sentence: "shop-api 1a2b3c4 is not Ready in staging; ask again when it is."}
	locked  = &flowclient.Refusal{Sentence: "shop-web 1a2b3c4 is locked in production by sre: breaks. Clear the lock to go on.", Gate: "lock", Gates: []flowclient.Verdict{
		{Gate: "lock", Sentence: "shop-web 1a2b3c4 is locked in production by sre: breaks. Clear the lock to go on."}, {Gate: "window", Sentence: "Closed now; opens Mon 09:00."}, {Gate: "capacity", Pass: true, Sentence: "fits."}}}
)

// ends are the ways in which a promotion ends, for the command and the script.
var ends = []struct {
	name    string
	outcome []flowclient.ComponentOutcome
	err     error
	code    int
	out     string // on standard output
	told    string // on standard error
}{
	{"done", []flowclient.ComponentOutcome{moved}, nil, 0, moved.Sentence, ""},
	{"waiting", []flowclient.ComponentOutcome{moved, waiting}, nil, 3, waiting.Sentence, ""},
	{"refused", nil, locked, 2, "", locked.Sentence},
	{"unknown", nil, &flowclient.NotFound{Kind: "project", Name: "shop"}, 1, "", `project "shop" does not exist`},
	{"a part that is down", nil, &flowclient.Upstream{Part: "control plane", Err: errors.New("connection refused")}, 1, "", "control plane: connection refused"},
}

func TestAMoveEndsWithTheCodeOfItsOutcome(t *testing.T) {
	for _, tc := range ends {
		for _, verb := range []string{"promote", "rollback"} {
			t.Run(verb+" "+tc.name, func(t *testing.T) {
				d := &decided{outcome: flowclient.Outcome{Project: "shop", Components: tc.outcome}, err: tc.err}
				url, token := controller(t, d)
				var out, told bytes.Buffer
				code := run(t.Context(), []string{verb, "shop", "--flow-url", url, "--token-file", token, "--actor", "ci", "--key", "release-7"}, terminal{In: strings.NewReader(""), Out: &out, Err: &told})
				assert.Equal(t, tc.code, code, told.String())
				assert.Contains(t, out.String(), tc.out)
				assert.Contains(t, told.String(), tc.told)
				assert.Contains(t, d.keys, "release-7 by ci")
				if tc.code == 2 {
					assert.Equal(t, locked.Sentence+"\nalso against it, window: Closed now; opens Mon 09:00.\n", told.String(), "word for word")
				}
			})
		}
	}
}

func TestARefusalIsJSONToo(t *testing.T) {
	url, token := controller(t, &decided{err: locked})
	var out, told bytes.Buffer
	code := run(t.Context(), []string{"promote", "shop", "--json", "--flow-url", url, "--token-file", token}, terminal{Out: &out, Err: &told})
	assert.Equal(t, 2, code)
	assert.Contains(t, out.String(), `"gate": "lock"`)
	assert.Contains(t, out.String(), `"error": "shop-web 1a2b3c4 is locked`)
}

func TestWithJSONEveryAnswerIsAnObject(t *testing.T) {
	for _, tc := range ends {
		t.Run(tc.name, func(t *testing.T) {
			url, token := controller(t, &decided{outcome: flowclient.Outcome{Project: "shop", Components: tc.outcome}, err: tc.err})
			var out, told bytes.Buffer
			code := run(t.Context(), []string{"promote", "shop", "--json", "--flow-url", url, "--token-file", token}, terminal{Out: &out, Err: &told})
			assert.Equal(t, tc.code, code)
			var answer struct{ Project, Error string }
			require.NoError(t, json.Unmarshal(out.Bytes(), &answer), out.String())
			if tc.err == nil {
				assert.Equal(t, "shop", answer.Project)
				return
			}
			assert.Contains(t, answer.Error, tc.told)
			assert.Contains(t, told.String(), tc.told, "people are told as well")
		})
	}
}

func TestTheScriptEndsWithTheSameCodes(t *testing.T) {
	found := senders()
	if len(found) == 0 {
		t.Skip("neither curl nor wget is installed: " + testCurl + " may name a curl")
	}
	for name, path := range found {
		for _, tc := range ends {
			t.Run(name+" "+tc.name, func(t *testing.T) {
				t.Parallel() // curl pauses before it tries again
				d := &decided{outcome: flowclient.Outcome{Project: "shop", Components: tc.outcome}, err: tc.err}
				url, token := controller(t, d)
				cmd := exec.CommandContext(t.Context(), "sh", filepath.Join("..", "..", "deploy", "promote.sh"), "--project", "shop")
				cmd.Env = []string{"PATH=" + only(t, name, path), "FLOW_URL=" + url, "FLOW_TOKEN_FILE=" + token, "USER=ci"}
				var out, told bytes.Buffer
				cmd.Stdout, cmd.Stderr = &out, &told
				err := cmd.Run()
				var exit *exec.ExitError
				if err != nil {
					require.ErrorAs(t, err, &exit)
				}
				assert.Equal(t, tc.code, cmd.ProcessState.ExitCode(), told.String())
				assert.Contains(t, out.String(), tc.out)
				assert.Contains(t, told.String(), tc.told)
				require.NotEmpty(t, d.keys)
				for _, k := range d.keys {
					assert.Equal(t, d.keys[0], k, "attempts share their key")
					assert.True(t, strings.HasPrefix(k, "script:") && strings.HasSuffix(k, " by ci"), k)
				}
			})
		}
	}
}

// senders are the programs that the scripts can send with and that are here.
func senders() map[string]string {
	found := map[string]string{}
	for _, name := range []string{"curl", "wget"} {
		if path, err := exec.LookPath(name); err == nil {
			found[name] = path
		}
	}
	if path := os.Getenv(testCurl); path != "" {
		found["curl"] = path
	}
	return found
}

// testCurl names the environment variable with the path of a curl that is on no PATH.
const testCurl = "PLATFORM_TEST_CURL"

// only is a PATH with what the scripts need and the one program that sends.
func only(t *testing.T, name, path string) string {
	t.Helper()
	dir := t.TempDir()
	require.NoError(t, os.Symlink(path, filepath.Join(dir, name)))
	for _, tool := range []string{"sh", "cat", "sed", "awk", "tr", "od", "wc", "mktemp", "rm", "tail", "grep", "dirname"} {
		found, err := exec.LookPath(tool)
		require.NoError(t, err)
		require.NoError(t, os.Symlink(found, filepath.Join(dir, tool)))
	}
	return dir
}

func TestHalfAnAddressIsNamed(t *testing.T) {
	file := filepath.Join(t.TempDir(), "token")
	require.NoError(t, os.WriteFile(file, []byte("a b\n"), 0o600))
	broken := t.TempDir()
	require.NoError(t, os.Mkdir(filepath.Join(broken, "secrets"), 0o700))
	require.NoError(t, os.WriteFile(filepath.Join(broken, "secrets", "flow.token"), []byte("token\n"), 0o600))
	require.NoError(t, os.WriteFile(filepath.Join(broken, "surfaces.json"), []byte(`{"flow":"nowhere"}`), 0o600))
	for name, tc := range map[string]struct {
		args []string
		code int
		says string
	}{
		"no platform":                             {[]string{"locks", "--data", t.TempDir()}, 1, "start it first (platform up)"},
		"an address alone":                        {[]string{"locks", "--flow-url", "http://x"}, 1, "--flow-url and --token-file go together"},
		"a token alone":                           {[]string{"locks", "--token-file", file}, 1, "--flow-url and --token-file go together"},
		"a token that is two":                     {[]string{"locks", "--flow-url", "http://x", "--token-file", file}, 1, "the token in " + file + " must be a token"},
		"an address of mail":                      {[]string{"locks", "--flow-url", "mailto:x", "--token-file", file}, 1, `--flow-url "mailto:x": must be an http or https address`},
		"an address of the platform that is none": {[]string{"locks", "--data", broken}, 1, `the address "nowhere" in ` + filepath.Join(broken, "surfaces.json") + " must be an http or https address"},
		"a lock of no reason":                     {[]string{"lock", "shop-web", "1a2b3c4"}, 1, "--reason"},
	} {
		t.Run(name, func(t *testing.T) {
			var told bytes.Buffer
			assert.Equal(t, tc.code, run(t.Context(), tc.args, terminal{Out: io.Discard, Err: &told}))
			assert.Contains(t, told.String(), tc.says)
		})
	}
}
